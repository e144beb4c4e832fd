"""The Python examples of README.md and of these pages run, block after block of one page in one namespace."""

import linecache
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("page", ["README.md", "docs/simulator.md", "docs/scopes.md"])
def test_examples_run(page, capsys):
    text = (ROOT / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert blocks
    space = {"__name__": "__page__"}
    for n, block in enumerate(blocks):
        name = f"<{page} block {n}>"
        linecache.cache[name] = (len(block), None, block.splitlines(True), name)
        exec(compile(block, name, "exec"), space)
    assert capsys.readouterr().out
