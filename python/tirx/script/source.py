"""From a Python function to the AST of its `def`, with one `ast.parse` and without tokenizing the file.

`inspect.getsource` tokenizes from the function's first line to its end and `inspect.stack` reads source
lines of every frame; both cost milliseconds. Here the block is found by indentation: the header ends at
the first `:` outside brackets, the body at the first line that is not deeper than the `def`. When that
guess does not parse (a string or a bracket continues at a smaller indentation), the whole file is parsed.
"""

from __future__ import annotations

import ast
import gc
import linecache
from contextlib import contextmanager

from ..errors import ScriptError


class Source:
    """A parsed `def`: its AST node and how AST lines map to file lines (file line = AST line + offset)."""

    __slots__ = ("file", "node", "offset", "many", "places")

    def __init__(self, file, node, offset):
        self.file, self.node, self.offset = file, node, offset
        self.many = None  # names bound more than once; filled in by scope.bound_many
        self.places = None  # names used as places; filled in by inline


@contextmanager
def paused_gc():
    """No garbage collection inside: trees and IR are all alive, and scanning them again and again is what
    makes the time of a long body grow faster than its length."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_CACHE: dict = {}
_CACHE_LIMIT = 512


def of_function(func) -> Source:
    """The Source of a Python function; remembered per code object."""
    code = func.__code__
    key = (code.co_filename, code)
    found = _CACHE.get(key)
    if found is None:
        if len(_CACHE) >= _CACHE_LIMIT:
            _CACHE.clear()
        found = _CACHE[key] = _read(func)
    return found


def of_text(text: str, file: str) -> list[Source]:
    """A Source for every top-level statement of `text`; the text becomes readable for error messages."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    return [Source(file, node, 0) for node in _parse(text, file, 0).body]


def _read(func) -> Source:
    code = func.__code__
    file, first = code.co_filename, code.co_firstlineno
    linecache.checkcache(file)
    lines = linecache.getlines(file, func.__globals__)
    if len(lines) < first:
        raise ScriptError(
            f"the source of {func.__name__} cannot be read",
            code="no-source",
            found=f"no text for {file}, line {first}",
            required="a function defined in a file (or in a notebook cell)",
            hint="for source text in a string, use tirx.script.from_source(text)",
        )
    block = _block(lines, first - 1)
    try:
        node = ast.parse("if 1:\n" + block if block[:1].isspace() else block).body[0]
        offset = first - (2 if block[:1].isspace() else 1)
        node = node.body[0] if isinstance(node, ast.If) else node
        if isinstance(node, ast.FunctionDef):
            return Source(file, node, offset)
    except SyntaxError:
        pass  # the block is longer than its indentation says
    except (RecursionError, MemoryError) as error:
        raise too_deep(block, file, first - 1) from error
    return _search(lines, file, func)


def _search(lines, file, func) -> Source:
    """The slow way: parse the file and look for the `def` that starts at the function's first line."""
    first = func.__code__.co_firstlineno
    for node in ast.walk(_parse("".join(lines), file, 0)):
        if isinstance(node, ast.FunctionDef):
            if min([node.lineno] + [d.lineno for d in node.decorator_list]) == first:
                return Source(file, node, 0)
    raise ScriptError(
        f"the source of {func.__name__} cannot be found",
        code="no-source",
        found=f"no `def` at line {first} of {file}",
        required="a function whose file has not changed since it was imported",
        hint="reload the module",
    )


def _parse(text, file, offset):
    try:
        return ast.parse(text)
    except SyntaxError as error:
        if "too many nested parentheses" in str(error.msg):
            raise too_deep(text, file, offset) from error
        line = (error.lineno or 1) + offset
        column = max(0, (error.offset or 1) - 1)
        raise ScriptError(
            f"the source is not valid Python: {error.msg}",
            code="syntax",
            span=(file, line, column),
        ) from None
    except (RecursionError, MemoryError) as error:
        raise too_deep(text, file, offset) from error


def _block(lines, start) -> str:
    """The text from the first decorator at index `start` to the end of the function's body."""
    i = start
    while not lines[i].lstrip().startswith(("def ", "async ")) and i + 1 < len(lines):
        i += 1
    indent = _indent(lines[i])
    i = _after_header(lines, i)
    while i < len(lines):
        text = lines[i].strip()
        if text and text[0] != "#" and _indent(lines[i]) <= indent:
            break
        i += 1
    return "".join(lines[start:i])


def _indent(line: str) -> int:
    body = line.lstrip()
    return len(line[: len(line) - len(body)].expandtabs())


def _after_header(lines, i) -> int:
    """Index of the line after the `:` that ends a `def` header starting at line i."""
    depth, quote = 0, ""
    while i < len(lines):
        for c in lines[i]:
            if quote:
                quote = "" if c == quote else quote
            elif c in "\"'":
                quote = c
            elif c == "#":
                break
            elif c in "([{":
                depth += 1
            elif c in ")]}":
                depth -= 1
            elif c == ":" and depth == 0:
                return i + 1
        i += 1
    return i


def too_deep(text, file, offset) -> ScriptError:
    """The error for source that Python's own parser cannot nest: names the depth and the line."""
    line, depth = _deepest(text)
    return ScriptError(
        "this expression is nested too deeply to be parsed",
        code="expression-too-deep",
        span=(file, line + offset, 0),
        found=f"an expression about {depth} levels deep",
        required="at most 1000 levels",
        hint="name intermediate values with `x: T.let = ...`, or accumulate into a scalar",
    )


def _deepest(text) -> tuple[int, int]:
    """(line, levels) of the logical line with most brackets and operators."""
    best, levels, depth, start = (1, 0), 0, 0, 1
    for number, line in enumerate(text.splitlines(), 1):
        opened = sum(map(line.count, "([{"))
        levels += opened + sum(map(line.count, "+-*/%&|^<>~")) + line.count(" not ") + line.count(" if ")
        depth += opened - sum(map(line.count, ")]}"))
        if depth <= 0:
            best = max(best, (start, levels), key=lambda pair: pair[1])
            levels, depth, start = 0, 0, number + 1
    return max(best, (start, levels), key=lambda pair: pair[1])
