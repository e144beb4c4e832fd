"""Run every benchmark and print one table each: `python -m bench [name ...] [--json]`.

Names: import, size, compile, many_copies, simulator, layouts. Figures are medians of warm runs in CPU milliseconds
unless a column says otherwise; those of another compiler come from the same run, in its own interpreter, when
TIRX_PEER_PYTHON names one that has apache-tvm 0.27 (layouts: also TIRX_INTEROP_PYTHON, one that has pycute).
"""

import argparse
import json
import sys

from . import compile_time, footprint, layouts, simulator

BENCHES = {
    "import": footprint.import_cost,
    "size": footprint.installed_size,
    "compile": compile_time.shared_kernels,
    "many_copies": compile_time.many_copies,
    "simulator": simulator.speed,
    "layouts": layouts.operations,
}


def table(title, rows):
    """Rows (dicts of one shape) as aligned text."""
    head = list(rows[0])
    cells = [head] + [[_text(r[h]) for h in head] for r in rows]
    widths = [max(len(c[i]) for c in cells) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in cells]
    return "\n".join([title, *("  " + line for line in lines)])


def _text(value):
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHES], help="which to run; all by default")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = {}
    for name in args.names or BENCHES:
        print(f"bench {name} ...", file=sys.stderr)
        results[name] = BENCHES[name]()
        if not args.json:
            print(table(name, results[name]), end="\n\n")
    if args.json:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
