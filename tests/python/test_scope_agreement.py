"""How far the threads agree on conditions that only the running program knows."""

import pytest
from scope_helpers import contexts, kernel

import tirx
from tirx.errors import ScopeError
from tirx.scope import active_sets
from tirx.script import from_source

HEAD = """
bx = T.cta_id([8])
tx = T.thread_id([256])
w = T.warp_id()
lane = T.lane_id()
wg = T.warpgroup_id()
"""
PARAMS = "A_ptr: T.handle, n: T.int32"


def agreed(body, head=HEAD):
    """The agreement at each tile call below `body`."""
    return [p.agreed for p in active_sets(kernel(head + body, params=PARAMS))]


@pytest.mark.parametrize(
    "condition, team",
    [
        ("n > 3", "grid"),
        ("bx < n", "cluster"),
        ("wg < n", "warpgroup"),
        ("w < n", "warp"),
        ("tx < n", "thread"),
        ("tx // 128 < n", "warpgroup"),
        ("tx // 32 * 2 + 1 < n", "warp"),
        ("A[bx] > 0.0", "cluster"),
        ("A[w] > 0.0", "warp"),
        ("A[lane * 0] > 0.0", "grid"),
        ("n > 3 and w < n", "warp"),
        ("w == 0 or n > 3", "warp"),
    ],
)
def test_agreement_of_a_condition(condition, team):
    assert agreed(f"if {condition}:\n    Tx.zero(A[0:1])") == [team]


def test_a_condition_that_always_holds_is_no_doubt():
    assert agreed("for i in range(4):\n    if i * 32 + lane < 128:\n        Tx.zero(A[0:1])") == ["grid"]
    assert agreed("for i in range(4):\n    if i * 32 + lane < 127:\n        Tx.zero(A[0:1])") == ["thread"]


def test_the_known_part_of_a_conjunction_still_narrows():
    (place,) = active_sets(kernel(HEAD + "if w == 2 and n > 3:\n    Tx.zero(A[0:1])", params=PARAMS))
    assert (place.threads, place.agreed) == (list(range(64, 96)), "grid")


def test_the_else_branch_of_a_mixed_condition_is_in_doubt():
    body = "if w == 2 and n > 3:\n    Tx.zero(A[0:1])\nelse:\n    Tx.zero(A[0:1])"
    assert agreed(body) == ["grid", "warp"]


def test_loops_with_agreed_bounds_keep_agreement():
    assert agreed("for i in range(n):\n    if i < 3:\n        Tx.zero(A[0:1])") == ["grid"]
    assert agreed("for i in range(w, n):\n    Tx.zero(A[0:1])") == ["warp"]
    # Equally many iterations, although each warp counts from elsewhere.
    assert agreed("for i in range(w, w + 4):\n    Tx.zero(A[0:1])\n    if i < n:\n        Tx.zero(A[0:1])") == [
        "grid", "warp",
    ]  # fmt: skip


def test_scalars_are_agreed_when_every_store_is():
    body = """
state = T.alloc_local((1,), "int32")
state[0] = 0
while state[0] < n:
    Tx.zero(A[0:1])
    state[0] = state[0] + {step}
"""
    assert agreed(body.format(step="1")) == ["grid"]
    assert agreed(body.format(step="wg")) == ["warpgroup"]
    assert agreed(body.format(step="lane")) == ["thread"]


def test_a_store_under_a_condition_is_agreed_by_those_who_agree_on_it():
    body = """
state = T.alloc_local((1,), "int32")
other = T.alloc_local((1,), "int32")
state[0] = 0
other[0] = 0
if {condition}:
    state[0] = 1
other[0] = state[0]
if other[0] == 1:
    Tx.zero(A[0:1])
"""
    assert agreed(body.format(condition="n > 2")) == ["grid"]
    assert agreed(body.format(condition="w == 1")) == ["warp"]
    assert agreed(body.format(condition="lane == 1")) == ["thread"]


def test_what_a_tile_call_writes_is_agreed_by_nobody():
    body = """
state = T.alloc_local((1,), "float32")
Tx.copy(state[0:1], A[0:1])
if state[0] > 0.0:
    Tx.zero(A[0:1])
"""
    assert agreed(body) == ["grid", "thread"]


