"""The text of every scope error, each beside the nearest program that is right."""

import pytest
from scope_helpers import TARGET, contexts, kernel, passed, resolve

from tirx.errors import ScopeError, ScriptError, TargetError
from tirx.script import from_source


def text(error, func_call):
    """The error's text without the file and the source line."""
    with pytest.raises(error) as e:
        func_call()
    lines = [line for line in str(e.value).split("\n") if " | " not in line and not line.strip(" ^") == ""]
    return "\n".join(
        line.split("<")[0] + line.split(":")[-2] if line.startswith("  at ") else line for line in lines
    )


def check_teams(body, params="A_ptr: T.handle, n: T.int32"):
    passed("check_teams")(resolve(kernel(body, params)))


# ---- extents ----


def test_contradicting_extents():
    body = "tx = T.thread_id([128])\nw = T.warp_id([{}])"
    assert text(ScopeError, lambda: resolve(kernel(body.format(8)))) == (
        "[scope-contradiction] warp_id([8]) contradicts thread_id([128])\n"
        "  at 6\n"
        "  found:    warp_id([8]) means 256 threads\n"
        "  required: thread_id([128]) means 128 threads\n"
        "  help:     leave one extent out and it is inferred: T.warp_id()\n"
        "  note: thread_id([128]) is here\n"
        "  at 5"
    )
    assert resolve(kernel(body.format(4))).attrs["tirx.threads"] == 128


def test_contradicting_warpgroups():
    body = "tx = T.thread_id([{}])\nwg = T.warpgroup_id([2])"
    with pytest.raises(ScopeError) as e:
        resolve(kernel(body.format(128)))
    assert e.value.found == "warpgroup_id([2]) means 256 threads"
    assert resolve(kernel(body.format(256))).attrs["tirx.threads"] == 256


def test_contradicting_grid():
    body = "bx = T.cta_id([{}])\ncl = T.cluster_id([4])\nr = T.cta_id_in_cluster([2])\ntx = T.thread_id([32])"
    with pytest.raises(ScopeError) as e:
        resolve(kernel(body.format(10)))
    assert (e.value.code, e.value.found) == ("scope-contradiction", "10 CTAs along x")
    assert e.value.required == "4 clusters of 2 CTAs along x"
    assert [int(x) for x in resolve(kernel(body.format(8))).attrs["tirx.grid"]] == [8, 1, 1]


def test_repeated_ids_must_agree():
    body = "tx = T.thread_id([128])\nty = T.thread_id([{}])"
    with pytest.raises(ScopeError, match="contradicts"):
        resolve(kernel(body.format(64)))
    resolve(kernel(body.format(128)))


@pytest.mark.parametrize(
    "ids, threads, cluster, grid",
    [
        ("tx = T.thread_id([96])\nw = T.warp_id()\nl = T.lane_id()", 96, [1, 1, 1], [1, 1, 1]),
        ("w = T.warp_id([5])", 160, [1, 1, 1], [1, 1, 1]),
        ("g = T.warpgroup_id([2])\nt = T.thread_id_in_wg()", 256, [1, 1, 1], [1, 1, 1]),
        ("t = T.thread_id_in_wg()", 128, [1, 1, 1], [1, 1, 1]),
        ("l = T.lane_id()", 32, [1, 1, 1], [1, 1, 1]),
        ("x, y = T.thread_id([16, 8])", 128, [1, 1, 1], [1, 1, 1]),
        ("bx, by = T.cta_id([3, 4])", 1, [1, 1, 1], [3, 4, 1]),
        ("bx = T.cta_id([8])\nr = T.cta_id_in_cluster([4])\nc = T.cluster_id()", 1, [4, 1, 1], [8, 1, 1]),
        ("c = T.cluster_id([5])\nr = T.cta_id_in_cluster([2])\nbx = T.cta_id()", 1, [2, 1, 1], [10, 1, 1]),
        ("bx = T.cta_id([8])\nc = T.cluster_id([4])\nr = T.cta_id_in_cluster()", 1, [2, 1, 1], [8, 1, 1]),
        ("bx = T.cta_id([8])\np = T.cta_id_in_pair()", 1, [2, 1, 1], [8, 1, 1]),
    ],
)
def test_extents_left_out_are_inferred(ids, threads, cluster, grid):
    attrs = resolve(kernel(ids)).attrs
    assert attrs["tirx.threads"] == threads
    assert [int(c) for c in attrs["tirx.cluster"]] == cluster
    assert [int(g) for g in attrs["tirx.grid"]] == grid
    assert "()" not in str(resolve(kernel(ids))).replace("device_entry()", "")


