"""Active sets and team switches against enumeration of every thread (paper, section 4)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scope_helpers import contexts, evaluate, kernel, passed, places, resolve

from tirx.errors import ScopeError
from tirx.scope import active_sets

THREADS = 256
IDS = {
    "tx": ("thread_id([256])", lambda t: t),
    "w": ("warp_id()", lambda t: t // 32),
    "lane": ("lane_id()", lambda t: t % 32),
    "wg": ("warpgroup_id()", lambda t: t // 128),
    "wi": ("warp_id_in_wg()", lambda t: t // 32 % 4),
    "ti": ("thread_id_in_wg()", lambda t: t % 128),
}
EXTENT = {"tx": 256, "w": 8, "lane": 32, "wg": 2, "wi": 4, "ti": 128}
FORMS = ["{n} == {a}", "{n} != {a}", "{n} < {a}", "{n} >= {a}", "{a} <= {n} < {b}", "{n} % 2 == {c}"]
HEAD = "\n".join(f"{name} = T.{text}" for name, (text, _) in IDS.items())


@st.composite
def comparisons(draw):
    name = draw(st.sampled_from(list(IDS)))
    lo = draw(st.integers(0, EXTENT[name] - 1))
    form = draw(
        st.sampled_from(
            ["{n} == {a}", "{n} != {a}", "{n} < {a}", "{n} >= {a}", "{a} <= {n} < {b}", "{n} % 2 == {c}"]
        )
    )
    return form.format(n=name, a=lo, b=lo + draw(st.integers(1, 64)), c=lo % 2)


conditions = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        inner.map(lambda c: f"not ({c})"),
    ),
    max_leaves=4,
)  # fmt: skip


def holds(condition):
    """The threads for which the text of a condition is true, by Python."""
    return [t for t in range(THREADS) if eval(condition, {n: f(t) for n, (_, f) in IDS.items()})]


@settings(max_examples=60, deadline=None)
@given(conditions, conditions)
def test_branches_narrow_exactly(outer, inner):
    f = kernel(
        f"{HEAD}\nif {outer}:\n    if {inner}:\n        Tx.zero(A[0:1])\n    else:\n        Tx.zero(A[1:2])"
    )
    yes, no = holds(f"({outer}) and ({inner})"), holds(f"({outer}) and not ({inner})")
    found = active_sets(f)
    assert [p.threads for p in found] == [s for s in (yes, no) if s]
    assert all(p.agreed == "grid" for p in found)


@settings(max_examples=40, deadline=None)
@given(conditions)
def test_the_layout_of_a_set_is_the_set(condition):
    threads = holds(condition)
    found = active_sets(kernel(f"{HEAD}\nif {condition}:\n    Tx.zero(A[0:1])"))
    if not threads:
        assert found == []
    elif found[0].layout is not None:
        assert [thread_of(p) for p in places(found[0].layout)] == threads


def thread_of(place):
    """Linear thread index of a place on any of the thread axes."""
    return (
        place.get("tx", 0) + place.get("tid_in_wg", 0) + place.get("laneid", 0)
        + 32 * (place.get("warpid", 0) + place.get("wid_in_wg", 0)) + 128 * place.get("wgid", 0)
    )  # fmt: skip


TEAM_SIZE = {"thread": 1, "warp": 32, "warpgroup": 128, "cta": THREADS}


def regular(positions):
    """Whether ascending positions are nested steps, by trying every way to read them."""
    if len(positions) == 1:
        return True
    step = positions[1] - positions[0]
    for run in range(2, len(positions) + 1):
        if len(positions) % run:
            continue
        blocks = [positions[i : i + run] for i in range(0, len(positions), run)]
        if any([p - b[0] for p in b] != [step * i for i in range(run)] for b in blocks):
            continue
        firsts = [b[0] for b in blocks]
        if len(firsts) == 1:
            return True
        gap = firsts[1] - firsts[0]
        if gap % step == 0 and gap >= run * step and regular(firsts):
            return True
    return False


@settings(max_examples=100, deadline=None)
@given(conditions, st.sampled_from(["warp", "warpgroup", "cta"]))
def test_a_team_switch_is_exact_or_refused(condition, kind):
    threads, size = holds(condition), TEAM_SIZE[kind]
    if not threads:
        return
    teams = {}
    for t in threads:
        teams.setdefault(t // size, []).append(t % size)
    f = kernel(f"{HEAD}\nif {condition}:\n    Tx.{kind}.zero(A[0:1])")
    equal = len({tuple(p) for p in teams.values()}) == 1
    if not equal or not regular(teams[min(teams)]):
        try:
            contexts(f)
        except ScopeError as e:
            assert e.code == ("irregular-team" if equal else "unequal-teams")
            return
        # What is no progression of threads may still be one of warps and lanes, and is exact then.
        assert equal
    (ctx,) = contexts(f)
    pattern = teams[min(teams)]
    assert (ctx.team_size, ctx.active, ctx.full) == (size, len(pattern), len(pattern) == size)
    assert sorted(thread_of(p) for p in places(ctx.intra)) == pattern
    covered = [thread_of(p) // size for p in places(ctx.inter)]
    assert set(covered) >= set(teams)
    if ctx.exact:
        assert covered == sorted(teams)
    for t in threads:
        values = {n: f(t) for n, (_, f) in IDS.items()}
        assert evaluate(ctx.thread_in_team, values) == pattern.index(t % size)


def test_thread_scope_needs_no_regular_set():
    (ctx,) = contexts(kernel(f"{HEAD}\nif tx == 3 or tx == 7 or tx == 8:\n    Tx.zero(A[0:1])"))
    assert (ctx.active, ctx.team_size, ctx.full, ctx.exact) == (1, 1, True, False)


def test_positions_whose_digits_cannot_be_recovered():
    """{0, 1} + {0, 4} + {0, 10}: 10 is no multiple of 4, so the middle digit of a thread is not (x % 10) // 4."""
    threads = [a + b + c for c in (0, 10) for b in (0, 4) for a in (0, 1)]
    body = "tx = T.thread_id([32])\nif {}:\n    Tx.cta.zero(A[0:1])"
    with pytest.raises(ScopeError) as e:
        contexts(kernel(body.format(" or ".join(f"tx == {t}" for t in threads))))
    assert e.value.code == "irregular-team"
    (ctx,) = contexts(kernel(body.format(" or ".join(f"tx == {t if t < 10 else t + 2}" for t in threads))))
    assert [evaluate(ctx.thread_in_team, {"tx": t if t < 10 else t + 2}) for t in threads] == list(range(8))


