"""Prints docs/instructions.md: `python -m tirx.targets.cuda.instructions > docs/instructions.md`."""

from . import coverage

print(coverage(), end="")
