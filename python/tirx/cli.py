"""The `tirx` command.

    tirx run apps/gemm --demo                 simulate, compare with the reference, explain, assemble for three GPUs
    tirx run my_kernel.py:scale               compile and simulate on random inputs of the declared shapes
    tirx show apps/gemm --stage cuda          parsed | tile | native | cuda | ptx | sass
    tirx explain apps/gemm --json             which variant each tile call got, and why
    tirx layout "S[(8, 4) : (4@laneid, 1)]"   draw a layout; --format text | svg | html | json, --serve, --list
    tirx doctor                               what works on this machine, and what to install for the rest

A kernel is named by an app folder (kernel.py with `make(**params)`, reference.py with `inputs` and `reference`), or by a
Python file, with `:name` when it holds several functions. Parameters of `make` are given as `-p M=256`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

from .errors import TirxError

STAGES = ("parsed", "tile", "native", "cuda", "ptx", "sass")


def main(argv=None) -> int:
    """Entry point; returns the exit status: 0 good, 1 the kernel or the machine is at fault, 2 bad usage."""
    args = _parser().parse_args(_joined(sys.argv[1:] if argv is None else list(argv)))
    try:
        status = args.action(args)
        sys.stdout.flush()
        return status
    except TirxError as e:
        if getattr(args, "json", False):
            print(json.dumps({"error": e.to_dict()}, indent=2))
        else:
            print(_paint(f"error: {type(e).__name__}", "31"), e, sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _parser():
    parser = argparse.ArgumentParser(
        prog="tirx", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="command")

    def command(name, action, text, kernel=True):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(action=action)
        sub.add_argument("--json", action="store_true", help="print JSON")
        if kernel:
            sub.add_argument("kernel", help="app folder, or file.py[:name]")
            sub.add_argument("-p", "--param", action="append", default=[], metavar="NAME=VALUE")
            sub.add_argument("--target", default="cuda/sm_90a", help="default: %(default)s")
        return sub

    run = command("run", _run, "compile and run a kernel, against its reference when it has one")
    run.add_argument("--demo", action="store_true", help="the app's demonstration: sizes, report, assembly")
    run.add_argument("--schedule", default="lazy", choices=["lazy", "eager", "random"])
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--mode", default="auto", choices=["auto", "simulate", "device"])
    show = command("show", _show, "print one stage of a kernel")
    show.add_argument("--stage", default="cuda", choices=STAGES)
    command("explain", _explain, "print the dispatch report")
    _add_layout(command("layout", _layout, "draw a layout", kernel=False))
    command("doctor", _doctor, "what works here and what to install", kernel=False)
    return parser


def _paint(text, code, stream=None):
    stream = stream or sys.stderr
    return f"\x1b[{code}m{text}\x1b[0m" if stream.isatty() else text


def _progress(text):
    """One line on a terminal's stderr while something long runs; silent in pipes."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="" if text else "", file=sys.stderr, flush=True)


# ---- finding kernels ----


def _params(items):
    out = {}
    for item in items:
        name, _, value = item.partition("=")
        if not name.isidentifier() or not value:
            raise TirxError(
                "a parameter is written NAME=VALUE",
                code="bad-parameter",
                found=item,
                required="for instance -p M=256",
            )
        out[name] = _number(value)
    return out


def _number(text):
    """An int or a float where the text is one, else the text."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def load(spec, params):
    """(function, app or None) for a kernel named on the command line."""
    from . import apps

    return apps.load(spec, params)


# ---- commands ----


def _run(args):
    func, app = load(args.kernel, _params(args.param))
    if args.demo:
        from . import apps

        return apps.demo(args.kernel, args, _progress)
    return _run_once(func, app, args)


def _run_once(func, app, args):
    from . import apps

    result = apps.run(func, app, args.target, mode=args.mode, schedule=args.schedule, seed=args.seed)
    print(json.dumps(result, indent=2) if args.json else apps.describe(result))
    return 0 if result.get("ok", True) else 1


def _show(args):
    func, _ = load(args.kernel, _params(args.param))
    text = stage_text(func, args.target, args.stage)
    print(json.dumps({"stage": args.stage, "text": text}, indent=2) if args.json else text)
    return 0


def stage_text(func, target, stage):
    """The text of one stage of `func` for `target`."""
    from . import pipeline
    from .executable import compile
    from .targets import Target

    target = Target(target) if isinstance(target, str) else target
    if stage in ("parsed", "tile", "native"):
        return pipeline.stages(func, target)[stage].script()
    exe = compile(func, target)
    return {"cuda": lambda: exe.source, "ptx": lambda: exe.ptx, "sass": lambda: exe.sass}[stage]()


def _explain(args):
    from .tile import explain

    func, _ = load(args.kernel, _params(args.param))
    report = explain(func, args.target)
    print(json.dumps(report.to_dict(), indent=2) if args.json else report)
    return 0


def _add_layout(parser):
    from .layout.show import command

    command.add_arguments(parser)


def _joined(argv):
    from .layout.show import command

    return command.joined(argv) if argv[:1] == ["layout"] else argv


def _layout(args):
    from .layout.show import command

    return command.run(args)


def _doctor(args):
    from . import doctor

    checks = doctor.checks()
    if args.json:
        print(json.dumps(checks, indent=2))
        return 0
    for c in checks:
        mark = _paint("ok  ", "32", sys.stdout) if c["ok"] else _paint("no  ", "33", sys.stdout)
        print(f"{mark} {c['what']:<34} {c['detail']}" + (f"\n       -> {c['fix']}" if c["fix"] else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