@pytest.mark.parametrize(
    "filter, want",
    [
        ("w == 1", range(32, 64)),
        ("1 <= w < 3", range(32, 96)),
        ("w, 1, 3", range(32, 96)),
        ("w, w >= 2", range(64, 128)),
    ],
)
def test_filters(filter, want):
    body = f"tx = T.thread_id([128])\nw = T.warp_id()\nwith T.filter({filter}):\n    Tx.zero(A[0:1])"
    assert active_sets(kernel(body))[0].threads == list(want)


def test_the_paper_example_of_filtering():
    """A_entry = (32, 16, 4) on lane, warp and cta; filter(wid == 0) leaves (32, 1, 4)."""
    body = """
cbx = T.cta_id_in_cluster([4])
wid = T.warp_id([16])
Tx.cluster.zero(A[0:1])
with T.filter(wid == 0):
    Tx.cluster.zero(A[0:1])
    Tx.warp.zero(A[0:1])
"""
    entry, filtered = (p.layout for p in active_sets(kernel(body))[:2])
    assert [(int(i.extent), str(i.axis)) for i in entry.shard] == [
        (4, "cta_id"),
        (16, "warpid"),
        (32, "laneid"),
    ]
    assert [(int(i.extent), str(i.axis)) for i in filtered.shard] == [
        (4, "cta_id"),
        (1, "warpid"),
        (32, "laneid"),
    ]
    whole, cluster, warp = contexts(kernel(body))
    assert (whole.active, whole.full) == (4 * 512, True)
    assert (cluster.active, cluster.team_size, cluster.full) == (4 * 32, 4 * 512, False)
    assert (warp.active, warp.full) == (32, True)


def test_sixteen_warps_are_four_warpgroups():
    body = "wid = T.warp_id([16])\nwith T.warpgroup():\n    Tx.zero(A[0:1])"
    (ctx,) = contexts(kernel(body))
    assert str(ctx.scope) == "warpgroup" and ctx.full
    assert [p["wgid"] for p in places(ctx.inter)] == [0, 1, 2, 3]
    assert len(places(ctx.intra)) == 128


def test_the_else_branch_of_a_point_keeps_full_warps():
    body = "w = T.warp_id([4])\nif w == 1:\n    Tx.warp.zero(A[0:1])\nelse:\n    Tx.warp.zero(A[0:1])"
    one, rest = contexts(kernel(body))
    assert one.full and one.exact and rest.full and not rest.exact


def test_cluster_rank_narrows_ctas():
    body = """
cx, cy = T.cta_id_in_cluster([2, 4])
tx = T.thread_id([64])
if cx == 0:
    Tx.cluster.zero(A[0:1])
"""
    (place,) = active_sets(kernel(body))
    assert place.ctas == [0, 2, 4, 6]
    (ctx,) = contexts(kernel(body))
    assert [p["cta_id"] for p in places(ctx.intra)][::64] == [0, 2, 4, 6]
    for rank, first in ((0, 0), (2, 64), (6, 192)):
        assert evaluate(ctx.thread_in_team, {"tx": 0, "tx.cluster_cta_rank": rank}) == first


def test_elect_sync_leaves_one_lane_per_warp():
    body = "w = T.warp_id([2])\nif w == 1:\n    if T.cuda.elect_sync():\n        Tx.cta.zero(A[0:1])"
    (place,) = active_sets(kernel(body))
    assert place.threads == [32] and place.elected
    (ctx,) = contexts(kernel(body))
    assert (ctx.active, ctx.full, int(ctx.thread_in_team)) == (1, False, 0)


TEAM_INSTRUCTIONS = {
    "T.cuda.cta_sync()": 256, "T.cuda.warpgroup_sync(w + 1)": 128, "T.cuda.warp_sync()": 32,
    "T.evaluate(T.cuda.shfl_sync(T.uint32(0xFFFFFFFF), tx, 0, 32))": 32,
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(conditions, st.sampled_from(list(TEAM_INSTRUCTIONS)))
def test_instructions_of_a_team_need_whole_teams(condition, instruction):
    size, threads = TEAM_INSTRUCTIONS[instruction], holds(condition)
    counts = {t // size: sum(u // size == t // size for u in threads) for t in threads}
    f = resolve(kernel(f"{HEAD}\nif {condition}:\n    {instruction}"))
    if all(n == size for n in counts.values()):
        passed("check_teams")(f)
        return
    with pytest.raises(ScopeError) as e:
        passed("check_teams")(f)
    team, n = next((team, n) for team, n in sorted(counts.items()) if n != size)
    assert e.value.code == "partial-team" and f" {team} has {n} of {size} " in e.value.found
