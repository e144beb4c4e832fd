"""Samples and variants of the layout map nodes for node_samples.py.

A variant differs first at its field, in the order of declaration: domain, codomain, then the fields of the node. A
codomain box that follows from other fields has no variant of its own.
"""

import functools

from tirx.layout import maps as M

ID = M.Identity((4, 4))
LINE = M.MixedRadix((4,), (2,), codomain=16)
PRED, NOT_PRED = M._predicate(M.box(4), [(0, 2)]), M._predicate(M.box(4), [(2, 4)])


def radix(shape=((2, 2),), stride=((1, 8),), offset=0, codomain=64):
    return M.MixedRadix(shape, stride, offset, codomain)


def bits(domain=8, codomain=8, basis=((1, 2, 4),), translation=(0,)):
    return M.BitLinear(domain, codomain, basis, translation)


def expr(domain=4, codomain=64, factor=3, outputs=None):
    from tirx import _ffi_api

    made = M.index_map(domain, lambda i: i * factor + 1, codomain)
    if outputs is None:
        return made
    return _ffi_api.map_index_expr(made.domain_box, made.codomain_box, made.code, outputs)


def swizzle(name="xor_swizzle", params=(0, 2, 2), domain=16, codomain=None, inverted=False):
    return M.Transform(name, params, domain, codomain, inverted)


def _twin():
    _register_twin()
    return swizzle("sample_twin")


@functools.cache
def _register_twin():
    fn = lambda params, coords: coords  # noqa: E731
    M.register_transform("sample_twin", fn, fn)


def recast(map=LINE, axis=0, bits=(32, 16)):
    return M.Recast(map, *bits, axis)


def corr(left=LINE, right=LINE):
    return M.LayoutCorr(left, right)


TABLE = M.FiniteTable(4, 8, [0, 1, 2, 3])

SAMPLES = {
    "tx.IndexBox": lambda: M.box({"a": 4, "b": 8}),
    "tx.LayoutMapIdentity": lambda: M.Identity(4),
    "tx.LayoutMapMixedRadix": radix,
    "tx.LayoutMapBitLinear": bits,
    "tx.LayoutMapTranslate": lambda: M.Translate(LINE, 1, 64),
    "tx.LayoutMapCompose": lambda: M.Compose(radix(((4, 4),), ((1, 4),)), LINE),
    "tx.LayoutMapProduct": lambda: M.product(LINE, LINE),
    "tx.LayoutMapProject": lambda: M.Project((4, 4), 0),
    "tx.LayoutMapPermute": lambda: M.Permute((4, 4), (0, 1)),
    "tx.LayoutMapRecast": recast,
    "tx.LayoutMapTransform": swizzle,
    "tx.LayoutMapPiecewise": lambda: M.Piecewise(4, [([(0, 2)], LINE), ([(2, 4)], LINE)]),
    "tx.LayoutMapIndexExpr": expr,
    "tx.LayoutMapFiniteTable": lambda: TABLE,
    "tx.LayoutCorr": corr,
}

WIDE = M.MixedRadix((8,), (2,), codomain=16)
SHIFTED = M.MixedRadix((4,), (2,), 1, codomain=16)
VARIANTS = {
    "tx.IndexBox": {
        "extents": lambda: M.box({"a": 4, "b": 9}),
        "names": lambda: M.box({"a": 4, "c": 8}),
    },
    "tx.LayoutMapIdentity": {"domain_box": lambda: M.Identity(5), "codomain_box": None},
    "tx.LayoutMapMixedRadix": {
        "domain_box": lambda: radix(((2, 4),)),
        "codomain_box": lambda: radix(codomain=65),
        "shape": lambda: radix(((4, 1),)),
        "stride": lambda: radix(stride=((8, 1),)),
        "offset": lambda: radix(offset=1),
    },
    "tx.LayoutMapBitLinear": {
        "domain_box": lambda: bits(domain=7),
        "codomain_box": lambda: bits(codomain=16),
        "basis": lambda: bits(basis=((1, 2, 3),)),
        "translation": lambda: bits(translation=(1,)),
    },
    "tx.LayoutMapTranslate": {
        "domain_box": lambda: M.Translate(WIDE, 1, 64),
        "codomain_box": lambda: M.Translate(LINE, 1, 65),
        "map": lambda: M.Translate(SHIFTED, 1, 64),
        "offset": lambda: M.Translate(LINE, 2, 64),
    },
    "tx.LayoutMapCompose": {
        "domain_box": lambda: M.Compose(radix(((4, 4),), ((1, 4),)), WIDE),
        "codomain_box": lambda: M.Compose(radix(((4, 4),), ((1, 4),), codomain=65), LINE),
        "outer": lambda: M.Compose(radix(((4, 4),), ((2, 4),)), LINE),
        "inner": lambda: M.Compose(radix(((4, 4),), ((1, 4),)), SHIFTED),
    },
    "tx.LayoutMapProduct": {
        "domain_box": lambda: M.product(LINE, WIDE),
        "codomain_box": None,
        "maps": lambda: M.product(LINE, SHIFTED),
    },
    "tx.LayoutMapProject": {
        "domain_box": lambda: M.Project((4, 5), 0),
        "codomain_box": lambda: M.Project((4, 4), (0, 1)),
        "axes": lambda: M.Project((4, 4), 1),
    },
    "tx.LayoutMapPermute": {
        "domain_box": lambda: M.Permute((4, 5), (0, 1)),
        "codomain_box": None,
        "axes": lambda: M.Permute((4, 4), (1, 0)),
    },
    "tx.LayoutMapRecast": {
        "domain_box": lambda: recast(WIDE),
        "codomain_box": lambda: recast(LINE.with_codomain(17)),
        "map": lambda: recast(SHIFTED),
        "from_bits": lambda: recast(bits=(64, 32)),
        "to_bits": None,
        "axis": None,
    },
    "tx.LayoutMapTransform": {
        "domain_box": lambda: swizzle(domain=32),
        "codomain_box": None,
        "name": _twin,
        "params": lambda: swizzle(params=(0, 1, 1)),
        "inverted": lambda: swizzle(inverted=True),
    },
    "tx.LayoutMapPiecewise": {
        "domain_box": lambda: M.Piecewise(8, [([(0, 2)], WIDE), ([(2, 8)], WIDE)]),
        "codomain_box": None,
        "predicates": lambda: M.Piecewise(4, [([(0, 3)], LINE), ([(2, 4)], LINE)]),
        "pieces": lambda: M.Piecewise(4, [([(0, 2)], LINE), ([(2, 4)], SHIFTED)]),
    },
    "tx.LayoutMapIndexExpr": {
        "domain_box": lambda: expr(domain=5),
        "codomain_box": lambda: expr(codomain=65),
        "code": lambda: expr(factor=4),
        "outputs": lambda: expr(outputs=[0]),
    },
    "tx.LayoutMapFiniteTable": {
        "domain_box": lambda: M.FiniteTable((2, 2), 8, [0, 1, 2, 3]),
        "codomain_box": lambda: M.FiniteTable(4, 9, [0, 1, 2, 3]),
        "values": lambda: M.FiniteTable(4, 8, [0, 1, 2, 4]),
    },
    "tx.LayoutCorr": {"left": lambda: corr(left=SHIFTED), "right": lambda: corr(right=SHIFTED)},
}
