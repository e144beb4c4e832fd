"""What a kernel keeps in a list, a view, an attribute or a parameter is the value it had there, as in Python."""

import numpy as np
import pytest

import tirx
from tirx.errors import ScriptError
from tirx.script import from_source

HEAD = """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    T.device_entry()
    tx = T.thread_id([1])
    s: T.int32 = 3
"""


def run(body, a):
    text = HEAD + "".join(f"    {line}\n" for line in body)
    exe = tirx.compile(from_source(text), "cuda/sm_90a", mode="simulate")
    exe(a)
    return exe


# Each body also runs as Python: A is a list, s a number.
PYTHON = {
    "list": ["l = [s, s + 1]", "s = 10", "A[0] = l[0]", "A[1] = l[1]"],
    "tuple": ["t = (A[2], A[3] * 2)", "A[2] = 7", "A[3] = 9", "A[0] = t[0]", "A[1] = t[1]"],
    "comprehension": ["l = [A[i] + s for i in range(2)]", "A[0] = 50", "A[1] = l[0] + l[1]"],
    "dict": ['d = {"x": A[0] + 1}', "A[0] = 50", 'A[1] = d["x"]'],
    "nested": ["l = [(A[0], [A[1] + 1])]", "A[0] = 50", "A[1] = 60", "A[2] = l[0][0] + l[0][1][0]"],
    "unpacked": ["x, y = [A[0], A[1]]", "A[0] = 50", "A[1] = 60", "A[2] = x + y"],
    "chained": ["x = l = [A[0]]", "A[0] = 50", "A[2] = x[0] + l[0]"],
    "item": ["l = [0]", "l[0] = A[1] + 1", "A[1] = 50", "A[2] = l[0]"],
}


@pytest.mark.parametrize("name", PYTHON)
def test_displays_hold_values(name):
    start = [5, 6, 2, 4, 0, 0, 0, 0]
    a, expect = np.array(start, np.int32), list(start)
    exec("\n".join(PYTHON[name]), {"A": expect, "s": 3})
    run(PYTHON[name], a)
    assert a.tolist() == expect


INLINES = {
    "parameter": (["def g(x):", "    A[0] = 9", "    A[1] = x"], ["g(A[0])"]),
    "expression": (["def g(x):", "    A[0] = 9", "    A[1] = x"], ["g(A[0] + 1)"]),
    "result": (["def g(x):", "    return A[0] + x", "def h():", "    A[0] = 9", "    return 1"], ["A[1] = g(1) + h()"]),
    "twice": (["def g(x, y):", "    A[2] = x", "    A[3] = y"], ["g(A[3], A[2])"]),
    "sequence": (["def g(l):", "    A[0] = 9", "    A[1] = l[0] + l[1]"], ["g([A[0], A[0] * 2])"]),
}  # fmt: skip


@pytest.mark.parametrize("name", INLINES)
def test_parameters_and_results_hold_values(name):
    functions, body = INLINES[name]
    start = [5, 6, 2, 4, 0, 0, 0, 0]
    a, expect = np.array(start, np.int32), list(start)
    exec("\n".join([*functions, *body]), {"A": expect})
    marked = [part for line in functions for part in (["@T.inline"] if line[:3] == "def" else []) + [line]]
    run([*marked, *body], a)
    assert a.tolist() == expect


def test_a_scalar_that_is_passed_is_the_scalar():
    a = np.zeros(8, np.int32)
    run(["@T.inline", "def g(x):", "    x = x + 1", "g(s)", "A[0] = s"], a)
    assert a[0] == 4


def test_an_element_that_is_used_as_a_place_is_the_place():
    a = np.zeros(8, np.int32)
    body = ["@T.inline", "def g(x):", "    p: T.let = T.address_of(x)",
            '    v = T.decl_buffer((1,), "int32", data=p)', "    v[0] = 7", "g(A[2])"]  # fmt: skip
    run(body, a)
    assert a[2] == 7


def test_views_and_regions_stay_where_they_were_made():
    a = np.arange(8, dtype=np.int32)
    body = ["v = A.sub[s : s + 2]", 'r = T.alloc_local((2,), "int32")', "part = A[s : s + 2]", "s = 0",
            "A[0] = v[1]", "Tx.copy(r[:], part)", "A[1] = r[0]"]  # fmt: skip
    run(body, a)
    assert a[:2].tolist() == [4, 3]