def test_an_extent_that_nothing_fixes():
    assert text(ScopeError, lambda: resolve(kernel("w = T.warp_id()"))) == (
        "[scope-extent-missing] the extent of warp_id cannot be inferred\n"
        "  at 5\n"
        "  found:    warp_id() and no other scope id that fixes it\n"
        "  required: an extent here, or one of thread_id([n]), warp_id([n]), warpgroup_id([n])"
    )
    resolve(kernel("w = T.warp_id()\nt = T.thread_id([64])"))


def test_fixed_extents():
    assert text(ScopeError, lambda: resolve(kernel("l = T.lane_id([16])"))) == (
        "[scope-extent-fixed] lane_id has a fixed extent\n"
        "  at 5\n"
        "  found:    lane_id([16])\n"
        "  required: lane_id([32])"
    )
    resolve(kernel("l = T.lane_id([32])"))


def test_warpgroups_are_whole():
    with pytest.raises(ScopeError) as e:
        resolve(kernel("tx = T.thread_id([96])\nt = T.thread_id_in_wg()"))
    assert (e.value.code, e.value.found) == ("no-whole-warpgroup", "a CTA of 96 threads")


def test_sizes_of_ctas_are_constants():
    with pytest.raises(ScopeError) as e:
        resolve(kernel("tx = T.thread_id([n])", params="A_ptr: T.handle, n: T.int32"))
    assert e.value.code == "scope-extent-not-constant"
    resolve(kernel("bx = T.cta_id([n])", params="A_ptr: T.handle, n: T.int32"))


def test_pairs_need_even_clusters():
    with pytest.raises(ScopeError) as e:
        resolve(kernel("r = T.cta_id_in_cluster([3])\np = T.cta_id_in_pair()"))
    assert e.value.code == "no-cta-pair"


def test_limits_of_the_target():
    assert text(TargetError, lambda: resolve(kernel("tx = T.thread_id([2048])"))) == (
        "[too-many-threads] the kernel asks for more threads per CTA than sm_90a has\n"
        "  at 5\n"
        "  found:    2048 threads per CTA\n"
        "  required: at most 1024"
    )
    with pytest.raises(TargetError) as e:
        resolve(kernel("r = T.cta_id_in_cluster([32])"))
    assert e.value.code == "cluster-too-large"
    resolve(kernel("tx = T.thread_id([1024])\nr = T.cta_id_in_cluster([16])"))


# ---- device entry ----


def test_missing_device_entry():
    head = "@T.prim_func\ndef f(A_ptr: T.handle):\n    A = T.match_buffer(A_ptr, (4,), 'float32')\n"

    def lower(entry):
        return resolve(from_source(head + entry + "    A[0] = 1.0\n"))

    with pytest.raises(ScriptError) as e:
        lower("")
    assert e.value.code == "missing-device-entry"
    assert e.value.required == "T.device_entry() between the binding of arguments and the kernel"
    lower("    T.device_entry()\n")


# ---- teams ----


def test_unequal_teams_are_named_with_their_counts():
    body = "w = T.warp_id([16])\nif 3 <= w < 7:\n    with T.warpgroup():\n        Tx.zero(A[0:1])"
    assert text(ScopeError, lambda: contexts(kernel(body))) == (
        "[unequal-teams] the active threads do not split into equal warpgroups\n"
        "  at 7\n"
        "  found:    warpgroup 0 has 32 of 128 (warps 3); warpgroup 1 has 96 of 128 (warps 4-6)\n"
        "  required: the same active threads in every warpgroup that takes part\n"
        "  help:     let whole warpgroups take part, or use a narrower scope"
    )
    assert contexts(kernel(body.replace("3 <= w < 7", "4 <= w < 8")))[0].full


