"""Run by an interpreter that has tilelang: reads constructor calls, one per line, and prints for each a JSON line
with the fragment as text and the index and thread of every element, evaluated on
TileLang's own expression nodes.

tilelang imports torch only to load its libraries first; without it an empty module is enough for layouts.
"""

import itertools
import json
import operator
import sys
import types


class _Empty(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = (
            type(name, (), {"__call__": lambda *a, **k: None})
            if name[0].isupper() or name in _TYPES
            else _Empty(name)
        )
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        return args[0] if args else self


_TYPES = ("device", "dtype", "layout")


def main():
    try:
        import torch  # noqa: F401
    except ImportError:
        for n in (
            "",
            ".utils",
            ".utils.cpp_extension",
            ".utils.dlpack",
            ".nn",
            ".cuda",
            ".version",
            ".fx",
            ".distributed",
        ):
            sys.modules["torch" + n] = _Empty("torch" + n)
        sys.modules["torch_c_dlpack_ext"] = _Empty("torch_c_dlpack_ext")
    import tilelang  # noqa: F401, it brings its own tvm
    import tvm_ffi
    from tilelang.layout import Fragment

    for line in sys.stdin:
        f = eval(line, {"Fragment": Fragment, "convert": tvm_ffi.convert})
        points = itertools.product(*[range(int(n)) for n in f.get_input_shape()])
        rows = [[[_value(e, (*x, r)) for r in range(int(f.replicate_size))] for e in [*f.index, f.thread]]
                for x in points]  # fmt: skip
        print(json.dumps({"text": repr(f), "rows": rows}))


_NODES = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod, "tirx.bitwise_xor": operator.xor, "tirx.bitwise_and": operator.and_,
    "tirx.bitwise_or": operator.or_, "tirx.shift_left": operator.lshift, "tirx.shift_right": operator.rshift,
}  # fmt: skip


def _value(e, x):
    """A PrimExpr at coordinates and a copy number, node by node."""
    kind = type(e).__name__
    if kind == "Var":
        return x[-1] if str(e) == "_rep" else x[ord(str(e)[1]) - ord("i")]
    if kind == "IntImm":
        return int(e.value)
    if kind == "Call":
        return _NODES[e.op.name](*(_value(a, x) for a in e.args))
    return _NODES[kind](_value(e.a, x), _value(e.b, x))


if __name__ == "__main__":
    main()
