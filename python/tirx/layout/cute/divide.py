"""Divides: a layout seen as tiles and the rest."""

from __future__ import annotations

from .complement import Ragged, complement
from .composition import BUDGET, composition
from .layout import CuteLayout, as_layout, make_layout
from .tuples import check_tiler, refuse


def logical_divide(a, tiler, *, ragged=False, opaque=False, budget=BUDGET, analyzer=None, guards=None):
    """(tile, rest): A o (B, complement(B, size(A))), a permutation of A's elements whose first mode is A o B.

    `tiler` is a CuteLayout, an integer, or a tuple of these and None: then mode i of A is divided by its entry
    and modes with None or past the end stay. Refuses as complement and composition do; `opaque` is composition's.
    `ragged=True` accepts tiles that do not fill A and gives a Ragged, whose predicate says what exists.
    A may have symbols, with composition's `analyzer` and `guards`; the tiler is static.
    """
    if isinstance(tiler, (tuple, list)):
        return _by_mode(a, tiler, ragged, opaque, budget=budget, analyzer=analyzer, guards=guards)
    b, symbols = as_layout(tiler), {"analyzer": analyzer, "guards": guards}
    index = make_layout(b, complement(b, a.size(), round_up=ragged, **symbols))
    tiles = composition(a, index, opaque=opaque, budget=budget, **symbols)
    return Ragged(tiles, index, a.size()) if ragged else tiles


def _by_mode(a, tiler, ragged, opaque, **options):
    if ragged or opaque:
        refuse("ragged and opaque divides take one tiler", "bad-tiler", f"a tuple of {len(tiler)}",
               "a CuteLayout or an integer", "divide the modes one by one")  # fmt: skip
    check_tiler(tiler, a)
    parts = [m if t is None else logical_divide(m, t, **options) for m, t in zip(a.modes(), tiler)]
    return make_layout(*parts, *a.modes()[len(tiler) :])


def zipped_divide(a, tiler, **options) -> CuteLayout:
    """((tile modes), (rest modes)): logical_divide with the tiles of all modes gathered first."""
    return make_layout(*_zipped(logical_divide(a, tiler, **options), tiler))


def tiled_divide(a, tiler, **options) -> CuteLayout:
    """((tile modes), rest, rest, ...)."""
    tile, rest = _zipped(logical_divide(a, tiler, **options), tiler)
    return make_layout(tile, *rest.modes())


def flat_divide(a, tiler, **options) -> CuteLayout:
    """(tile, tile, ..., rest, rest, ...)."""
    tile, rest = _zipped(logical_divide(a, tiler, **options), tiler)
    return make_layout(*tile.modes(), *rest.modes())


def _zipped(divided, tiler):
    """(all tiles, all rests) of a divide."""
    if not isinstance(divided, CuteLayout) or tiler is None:
        refuse("gathering tiles needs a flat divide by a tiler for each mode", "bad-tiler", repr(tiler),
               "layouts or integers, without ragged or opaque")  # fmt: skip
    if not isinstance(tiler, (tuple, list)):
        return divided[0], divided[1]
    pairs = [_zipped(m, t) for m, t in zip(divided.modes(), tiler)]
    rest = [r for _, r in pairs] + divided.modes()[len(tiler) :]
    return make_layout(*(t for t, _ in pairs)), make_layout(*rest)
