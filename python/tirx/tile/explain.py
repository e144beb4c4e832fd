"""explain(): how each tile call of a function is lowered on a target, and why."""

from __future__ import annotations

from .record import Report, recording


def explain(func, target) -> Report:
    """Lower `func` for `target` and report each dispatch decision.

    The report has `.text()`, `.json()` and `.decisions`: the chosen variant, instruction and count, the
    argument that every element is covered, and each rejected variant with its reason and source line.
    Raises what lowering raises.
    """
    from ..pipeline import lower

    with recording() as decisions:
        lower(func, target)
    return Report(str(func.name), str(target), decisions)
