"""`layout.show()`: one view that prints in a terminal, draws in a notebook, and is saved as text, SVG, HTML or JSON."""

from __future__ import annotations

import errno
import os
import shutil
import sys

from ...errors import LayoutError
from .accesses import Banks
from .swizzles import GIVEN, swizzled
from .tables import Tables, dtype_bits

FORMATS = {".txt": "text", ".svg": "svg", ".html": "html", ".json": "json"}


class View:
    """A layout to look at.

    layout: static; shape: extents of the tile (default: the squarest split between iters); dtype: of the elements, for
    memory lines, banks and named swizzles; swizzle: "given", "none", "32B", "64B", "128B" or "M,B,S"; access: a name of
    show.accesses.NAMES or the notation of a layout of lanes, for bank counts; about: a line of explanation.
    LayoutError says why a layout cannot be shown so.
    """

    def __init__(self, layout, shape=None, dtype=None, swizzle=None, access=None, name="", about=""):
        self.given, self.dtype = layout, str(dtype or "float16")
        self.swizzle, self.access, self.name, self.about = swizzle or GIVEN, access, name, about
        self.layout = swizzled(layout, self.swizzle, dtype_bits(self.dtype))
        self.tables = Tables(self.layout, shape, self.dtype)
        self._banks = Banks(access, self.tables) if access else None

    def reports(self) -> tuple:
        """Bank counts of the access, if one was asked for."""
        return (self._banks,) if self._banks else ()

    def text(self, width=100, color=False, places=False, rows=64) -> str:
        """For a terminal; see text.render."""
        from .text import render

        return render(self, width, color, places, rows)

    def svg(self, places=True) -> str:
        """One SVG document: the tile and its places."""
        from .svg import render

        return render(self, places)

    def html(self) -> str:
        """One page that needs nothing else: tables, choices, keyboard."""
        from .html import page

        return page([self])

    def json(self) -> str:
        """The tables that the page is made of."""
        import json

        from .document import document

        return json.dumps(document(self))

    def render(self, form) -> str:
        """ "text", "svg", "html" or "json"."""
        if form not in FORMATS.values():
            raise LayoutError(
                "no such format", code="bad-format", found=repr(form), required="text, svg, html or json"
            )
        return getattr(self, form)()

    def save(self, path):
        """Writes .txt, .svg, .html or .json; the ending decides."""
        ending = os.path.splitext(str(path))[1].lower()
        if ending not in FORMATS:
            raise LayoutError("the ending of the file names no format", code="bad-format", found=str(path),
                              required=f"one of {', '.join(FORMATS)}")  # fmt: skip
        write(path, self.render(FORMATS[ending]))

    def __str__(self):
        return self.text(**terminal())

    __repr__ = __str__

    def _repr_html_(self):
        from html import escape

        style = 'width="100%" height="760" style="border:0" title="layout"'
        return f'<iframe srcdoc="{escape(self.html())}" {style}></iframe>'


def write(path, text):
    """Writes a file; LayoutError when the system refuses."""
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    except OSError as e:
        raise _bad_path(path, e.strerror) from None


def check_path(path):
    """Raises what `write` would raise for a folder that does not exist or takes no files; nothing is written."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        why = errno.EISDIR
    elif not os.path.exists(folder):
        why = errno.ENOENT
    elif not os.path.isdir(folder):
        why = errno.ENOTDIR
    else:
        why = 0 if os.access(path if os.path.exists(path) else folder, os.W_OK) else errno.EACCES
    if why:
        raise _bad_path(path, os.strerror(why))


def _bad_path(path, why):
    return LayoutError("the file cannot be written", code="bad-path", found=f"{path}: {why}")


def terminal(stream=None) -> dict:
    """Width and colour for `text` on a stream: colours on terminals only, and not when NO_COLOR is set."""
    stream = stream or sys.stdout
    if not getattr(stream, "isatty", lambda: False)():
        return {"width": 100, "color": False}
    size = shutil.get_terminal_size()
    return {"width": size.columns, "color": "NO_COLOR" not in os.environ}
