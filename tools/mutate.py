"""Plants faults in a copy of the tree and says whether the tests notice.

    python tools/mutate.py                         # every list in tests/mutations
    python tools/mutate.py --python                # only faults in Python files: no compiler needed
    python tools/mutate.py tests/mutations/x.json  # some lists

A list is JSON: [{"file", "old", "new", "why", "tests": pytest arguments}, ...]. `old` occurs once in the file; `why`
says what breaks. A fault is caught when its tests fail, missed when they pass, and stale when `old` is gone. For
faults in C++ the copy in build/mutate is built once and again for every fault. Exit status 1 when anything
was not caught.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "mutations"
BUILD = "build/dev"
CPP = (".cc", ".h")


def load(files):
    """The faults of some lists."""
    return [{**m, "tests": _listed(m["tests"])} for f in files for m in json.loads(Path(f).read_text())]


def _listed(tests):
    return shlex.split(tests) if isinstance(tests, str) else tests


def is_cpp(mutant):
    return mutant["file"].endswith(CPP)


def built_library():
    """The library of the package that this interpreter imports."""
    own = Path(importlib.util.find_spec("tirx").origin).parent / "lib" / "libtirx.so"
    if own.exists():
        return own.resolve()
    files = importlib.metadata.files("tirx") or []  # an editable install keeps it elsewhere
    return next(Path(f.locate()) for f in files if f.name == "libtirx.so").resolve()


# An editable install answers `import tirx` before PYTHONPATH does. Every interpreter that starts in the copy, those that
# the tests start included, imports this first and lets its finder go.
SITE = """
import importlib.machinery as m, sys
sys.meta_path[:] = [f for f in sys.meta_path if f in (m.BuiltinImporter, m.FrozenImporter, m.PathFinder)]
"""


class Tree:
    """A copy of the files that git tracks. Without faults in C++ it uses the library of the original; with some it
    has its own build, as deep in the folder as build/dev so that ccache finds what it knows."""

    def __init__(self, path, build):
        self.path, self.build = Path(path), build
        self.env = {**os.environ, "PYTHONPATH": str(self.path / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        self._copy([n for n in names.decode().split("\0") if n and (ROOT / n).exists()])
        (self.path / "python" / "sitecustomize.py").write_text(SITE)
        library = self.path / "python" / "tirx" / "lib" / "libtirx.so"
        library.parent.mkdir(exist_ok=True)
        library.unlink(missing_ok=True)
        library.symlink_to(self.path / BUILD / "libtirx.so" if build else built_library())
        if build:
            self._run("cmake", "-S", ".", "-B", BUILD, "-G", "Ninja")
            self.compile()

    def _copy(self, names):
        """Files that are already there and equal keep their times, so that they are not compiled again."""
        for old in [
            p for folder in ("src", "include", "python", "tests") for p in (self.path / folder).rglob("*")
        ]:
            if old.is_file() and str(old.relative_to(self.path)) not in names:
                old.unlink()
        for name in names:
            new, text = self.path / name, (ROOT / name).read_bytes()
            new.parent.mkdir(parents=True, exist_ok=True)
            if not new.exists() or new.read_bytes() != text:
                new.write_bytes(text)

    def _run(self, *command):
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    def compile(self):
        self._run("ninja", "-j2", "-C", BUILD, "tirx")

    def compiles(self):
        try:
            self.compile()
        except RuntimeError:
            return False
        return True

    def imported(self):
        """The file of the package that the tests import."""
        command = [sys.executable, "-c", "import tirx; print(tirx.__file__)"]
        done = subprocess.run(command, cwd=self.path, env=self.env, capture_output=True, text=True)
        return Path(done.stdout.strip())

    def test(self, tests):
        """Whether the tests pass. Not to be collected at all is an error of the list, not a fault found."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command, cwd=self.path, env=self.env, capture_output=True, text=True, timeout=900
            )
        except subprocess.TimeoutExpired:
            return False
        if done.returncode not in (0, 1):
            raise RuntimeError(f"pytest {' '.join(tests)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.returncode == 0

    def outcome(self, mutant):
        """caught, missed or stale (also when what is planted does not compile)."""
        file = self.path / mutant["file"]
        text = file.read_text()
        if text.count(mutant["old"]) != 1:
            return "stale"
        try:
            file.write_text(text.replace(mutant["old"], mutant["new"]))
            if is_cpp(mutant) and not self.compiles():
                return "stale"
            return "missed" if self.test(mutant["tests"]) else "caught"
        finally:
            file.write_text(text)


def healthy(tree, mutants):
    """Without a fault every test of the lists passes; else nothing can be concluded."""
    tests = list(dict.fromkeys(t for m in mutants for t in m["tests"]))
    if tree.build:
        tree.compile()
    if (imported := tree.imported()) != tree.path / "python" / "tirx" / "__init__.py":
        raise RuntimeError(f"the tests would import {imported}")
    if not tree.test(tests):
        raise RuntimeError(f"the tests fail without a fault: pytest {' '.join(tests)}")


def run(mutants, report=print):
    """{outcome: [mutants]}; prints a line for each."""
    found, build = {"caught": [], "missed": [], "stale": []}, any(map(is_cpp, mutants))
    with tempfile.TemporaryDirectory(prefix="tirx-mutate-") as path:
        tree = Tree(ROOT / "build" / "mutate" if build else path, build)  # a build is kept for the next run
        healthy(tree, mutants)
        for m in sorted(mutants, key=lambda m: (is_cpp(m), m["file"])):
            start = time.time()
            outcome = tree.outcome(m)
            found[outcome].append(m)
            report(f"{outcome:7} {time.time() - start:5.1f} s  {m['file']}: {m['why']}")
    return found


def main():
    parser = argparse.ArgumentParser(description="Plants faults and says whether the tests notice.")
    parser.add_argument("lists", nargs="*", default=sorted(LISTS.glob("*.json")))
    parser.add_argument("--python", action="store_true", help="only faults in Python files")
    args = parser.parse_args()
    mutants = [m for m in load(args.lists) if not (args.python and is_cpp(m))]
    found = run(mutants)
    print(", ".join(f"{len(v)} {k}" for k, v in found.items()), f"of {len(mutants)}")
    return 1 if found["missed"] or found["stale"] else 0


if __name__ == "__main__":
    sys.exit(main())