def test_what_an_instruction_returns_is_agreed_by_nobody():
    body = "v: T.let = T.cuda.shfl_sync(T.uint32(0xFFFFFFFF), n, 0, 32)\nif v == 1:\n    Tx.zero(A[0:1])"
    assert agreed(body) == ["thread"]


def test_exits_from_a_loop_leave_doubt_in_its_body():
    loop = "for i in range(8):\n    if {c}:\n        {exit}\n    Tx.zero(A[0:1])\nTx.zero(A[0:1])"
    assert agreed(loop.format(c="i == n", exit="break")) == ["grid", "grid"]
    assert agreed(loop.format(c="w == 3", exit="break")) == ["warp", "grid"]
    assert agreed(loop.format(c="lane == 3", exit="continue")) == ["thread", "grid"]


def test_exits_of_inner_loops_stay_there():
    body = """
for i in range(8):
    for j in range(8):
        if lane == j:
            break
    Tx.zero(A[0:1])
"""
    assert agreed(body) == ["grid"]


def test_clusters_make_grid_indices_disagree():
    head = HEAD + "rank = T.cta_id_in_cluster([2])\n"
    assert agreed("if bx < n:\n    Tx.zero(A[0:1])", head) == ["cta"]
    head += "cl = T.cluster_id()\n"
    assert agreed("if cl < n:\n    Tx.zero(A[0:1])", head) == ["cluster"]


def test_long_chains_of_lets_do_not_recurse():
    lets = "\n".join(f"v{i}: T.let = v{i - 1} + 1" for i in range(1, 4000))
    body = f"v0: T.let = tx\n{lets}\nif v3999 < n:\n    Tx.zero(A[0:1])\nif v3999 < 7:\n    Tx.zero(A[0:1])"
    assert agreed(body)[0] == "thread"


@pytest.mark.parametrize("team, legal", [("warp", True), ("warpgroup", False), ("cta", False)])
def test_a_team_must_agree(team, legal):
    f = kernel(HEAD + f"if w < n:\n    Tx.{team}.zero(A[0:1])", params=PARAMS)
    if legal:
        assert contexts(f)[0].full
        return
    with pytest.raises(ScopeError) as e:
        contexts(f)
    assert e.value.code == "partial-team"


TILE = """
@T.prim_func
def f(A: T.Buffer((128, 32), "float32"), B: T.Buffer((128, 32), "float32"), n: T.int32):
    T.device_entry()
    warp = T.warp_id([4])
    lane = T.lane_id([32])
    for i in range(2):
        x = A[0, 0]
        y = A[0, lane]
        {call}
"""
# (call, how far its operands are agreed when it is refused)
DISAGREE = [
    ("Tx.cta.copy(B[warp * 32 : warp * 32 + 32, :], A[warp * 32 : warp * 32 + 32, :])", "from warp to warp"),
    ("Tx.warp.copy(B[lane : lane + 1, :], A[lane : lane + 1, :])", "from thread to thread"),
    ("Tx.warp.fill(B[0:lane, :], 0.0)", "size of the region of B differs from thread to thread"),
    ("Tx.warp.fill(B[warp * 32 : warp * 32 + 32, :], y)", "a value differs from thread to thread"),
]
AGREE = [
    "Tx.warp.copy(B[warp * 32 : warp * 32 + 32, :], A[warp * 32 : warp * 32 + 32, :])",
    "Tx.cta.copy(B[i * 64 : i * 64 + 64, :], A[i * 64 : i * 64 + 64, :])",
    "Tx.cta.fill(B[n : n + 8, :], x)",
    "Tx.thread.copy(B[lane : lane + 1, :], A[lane : lane + 1, :])",
]


@pytest.mark.parametrize("call, found", DISAGREE)
def test_a_team_agrees_on_its_tiles(call, found):
    with pytest.raises(ScopeError) as e:
        tirx.compile(from_source(TILE.format(call=call)), "cuda/sm_90a")
    assert e.value.code == "operand-differs" and found in e.value.found and call in str(e.value)


@pytest.mark.parametrize("call", AGREE)
def test_tiles_that_a_team_agrees_on(call):
    tirx.compile(from_source(TILE.format(call=call)), "cuda/sm_90a")
