"""Integer facts about expressions: simplification, bounds, divisibility, proofs.

The face of include/tirx/arith/analyzer.h, where the soundness contract is stated.
"""

from __future__ import annotations

from contextlib import contextmanager

from tvm_ffi import Object, register_object

from . import _ffi_api as _api

NEG_INF, POS_INF = -(2**63), 2**63 - 1


@register_object("tx.Analyzer")
class Analyzer(Object):
    """Facts about variables, and questions answered from them."""

    def __init__(self):
        self.__init_handle_by_constructor__(_api.Analyzer)

    def bind(self, var, min, extent):
        """min <= var < min + extent (both may be expressions)."""
        _api.analyzer_bind(self, var, min, extent)

    def bind_value(self, var, value):
        """var == value: var gets the facts of value, and proofs may look through it."""
        _api.analyzer_bind_value(self, var, value)

    def bind_modular(self, var, factor, residue=0):
        """var is a multiple of `factor` (a positive int) plus `residue`."""
        _api.analyzer_bind_modular(self, var, factor, residue)

    def enter(self, condition) -> int:
        """Assume `condition` until exit(token); scopes nest."""
        return _api.analyzer_enter(self, condition)

    def exit(self, token):
        """Forget what was assumed since enter() returned `token`."""
        _api.analyzer_exit(self, token)

    @contextmanager
    def constraint(self, condition):
        """`with analyzer.constraint(i < n): ...`"""
        token = self.enter(condition)
        try:
            yield self
        finally:
            self.exit(token)

    def simplify(self, expr):
        """An equal expression in canonical form; `expr` itself when it already is."""
        return _api.analyzer_simplify(self, expr)

    def bound(self, expr):
        """(min, max), both inclusive; NEG_INF and POS_INF when not known."""
        return tuple(_api.analyzer_bound(self, expr))

    def modular(self, expr):
        """(coeff, base): expr == coeff * k + base; coeff 0 says that expr is the constant base."""
        return tuple(_api.analyzer_modular(self, expr))

    def divisor(self, expr) -> int:
        """Largest known g that divides expr (0: expr is always 0)."""
        return _api.analyzer_divisor(self, expr)

    def can_prove(self, condition) -> bool:
        """True when `condition` holds for every admitted assignment."""
        return _api.analyzer_can_prove(self, condition)

    def can_prove_equal(self, a, b) -> bool:
        """True when a == b for every admitted assignment."""
        return _api.analyzer_can_prove_equal(self, a, b)


def simplify(expr):
    """`expr` simplified with no facts about its variables."""
    return Analyzer().simplify(expr)
