"""Prints docs/primitives.md: `python -m tirx.tile > docs/primitives.md`."""

from .reference import page

print(page(), end="")
