"""The CuTe operations of pycute (wheel nvidia-cutlass) on the cases of cute_meaning, as JSON. Runs under the interpreter
that TIRX_INTEROP_PYTHON names; this package is not imported."""

import functools
import json
import sys
from pathlib import Path

import pycute

sys.path.insert(0, str(Path(__file__).parent))
import cute_meaning  # noqa: E402
from layout_meaning import run  # noqa: E402


@functools.cache
def make(pair):
    return pycute.Layout(*pair)


def read(layout):
    return [layout(x) for x in range(pycute.size(layout))]


def operation(name):
    def prepare(a, *rest):
        fn, layout = getattr(pycute, name), make(a)
        args = [make(b) if isinstance(b, tuple) else b for b in rest]
        return (lambda: fn(layout, *args)), read

    return prepare


def call(a):
    layout = make(a)
    return (lambda: read(layout)), list


def zipped(a, tiles):
    layout, tiler = make(a), tuple(pycute.Layout(t) for t in tiles)
    return (lambda: pycute.zipped_divide(layout, tiler)), read


ADAPTER = {f"cute {name}": operation(name) for name in (
    "coalesce", "composition", "complement", "logical_divide", "logical_product", "right_inverse",
    "left_inverse")}  # fmt: skip
ADAPTER |= {
    "cute call": call,
    "cute composition, n:r": operation("composition"),
    "cute zipped_divide": zipped,
}


if __name__ == "__main__":
    print(json.dumps(run(cute_meaning.CUTE_OPS, ADAPTER, Exception)))