def test_a_condition_that_threads_decide_alone():
    body = "tx = T.thread_id([128])\nif {}:\n    Tx.cta.zero(A[0:1])"
    params = "A_ptr: T.handle, n: T.int32"
    assert text(ScopeError, lambda: contexts(kernel(body.format("tx < n"), params))) == (
        "[partial-team] a cta-scope operation needs its whole cta, but only some of its threads may get here\n"
        "  at 7\n"
        "  found:    a condition that each thread decides for itself\n"
        "  required: a condition that all threads of the cta agree on\n"
        "  help:     move it out of the branch, or use a scope no wider than thread\n"
        "  note: the condition is here\n"
        "  at 6"
    )
    assert contexts(kernel(body.format("n < 5"), params))[0].full


def test_irregular_teams():
    body = "tx = T.thread_id([128])\nif tx == 1 or tx == 2 or tx == 9:\n    Tx.{}.zero(A[0:1])"
    assert text(ScopeError, lambda: contexts(kernel(body.format("cta")))) == (
        "[irregular-team] the active threads of a cta form no regular pattern\n"
        "  at 7\n"
        "  found:    cta 0 has 3 of 128 (threads 1-2, 9)\n"
        "  required: a range of threads, or equally spaced lanes and warps\n"
        "  help:     narrow with one range per axis, for instance `if 2 <= warp_id < 4:`"
    )
    contexts(kernel(body.format("thread")))


def test_filters_are_ranges():
    body = "bx = T.cta_id([n])\ntx = T.thread_id([128])\nw = T.warp_id()\nwith T.filter({}):\n    Tx.zero(A[0:1])"
    params = "A_ptr: T.handle, n: T.int32"
    for bad in ("w != 1", "bx != 1", "bx < n", "bx % 2 == 0", "w < n", "w == 1 and tx < 40", "n > 2"):
        with pytest.raises(ScopeError) as e:
            contexts(kernel(body.format(bad), params))
        assert e.value.code == "filter-not-a-range", bad
    for good in (
        "bx == 1",
        "1 <= bx < 3",
        "w == 1",
        "1 <= w < 3",
        "w, 1, 3",
        "w != 0",
        "T.cuda.elect_sync()",
    ):
        contexts(kernel(body.format(good), params))


def test_a_filter_that_nobody_meets():
    body = "w = T.warp_id([4])\nwith T.filter(w == 1):\n    with T.filter({}):\n        Tx.zero(A[0:1])"
    with pytest.raises(ScopeError) as e:
        contexts(kernel(body.format("w == 2")))
    assert e.value.code == "filter-empty"
    contexts(kernel(body.format("w < 2")))


# ---- instructions of a team ----


def test_a_barrier_in_a_branch_that_some_take():
    body = "tx = T.thread_id([128])\nif {}:\n    T.cuda.cta_sync()"
    assert text(ScopeError, lambda: check_teams(body.format("tx < 64"))) == (
        "[partial-team] `cuda.cta_sync` needs its whole cta\n"
        "  at 7\n"
        "  found:    cta 0 has 64 of 128 (warps 0-1)\n"
        "  required: all 128 threads of the cta\n"
        "  help:     let whole ctas take part in the condition around it"
    )
    with pytest.raises(ScopeError, match="only some of its threads may get here"):
        check_teams(body.format("tx < n"))
    check_teams(body.format("n < 5"))
    check_teams(body.format("tx < 128"))


SHUFFLE = "v: T.let = T.cuda.shfl_xor_sync({mask}, n, 1, 32)"


@pytest.mark.parametrize(
    "condition, mask, legal",
    [
        ("tx < 48", "T.uint32(0xFFFFFFFF)", False),  # 16 lanes of the second warp
        ("tx < 32", "T.uint32(0xFFFFFFFF)", True),
        ("tx == 0 or tx >= 33", "T.uint32(0xFFFFFFFF)", False),
        ("tx < 16", "T.uint32(0x0000FFFF)", True),  # a mask of exactly these lanes
        ("tx < 32", "T.uint32(0x0000FFFF)", False),  # lanes outside of the mask
        ("n > tx // 32", "T.uint32(0xFFFFFFFF)", True),  # warps decide as a whole
        ("n > tx", "T.uint32(0xFFFFFFFF)", False),  # a mask known at run time only
    ],
)
def test_shuffles_in_partial_warps(condition, mask, legal):
    body = f"tx = T.thread_id([64])\nif {condition}:\n    " + SHUFFLE.format(mask=mask)
    if legal:
        return check_teams(body)
    with pytest.raises(ScopeError) as e:
        check_teams(body)
    assert e.value.code == "partial-team"


