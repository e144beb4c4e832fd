"""Every file is in a room, and rooms depend on each other only as ARCHITECTURE.md says.

The rule is data below; `violations(root)` reads a tree and returns sentences. The tests run it on this repository and on
copies in which a violation has been planted.
"""

import ast
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

# C++: what a room may include, besides itself.
_LAYERS = ["support", "expr", "arith", "layout", "ir", "scope"]
CPP = {room: set(_LAYERS[:i]) for i, room in enumerate(_LAYERS)}
CPP["verify"] = set(_LAYERS)
CPP["passes"] = set(_LAYERS)
CPP["codegen"] = {*_LAYERS, "verify", "passes"}
CPP["sim"] = {"support", "expr", "arith", "layout", "ir"}
CPP["runtime"] = {"support"}
CPP["bindings"] = {*CPP}

# Python: what a module or package of tirx may import, besides itself. "tirx" is the package's __init__.
_FACES = {"_ffi_api", "errors", "ir", "arith", "layout", "scope"}
PYTHON = {
    "_ffi_api": set(),
    "errors": set(),
    "ir": {"_ffi_api", "errors", "buffer"},
    "arith": {"_ffi_api", "errors", "ir"},
    "layout": {"_ffi_api", "errors", "ir"},
    "scope": {"_ffi_api", "errors", "ir", "arith"},
    "interop": {"errors", "ir", "layout"},
    "buffer": {"_ffi_api", "errors", "layout", "script"},
    "script": {*_FACES, "lang", "targets", "tile"},
    "lang": {*_FACES, "script"},
    "tile": {*_FACES, "pipeline", "targets"},
    "targets": {"_ffi_api", "errors"},
    "targets/cuda": {*_FACES, "targets", "tile"},
    "pipeline": {*_FACES, "targets", "tile"},
    "arguments": {"errors", "ir"},
    "_sim_args": {"errors", "ir", "sim"},
    "sim": {"_ffi_api", "errors", "ir", "_sim_args", "targets"},
    "executable": {"arguments", "errors", "ir", "pipeline", "sim", "targets", "targets/cuda", "tile"},
    "apps": {"arguments", "errors", "executable", "ir", "script", "tile"},
    "doctor": {"apps", "errors", "executable", "targets", "targets/cuda", "tirx"},
    "cli": {"apps", "doctor", "errors", "executable", "layout", "pipeline", "targets", "tile"},
    "tirx": {"errors", "executable", "ir", "targets", "tile"},
}
FOLDERS = {"src", "include", "python", "apps", "bench", "docs", "tests", "tools", ".ci"}


def cpp_room(path):
    """The room of a C++ file given relative to the root, or None."""
    parts = path.parts
    room = (
        parts[2]
        if parts[:2] == ("include", "tirx") and len(parts) > 3
        else parts[1]
        if parts[0] == "src"
        else None
    )
    return room if room in CPP else None


def python_room(dotted):
    """The room of a module name ("tirx.script.parser" -> "script")."""
    parts = dotted.split(".")
    if len(parts) < 2:
        return "tirx"
    if parts[1] == "targets" and len(parts) > 2 and parts[2] in ("cuda", "trn"):
        return f"targets/{parts[2]}"
    return parts[1]


def cpp_violations(root):
    for path in sorted([*root.glob("src/**/*"), *root.glob("include/**/*")]):
        if path.suffix not in (".cc", ".h"):
            continue
        where, text = path.relative_to(root), path.read_text()
        room = cpp_room(where)
        if room is None:
            yield f"{where} is in no room"
            continue
        for target in re.findall(r'#include [<"]tirx/(\w+)/', text):
            if target != room and target not in CPP[room]:
                yield f"{where}: {room} includes {target}"
        if room != "bindings" and re.search(
            r"\b(GlobalDef|ObjectDef)\b|TVM_FFI_STATIC_INIT_BLOCK|<Python\.h>", text
        ):
            yield f"{where}: only bindings meet Python"


def imports_of(path, module):
    """Full names of the tirx modules that a file imports, wherever in the file."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] == "tirx")
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            if name == "tirx":
                yield from (f"tirx.{a.name}" for a in node.names)
            elif name.split(".")[0] == "tirx":
                yield name


def python_violations(root):
    for path in sorted(root.glob("python/tirx/**/*.py")):
        module = ".".join(path.relative_to(root / "python").with_suffix("").parts).removesuffix(".__init__")
        room = python_room(module)
        if room not in PYTHON:
            yield f"{path.relative_to(root)} is in no room"
            continue
        for name in imports_of(path, module):
            target = python_room(name)
            known = target in PYTHON or target.startswith("__")
            if known and target != room and not target.startswith("__") and target not in PYTHON[room]:
                yield f"{path.relative_to(root)}: {room} imports {target}"


def violations(root):
    return [*cpp_violations(root), *python_violations(root)]


def test_the_repository_obeys():
    assert violations(ROOT) == []


def test_every_folder_is_known():
    found = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith((".", "build", "dist"))}
    assert found - {"__pycache__"} <= FOLDERS


@pytest.fixture
def copy(tmp_path):
    for folder in ("src", "include", "python"):
        ignore = shutil.ignore_patterns("lib", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
    return tmp_path


@pytest.mark.parametrize(
    "path, line, sentence",
    [
        ("src/arith/planted.cc", "#include <tirx/ir/stmt.h>", "arith includes ir"),
        ("include/tirx/layout/planted.h", "#include <tirx/scope/scope_ids.h>", "layout includes scope"),
        ("src/sim/machine/planted.cc", "#include <tirx/codegen/printer.h>", "sim includes codegen"),
        ("src/passes/planted.cc", "TVM_FFI_STATIC_INIT_BLOCK() {}", "only bindings meet Python"),
        ("src/elsewhere/planted.cc", "", "is in no room"),
        ("python/tirx/planted.py", "", "is in no room"),
        ("python/tirx/tile/planted.py", "from ..targets.cuda import arch", "tile imports targets/cuda"),
        ("python/tirx/ir.py", "from . import script", "ir imports script"),
        ("python/tirx/targets/cuda/planted.py", "import tirx.cli", "targets/cuda imports cli"),
    ],
)
def test_a_planted_violation_is_found(copy, path, line, sentence):
    file = copy / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "") + "\n" + line + "\n")
    found = violations(copy)
    assert len(found) == 1 and path in found[0] and sentence in found[0], found
