"""What can be said of a layout map on its whole domain: `prove` and the oracle `analyze_finite`.

    p = prove(f)                  # LayoutProof with .total, .bounds, .injective, .surjective
    p.injective.status            # "PROVEN", "DISPROVEN" or "UNKNOWN"
    p.injective.argument          # why
    p.injective.witness           # when disproven: two points with one value

Facts, each over the whole domain: `total` (every point has a value), `bounds` (values lie in the declared
codomain), `injective`, `surjective`. For a map that is not total the last three speak of the points that have
a value. UNKNOWN is never success: a fact is false in a condition unless it is PROVEN. The arguments are listed in
include/tirx/layout/prove.h and docs/layout-proofs.md.
"""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import LayoutError

# The most points that are ever enumerated (source document 001).
FINITE_BUDGET = 1 << 20
FACTS = ("total", "bounds", "injective", "surjective")
_STATUS = ("UNKNOWN", "PROVEN", "DISPROVEN")


class Fact:
    """One fact: `status`, `argument` (empty when unknown) and, when disproven, `witness`.

    The witness of total and bounds is a point of the domain, of injective a pair of points, of surjective a
    point of the codomain. It is None where counting alone decided (more points than places) and no instance
    was found without enumerating. True in a condition when PROVEN.
    """

    __slots__ = ("status", "argument", "witness")

    def __init__(self, status, argument="", witness=None):
        self.status, self.argument, self.witness = status, argument, witness

    def __bool__(self):
        return self.status == "PROVEN"

    def __eq__(self, other):
        return isinstance(other, Fact) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return self.status, self.argument, self.witness

    def __repr__(self):
        text = self.status
        if self.argument:
            text += f" ({self.argument})"
        return text if self.witness is None else f"{text}: {self.witness}"


class LayoutProof:
    """The four facts of a map; see the module's text."""

    __slots__ = FACTS

    def __init__(self, total, bounds, injective, surjective):
        self.total, self.bounds, self.injective, self.surjective = total, bounds, injective, surjective

    @property
    def bijective(self) -> bool:
        """All four proven: the map is a bijection between its domain and its codomain."""
        return all(getattr(self, name) for name in FACTS)

    def statuses(self) -> dict:
        """{"total": "PROVEN", ...}"""
        return {name: getattr(self, name).status for name in FACTS}

    def __repr__(self):
        return "\n".join(f"{name:10} {getattr(self, name)!r}" for name in FACTS)


def prove(f, budget=FINITE_BUDGET, exact=None) -> LayoutProof:
    """The four facts of the LayoutMap `f`.

    `budget` is the number of points that may be enumerated for a part of the map that no argument decides, at
    most FINITE_BUDGET; 0 never enumerates. `exact="isl"` asks the integer-set library (see tirx.layout.isl) about
    what is still UNKNOWN. Raises LayoutError for a negative budget or an unknown back end.
    """
    _check(budget)
    if exact not in (None, "isl"):
        raise LayoutError(
            "no such exact back end", code="bad-argument", found=repr(exact), required='None or "isl"'
        )
    found = _proof(_api.layout_prove(f, budget))
    if exact == "isl":
        from .isl import INSTANCE_LIMIT, LIMIT, exact_proof

        unknown = [name for name in FACTS if getattr(found, name).status == "UNKNOWN"]
        bare = [name for name in FACTS if name not in unknown and _lacks_instance(getattr(found, name))]
        for names, limit in ((unknown, LIMIT), (bare, INSTANCE_LIMIT)):
            more = exact_proof(f, names, limit) if names else found
            for name in names:
                if getattr(more, name).status != "UNKNOWN":
                    setattr(found, name, getattr(more, name))
    return found


def _lacks_instance(fact) -> bool:
    """Disproven by counting alone."""
    return fact.status == "DISPROVEN" and fact.witness is None


def analyze_finite(f, budget=FINITE_BUDGET) -> LayoutProof:
    """The oracle: evaluates every point of the domain and compares. Shares nothing with `prove` but the
    evaluation of a point. All facts are UNKNOWN when the domain has more than `budget` (or FINITE_BUDGET) points.
    """
    _check(budget)
    return _proof(_api.layout_analyze_finite(f, budget))


def _check(budget):
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 0:
        raise LayoutError(
            "a budget is a number of points", code="bad-argument", found=repr(budget), required="an int >= 0"
        )


def _proof(rows) -> LayoutProof:
    return LayoutProof(*[_fact(name, *row) for name, row in zip(FACTS, rows)])


def _fact(name, status, argument, witness) -> Fact:
    points = tuple(tuple(point) for point in witness)
    if not points:
        shown = None
    else:
        shown = points if name == "injective" else points[0]
    return Fact(_STATUS[status], str(argument), shown)
