"""Finding a function's source: decorators, long signatures, nesting, odd indentation, no source."""

import linecache

import pytest

from tirx import errors, ir
from tirx.script import T, from_source, source

LINES = open(__file__).read().splitlines()


def line_of(text):
    return next(i for i, line in enumerate(LINES, 1) if text in line and "line_of" not in line)


def deco(**_):
    return lambda f: f


def test_multi_line_signature_and_decorators():
    @T.prim_func(
        private=True,
    )
    def f(
        A: T.Buffer(
            (8,),
            "int32",  # a : comment )
        ),
        n: T.int32,
    ) -> None:
        A[0] = n  # the store

    assert f.body.span.line == line_of("# the store")


def test_text_at_a_smaller_indentation():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        """A docstring
        that continues at column 0.
        """
        A[0] = n + 1
        A[1] = n  # after the odd line

    assert f.body.seq[1].span.line == line_of("# after the odd line")
    assert f.body.seq[1].span.column == 8


def test_comments_and_blank_lines_inside():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        A[0] = 1

        # a comment at column 0
        A[1] = 2  # still inside

    assert len(f.body.seq) == 2


def test_a_one_line_body():
    # fmt: off
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")): A[0] = 1
    # fmt: on

    assert isinstance(f.body, ir.BufferStore)


def test_source_in_linecache():
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n    A[0] = 7\n"
    linecache.cache["<made>"] = (len(text), None, text.splitlines(True), "<made>")
    scope = {"T": T}
    exec(compile(text, "<made>", "exec"), scope)
    assert scope["f"].body.value.value == 7 and scope["f"].body.span.file == "<made>"


def test_no_source():
    scope = {"T": T}
    with pytest.raises(errors.ScriptError) as e:
        exec(compile("@T.prim_func\ndef f(n: T.int32):\n    pass\n", "<nowhere>", "exec"), scope)
    assert e.value.code == "no-source" and "from_source" in e.value.hint


def test_source_that_changed_on_disk(tmp_path):
    path = tmp_path / "gone.py"
    text = "\n\n\n@T.prim_func\ndef f(n: T.int32):\n    pass\n"
    path.write_text("# shorter\nx = 1\ny = 2\nz = 3\nw = 4\n")
    with pytest.raises(errors.ScriptError) as e:
        exec(compile(text, str(path), "exec"), {"T": T})
    assert e.value.code == "no-source" and "reload" in e.value.hint


def test_not_a_function():
    with pytest.raises(errors.ScriptError, match="decorates a function"):
        T.prim_func(3)


def test_one_parse_per_function(monkeypatch):
    count = []
    parse = source.ast.parse
    monkeypatch.setattr(source.ast, "parse", lambda *a, **k: count.append(1) or parse(*a, **k))

    def make(value):
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            A[0] = value

        return f

    assert not ir.structural_equal(make(1), make(2))
    assert len(count) == 1


def test_long_bodies():
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32'), n: T.int32):\n" + "    A[0] = A[1] + n\n" * 3000
    assert len(from_source(text).body.seq) == 3000


@pytest.mark.slow
def test_fifty_thousand_statements():
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32'), n: T.int32):\n" + "    A[0] = A[1] + n\n" * 50000
    assert len(from_source(text).body.seq) == 50000


@pytest.mark.parametrize("levels", [990, 1500, 100_000])
@pytest.mark.parametrize("form", ["n{chain} + n{chain}", "{parens}", "{nots}", "{ifs}"])
def test_deep_expressions_are_refused_with_their_depth(form, levels):
    chain = " + n" * levels
    filled = form.replace("{chain}", chain).replace("{parens}", "(" * levels + "n" + ")" * levels)
    filled = filled.replace("{nots}", "not " * levels + "n").replace("{ifs}", "1 if p else " * levels + "2")
    text = f"@T.prim_func\ndef f(A: T.Buffer((8,), 'int32'), n: T.int32, p: T.bool):\n    A[0] = {filled}\n"
    with pytest.raises(errors.TirxError) as e:
        from_source(text)
    assert e.value.code == "expression-too-deep"
    depth = int("".join(c for c in e.value.found if c.isdigit()))
    assert depth >= 900 and e.value.location.line == 3


def test_expressions_of_legal_depth():
    text = "@T.prim_func\ndef f(A: T.Buffer((8,), 'int32'), n: T.int32):\n    A[0] = n" + " + n" * 900 + "\n"
    assert from_source(text).body.value.depth == 901


def test_deep_expressions_built_in_python():
    with pytest.raises(errors.TirxError) as e:

        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            x = T.meta_var(n)
            for _ in [0] * 2000:
                x = T.meta_var(x + n)

    assert e.value.code == "expression-too-deep" and "1001" in e.value.found


def test_deep_statements():
    text = "@T.prim_func\ndef f(n: T.int32):\n"
    for level in range(90):
        text += "    " * (level + 1) + f"if n < {level}:\n"
    assert from_source(text + "    " * 91 + "pass\n").body.depth == 91
    chain = "    if n == 0:\n        pass\n" + "".join(
        f"    elif n == {i}:\n        pass\n" for i in range(1, 400)
    )
    with pytest.raises(errors.TirxError) as e:
        from_source("@T.prim_func\ndef f(n: T.int32):\n" + chain)
    assert e.value.code in ("statements-too-deep", "expression-too-deep")
