"""Composition with symbolic extents and strides: each condition of the walk is proved, disproved or a guard.

Symbolic extents are at least 1 and symbolic strides at least 0, as in a TileLayout with symbols.
"""

from __future__ import annotations

from ... import _ffi_api as _api
from .tuples import refuse


def proved_equal(a, b) -> bool:
    """Whether a == b for every value of the symbols."""
    return bool(_api.analyzer_can_prove_equal(_api.Analyzer(), a, b))


def settle(found, guards, shown):
    """Hands open conditions to the caller's list, or refuses where he gave none."""
    if found and guards is None:
        refuse("the result depends on symbols", "unproved", shown, " and ".join(map(str, found)),
               "pass analyzer= with facts, or guards=[] to receive the conditions")  # fmt: skip
    if guards is not None:
        guards.extend(found)


class Judge:
    """Decides conditions for `with Judge(...) as judge`. An open condition that is `assume`d becomes one of
    `guards`; where all of them hold, what was concluded is exact."""

    def __init__(self, analyzer, positive=(), natural=()):
        self.analyzer = _api.Analyzer() if analyzer is None else analyzer
        self.guards, self._tokens = [], []
        for low, group in ((1, positive), (0, natural)):
            for e in group:
                if type(e) is not int:
                    self._enter(e >= low)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for token in reversed(self._tokens):
            _api.analyzer_exit(self.analyzer, token)

    def _enter(self, condition):
        self._tokens.append(_api.analyzer_enter(self.analyzer, condition))

    def known(self, condition):
        """True, False, or None when it depends on the symbols."""
        if isinstance(condition, bool):
            return condition
        if _api.analyzer_can_prove(self.analyzer, condition):
            return True
        return False if _api.analyzer_can_prove(self.analyzer, ~condition) else None

    def assume(self, condition, why, shown):
        """Records an open condition as a guard; refuses a false one. `why` says what it is for."""
        known = self.known(condition)
        if known is False:
            refuse(why, "not-composable", shown, f"{condition}")
        if known is None:
            self.guards.append(condition)
            self._enter(condition)

    def simple(self, x):
        """x in canonical form under the facts."""
        return x if type(x) is int else _api.analyzer_simplify(self.analyzer, x)


def compose_leaves(modes, leaves, analyzer, shown):
    """([pieces of each leaf], guards) of A o B, with A's modes coalesced and the last one unbounded."""
    numbers = [x for pair in [*modes, *leaves] for x in pair]
    with Judge(analyzer, numbers[::2], numbers[1::2]) as judge:
        digits = [0] * len(modes)
        out = []
        for n, r in leaves:
            pieces = _walk(judge, modes, n, r, shown)
            for i, c, extent, _ in pieces:
                digits[i] = digits[i] + c * (extent - 1)
            out.append([(judge.simple(extent), judge.simple(stride)) for _, _, extent, stride in pieces])
        for total, (extent, _) in list(zip(digits, modes))[:-1]:
            judge.assume(total < extent, "the modes of B carry into each other in A", shown)
        return out, judge.guards


def _walk(judge, modes, n, r, shown):
    """[(mode of A, step in it, extent, stride)] of n:r."""
    pieces, c = [], r
    for i, (extent, stride) in enumerate(modes[:-1]):
        if judge.known(c >= extent):
            judge.assume(c % extent == 0, f"the step {c} is no multiple of extent {extent}", shown)
            c = judge.simple(c // extent)
            continue
        inside = (n - 1) * c < extent
        if judge.known(inside) is not False and not (
            judge.known(inside) is None and _crosses(judge, extent, n, c)
        ):
            judge.assume(inside, "leaves the mode", shown)
            return [*pieces, (i, c, n, c * stride)]
        judge.assume(c < extent, "the step is past the mode", shown)
        judge.assume(extent % c == 0, f"step {c} does not divide extent {extent}, which is crossed", shown)
        judge.assume(
            n % (extent // c) == 0, f"{n} steps do not fill extent {extent}, which is crossed", shown
        )
        part = judge.simple(extent // c)
        pieces.append((i, c, part, c * stride))
        n, c = judge.simple(n // part), 1
    return [*pieces, (len(modes) - 1, c, n, c * modes[-1][1])]


def _crosses(judge, extent, n, c):
    """Whether leaving the mode through its end is proved to be exact."""
    if not (judge.known(c >= 1) and judge.known(c < extent) and judge.known(extent % c == 0)):
        return False
    return judge.known(n % (extent // c) == 0) is True
