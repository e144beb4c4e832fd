"""Assembled kernels on disk, shared by processes.

A key is the SHA-256 of what determines the result and of nothing else, so a touched file or another process
finds the same entry, and another architecture or compiler never does. An entry appears under its name in one
rename, after it is complete: a reader sees all of it or nothing, whatever happens to the writer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

_FORMAT = "tirx-cubin-1"
_ABANDONED = 3600.0  # seconds after which an unfinished file belongs to a writer that died


def default_directory() -> Path | None:
    """$TIRX_CACHE_DIR, else tirx/ in the user's cache directory; None (no cache) when the variable is ""."""
    chosen = os.environ.get("TIRX_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tirx"


def key_of(source: str, arch: str, options, compiler: str) -> str:
    """Hexadecimal key of one assembly: exact architecture ("sm_90a"), options in order, compiler version."""
    digest = hashlib.sha256()
    for part in (_FORMAT, compiler, arch, str(len(options)), *options, source):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


class CubinCache:
    """Entries are (image, log) pairs. A directory that cannot be written makes every lookup a miss."""

    def __init__(self, directory):
        self.directory = None if directory is None else Path(directory)

    def path(self, key: str) -> Path:
        return self.directory / key[:2] / (key + ".cubin")

    def get(self, key: str):
        """(image, log) or None. A damaged entry is a miss."""
        if self.directory is None:
            return None
        try:
            head, image = self.path(key).read_bytes().split(b"\n", 1)
            fields = json.loads(head)
        except (OSError, ValueError):
            return None
        whole = isinstance(fields, dict) and fields.get("sha256") == hashlib.sha256(image).hexdigest()
        return (image, fields["log"]) if whole else None

    def put(self, key: str, image: bytes, log: str) -> None:
        """Publish an entry. Failing to write is not an error: the next process assembles again."""
        if self.directory is None:
            return
        head = json.dumps({"sha256": hashlib.sha256(image).hexdigest(), "log": log}).encode()
        path = self.path(key)
        unfinished = path.with_name(f"{key}.{os.getpid()}.{time.monotonic_ns()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(head + b"\n" + image)
            os.replace(unfinished, path)
            _remove_abandoned(path.parent)
        except OSError:
            with contextlib.suppress(OSError):
                unfinished.unlink()


def _remove_abandoned(directory: Path) -> None:
    """Delete unfinished files of writers that died."""
    limit = time.time() - _ABANDONED
    for path in directory.glob("*.tmp"):
        try:
            if path.stat().st_mtime < limit:
                path.unlink()
        except OSError:
            continue