KEPT = {
    "append": ["l = []", "l.append(A[1])", "l.extend([A[2] * 2])", "A[1] = 50", "A[2] = 60", "A[0] = l[0] + l[1]"],
    "insert": ["l = [1]", "l.insert(0, A[1])", "A[1] = 50", "A[0] = l[0]"],
    "plus": ["l = [A[1]] + [A[2]]", "l += [A[3]]", "A[1] = A[2] = A[3] = 9", "A[0] = l[0] + 2 * l[1] + 3 * l[2]"],
    "dict()": ["d = dict(a=A[1])", "d.update(b=A[2])", "A[1] = A[2] = 9", 'A[0] = d["a"] * d["b"]'],
    "zip": ["l = list(zip([A[1]], (A[2],)))", "A[1] = A[2] = 9", "A[0] = l[0][0] - l[0][1]"],
    "helper": ["t = pair(A[1])", "A[1] = 50", "A[0] = t[0] * t[1]"],
    "object": ["b = Bag()", "b.put(A[1])", "A[1] = 50", "A[0] = b.x"],
    "constructor": ["b = Bag(A[1])", "A[1] = 50", "A[0] = b.x"],
}  # fmt: skip


class Bag:
    def __init__(self, x=0):
        self.x = x

    def put(self, x):
        self.x = x


def pair(x):
    return x, x + 1


@pytest.mark.parametrize("name", KEPT)
def test_functions_of_python_are_given_values(name):
    names = {"pair": pair, "Bag": Bag}
    start = [5, 6, 2, 4, 0, 0, 0, 0]
    a, expect = np.array(start, np.int32), list(start)
    exec("\n".join(KEPT[name]), {"A": expect, **names})
    text = HEAD + "".join(f"    {line}\n" for line in KEPT[name])
    tirx.compile(from_source(text, names=names), "cuda/sm_90a", mode="simulate")(a)
    assert a.tolist() == expect


@pytest.mark.parametrize("change", ["l.append(A[1])", "l.pop()", "d.update(a=1)", 'd.pop("a")', "l[0] = 1"])
@pytest.mark.parametrize("block", ["if A[0] > 3:", "for i in range(4):"])
def test_containers_do_not_change_at_run_time(block, change):
    with pytest.raises(ScriptError) as e:
        run(["l = [1]", 'd = {"a": 0}', block, f"    {change}"], np.zeros(8, np.int32))
    assert e.value.code == "python-state-in-block" and change in str(e.value)


def test_a_container_of_the_block_is_its_own():
    a = np.array([5, 1, 2, 3, 0, 0, 0, 0], np.int32)
    body = ["for i in range(3):", "    l = []", "    l.append(A[i + 1])", "    with T.thread():", "        l.append(i)",
            "    l[1] = l[1] + 1", "    A[i + 4] = l[0] * 10 + l[1]"]  # fmt: skip
    run(body, a)
    assert a[4:7].tolist() == [11, 22, 33]


def test_numpy_scalars_are_constants():
    a = np.zeros(8, np.int32)
    text = HEAD + "    A[0] = k\n    A[1] = A[0] + int(k)\n"
    tirx.compile(from_source(text, names={"k": np.int64(3)}), "cuda/sm_90a", mode="simulate")(a)
    assert a[:2].tolist() == [3, 6]


def test_displays_in_an_inline_function_that_is_an_argument():
    a = np.array([5, 6, 2, 4, 0, 0, 0, 0], np.int32)
    body = [
        "@T.inline",
        "def g(x):",
        "    l = [A[0]]",
        "    A[0] = 50",
        "    return l[0] + x",
        "A[2] = T.max(g(1), 0)",
    ]
    run(body, a)
    assert a[2] == 6


def test_calls_are_looked_into():
    a = np.array([5, 6, 2, 4, 0, 0, 0, 0], np.int32)
    run(
        [
            "l = [T.max(T.min(A[0], 7), A[1]), T.popcount(A[1])]",
            "A[0] = A[1] = 55",
            "A[2] = l[0] * 10 + l[1]",
        ],
        a,
    )
    assert a[2] == 62