def test_the_else_branch_of_a_divergent_condition():
    body = "tx = T.thread_id([64])\nif tx == 0 or tx >= 33:\n    A[tx] = 0.0\nelse:\n    " + SHUFFLE
    with pytest.raises(ScopeError) as e:
        check_teams(body.format(mask="T.uint32(0xFFFFFFFF)"))
    assert "warp 0 has 31 of 32 (threads 1-31)" in e.value.found


def test_the_last_warp_may_be_short_for_a_barrier_only():
    body = "tx = T.thread_id([48])\n{}"
    check_teams(body.format("T.cuda.warp_sync()"))
    with pytest.raises(ScopeError, match="needs its whole warp"):
        check_teams(body.format(SHUFFLE.format(mask="T.uint32(0xFFFFFFFF)")))


# ---- named barriers ----


SYNC, ARRIVE = "T.cuda.named_barrier_sync", "T.cuda.named_barrier_arrive"


@pytest.mark.parametrize(
    "body, code",
    [
        (f"{SYNC}(1, 48)", "barrier-count"),  # barriers count whole warps
        (f"{SYNC}(1, 256)", "barrier-count"),  # more than the CTA has
        (f"{SYNC}(1, 128)", None),
        (f"if w < 2:\n    {SYNC}(1, 64)", None),
        (f"if w < 2:\n    {SYNC}(1, 96)", "barrier-count"),  # a warp that never comes
        (f"if w == 0:\n    {ARRIVE}(1, 64)\nif w == 1:\n    {SYNC}(1, 64)", None),
        (f"if w == 0:\n    {ARRIVE}(1, 64)\nif w >= 1:\n    {SYNC}(1, 64)", "barrier-count"),
        (f"if w < 2:\n    {SYNC}(1, 64)\nelse:\n    {SYNC}(1, 32)", "barrier-reused"),
        (f"if w < 2:\n    {SYNC}(1, 64)\nelse:\n    {SYNC}(2, 64)", None),
        (f"if w < n:\n    {SYNC}(1, 64)", None),  # left to the simulator
        (f"{SYNC}(w + 1, 32)", None),
    ],
)
def test_named_barriers(body, code):
    body = "tx = T.thread_id([128])\nw = T.warp_id()\n" + body
    if code is None:
        return check_teams(body)
    with pytest.raises(ScopeError) as e:
        check_teams(body)
    assert e.value.code == code


def test_the_text_of_a_barrier_that_waits_for_ever():
    body = "w = T.warp_id([4])\nif w < 2:\n    T.cuda.named_barrier_sync(1, 96)"
    assert text(ScopeError, lambda: check_teams(body)) == (
        "[barrier-count] named barrier 1 never has the threads that it waits for\n"
        "  at 7\n"
        "  found:    64 threads reach it\n"
        "  required: the count that it is given, 96\n"
        "  help:     change the count or the conditions around the barrier; give each group its own id"
    )


# ---- instructions and targets ----


def test_instructions_that_the_target_lacks():
    body = "tx = T.thread_id([32])\nT.cuda.cluster_sync()"
    from tirx.targets import Target

    def check(arch):
        target = Target("cuda", arch=arch)
        passed("check_instructions")(resolve(kernel(body), target), target)

    with pytest.raises(TargetError) as e:
        check("sm_80")
    assert e.value.code == "missing-feature" and "cuda.cluster_sync" in e.value.message
    assert e.value.location.line == 6
    check("sm_90a")


def test_unknown_instructions():
    body = 'tx = T.thread_id([32])\nT.evaluate(T.call("void", "cuda.cta_synk"))'
    with pytest.raises(TargetError) as e:
        passed("check_instructions")(resolve(kernel(body)), TARGET)
    assert e.value.code == "unknown-instruction" and "cta_sync" in e.value.hint
