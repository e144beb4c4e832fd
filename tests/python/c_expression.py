"""Evaluates C integer expressions with C's precedence, for checking printed text without a C compiler.

Covers names, integer literals, casts to int and bool, + - * / % << >> & | ^ comparisons && || ?: ! ~, and the
calls min, max, floordiv, floormod. Integers are unbounded.
"""

import re

_TOKEN = re.compile(r"\s*(\d+|\w+|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>&|^?:!~(),])")
_BINARY = [
    ["||"],
    ["&&"],
    ["|"],
    ["^"],
    ["&"],
    ["==", "!="],
    ["<", "<=", ">", ">="],
    ["<<", ">>"],
    ["+", "-"],
    ["*", "/", "%"],
]


def _trunc_div(a, b):
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


_APPLY = {
    "||": lambda a, b: int(bool(a or b)),
    "&&": lambda a, b: int(bool(a and b)),
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _trunc_div,
    "%": lambda a, b: a - b * _trunc_div(a, b),
}
_CALLS = {"min": min, "max": max, "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b}


class _Parser:
    def __init__(self, text, env):
        self.tokens, self.env = _TOKEN.findall(text), env
        assert "".join(self.tokens) == re.sub(r"\s", "", text), f"not in the subset: {text}"

    def take(self, expected=None):
        token = self.tokens.pop(0)
        assert expected in (None, token), (expected, token)
        return token

    def peek(self, ahead=0):
        return self.tokens[ahead] if ahead < len(self.tokens) else ""

    def ternary(self):
        cond = self.binary(0)
        if self.peek() != "?":
            return cond
        self.take("?")
        yes = self.ternary()
        self.take(":")
        no = self.ternary()
        return yes if cond else no

    def binary(self, level):
        if level == len(_BINARY):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in _BINARY[level]:
            op = self.take()
            value = _APPLY[op](value, self.binary(level + 1))
        return value

    def unary(self):
        if self.peek() in ("-", "!", "~"):
            op, value = self.take(), self.unary()
            return {"-": -value, "!": int(not value), "~": ~value}[op]
        if self.peek() == "(" and self.peek(1) in ("int", "bool") and self.peek(2) == ")":
            for _ in range(3):
                self.take()
            return int(self.unary())
        return self.primary()

    def primary(self):
        token = self.take()
        if token == "(":
            value = self.ternary()
            self.take(")")
            return value
        if token.isdigit():
            return int(token)
        if self.peek() != "(":
            return self.env[token]
        self.take("(")
        args = [self.ternary()]
        while self.peek() == ",":
            self.take()
            args.append(self.ternary())
        self.take(")")
        return _CALLS[token](*args)


def evaluate(text: str, env: dict) -> int:
    """The value of a C expression with the names in `env`."""
    parser = _Parser(text, {"true": 1, "false": 0, **env})
    value = parser.ternary()
    assert not parser.tokens, parser.tokens
    return value
