"""The page: one file with its tables, style and script inside; it loads nothing.

page.js only draws the tables of document.py. Served (serve.py), it asks the server for the tables of what was typed.
"""

from __future__ import annotations

import json
from importlib import resources

from ...errors import LayoutError
from .colors import INK, css_classes
from .document import document

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


MOST = 1 << 16


def page(views, served=False, few=False) -> str:
    """HTML of one view, or of several with a menu. `few`: only the dtype of each view (a gallery). LayoutError for a
    tile of more than 65,536 elements, which no browser shows with ease."""
    for v in views:
        check_size(v)
    return page_of([document(v, dtypes=()) if few else document(v) for v in views], served)


def check_size(view):
    if view.tables.size > MOST:
        raise LayoutError("the tile is too large for a page", code="too-large",
                          found=f"{view.tables.size} elements", required=f"at most {MOST}",
                          hint="slice the layout, or ask for text")  # fmt: skip


def page_of(documents, served=False) -> str:
    """The page of finished documents."""
    data = json.dumps({"served": served, "documents": documents}, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    policy = _POLICY + ("; connect-src 'self'" if served else "")
    style = _file("page.css").replace("/*classes*/", css_classes()).replace("{INK}", INK)
    return (
        _file("page.html").replace("{policy}", policy).replace("{style}", style)
        .replace("{data}", data).replace("{script}", _file("page.js"))
    )  # fmt: skip


def _file(name):
    return resources.files(__package__).joinpath(name).read_text("utf-8")
