"""Layouts to look at: `layout.show()`, `tirx layout`, and the page with all hardware layouts.

tables.py computes every number once, from the algebra; text.py, svg.py and html.py only draw.
"""

from .view import View

__all__ = ["View"]
