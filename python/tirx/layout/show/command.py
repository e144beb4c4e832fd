"""`tirx layout`: what it takes and does."""

from __future__ import annotations

import re

from ...errors import LayoutError
from . import hardware
from .reading import read_layout, read_shape
from .text import limit
from .view import FORMATS, View, check_path, terminal, write


def add_arguments(parser):
    """Arguments of the command, on an argparse parser."""
    parser.add_argument("layout", nargs="?", metavar="LAYOUT",
                        help="notation such as 'S[(8, 4) : (4@laneid, 1)]', or a name that --list prints")  # fmt: skip
    parser.add_argument("--shape", help="extents of the tile, for instance 8,16")
    parser.add_argument("--dtype", help="of the elements (default: float16)")
    parser.add_argument("--swizzle", help="none, 32B, 64B, 128B or M,B,S in place of the layout's own")
    parser.add_argument("--access", help="bank counts: row, row16, column, rows8, or a layout of lanes")
    parser.add_argument("--format", choices=sorted(set(FORMATS.values())), help="default: text, or by --out")
    parser.add_argument("--out", metavar="FILE", help="write .txt, .svg, .html or .json")
    parser.add_argument("--places", action="store_true", help="text: also what is stored in every place")
    parser.add_argument("--width", type=int, help="text: characters per line, 0 for no limit")
    parser.add_argument(
        "--rows", type=int, default=64, help="text: rows of a table, 0 for all (default: %(default)s)"
    )
    parser.add_argument("--list", action="store_true", help="print the named hardware layouts")
    parser.add_argument("--gallery", metavar="FILE", help="write one page with all named layouts")
    parser.add_argument(
        "--serve", action="store_true", help="open the page on this machine, with free editing"
    )
    parser.add_argument("--port", type=int, default=0, help="of --serve (default: any free one)")


def run(args) -> int:
    """Does what was asked; returns the exit status."""
    if args.list:
        print(hardware.listing())
        return 0
    _check(args)
    if args.gallery:
        from .html import page

        write(args.gallery, page([n.view() for n in hardware.names()], few=True))
        return 0
    view = view_of(args.layout, args.shape, args.dtype, args.swizzle, args.access)
    if args.serve:
        from .serve import serve

        return serve(view, args.port)
    return _print(view, args)


def _check(args):
    """What can be refused before any table is made."""
    limit(args.rows, "--rows")
    limit(args.width or 0, "--width")
    for path in filter(None, (args.gallery, args.out)):
        check_path(path)


def joined(argv) -> list:
    """Arguments in which "--swizzle -1,0,0" is one: argparse takes the second for an option."""
    out = []
    for text in argv:
        glue = out and out[-1] in ("--swizzle", "--shape") and re.match(r"-\d", text)
        out = [*out[:-1], f"{out[-1]}={text}"] if glue else [*out, text]
    return out


def view_of(layout, shape=None, dtype=None, swizzle=None, access=None) -> View:
    """The View of what a person typed: a name or notation, and texts for the rest."""
    if not layout or not layout.strip():
        raise LayoutError("no layout was given", code="no-layout",
                          required="notation such as 'S[(8, 4) : (4@laneid, 1)]', or a name",
                          hint="tirx layout --list prints the names")  # fmt: skip
    named = hardware.find(layout.strip())
    if named is not None:
        return named.view(dtype, read_shape(shape), swizzle, access)
    return View(read_layout(layout), read_shape(shape), dtype, swizzle, access)


def _print(view, args):
    form = args.format or ("json" if args.json else "text")
    if args.out and not args.format:
        view.save(args.out)
        return 0
    if form == "text":
        limits = terminal() | ({"width": args.width} if args.width is not None else {})
        out = view.text(**limits, places=args.places, rows=args.rows)
    else:
        out = view.render(form)
    if args.out:
        write(args.out, out)
    else:
        print(out)
    return 0
