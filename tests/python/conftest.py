"""Shared by all tests: verification between passes is on, and golden files have one update flag."""

import os
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
GOLDENS = _HERE / "goldens"

os.environ.setdefault("TIRX_VERIFY", "1")
os.environ.setdefault("TIRX_CACHE_DIR", str(_HERE.parent.parent / ".pytest_cache" / "tirx"))


def pytest_addoption(parser):
    parser.addoption("--update-goldens", action="store_true", help="write golden files instead of comparing")


@pytest.fixture
def golden(request):
    """golden(name, text): `text` equals tests/python/goldens/<name>, or becomes it under --update-goldens."""

    def check(name: str, text: str) -> None:
        path = GOLDENS / name
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"no golden file {path}: run pytest --update-goldens"
        assert text == path.read_text(), f"differs from {path}; pytest --update-goldens accepts the new text"

    return check
