"""`tirx layout ... --serve`: the page on this machine, and the tables of whatever is typed into it.

Only the loopback address is bound, and only requests that name it are answered, so that no web page of another
host can read from here.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from ...errors import LayoutError
from .document import document
from .html import check_size, page_of


def make_server(view, port=0) -> ThreadingHTTPServer:
    """A server for the page of `view` on 127.0.0.1; port 0 takes a free one (`server_address` says which)."""
    check_size(view)
    handler = type("Handler", (_Handler,), {"first": document(view)})
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as e:
        raise LayoutError("the port cannot be used", code="bad-port", found=f"{port}: {e}",
                          required="a free port, or 0 for any") from None  # fmt: skip


def serve(view, port=0) -> int:
    """Serves until interrupted."""
    with make_server(view, port) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}/  (Ctrl-C ends)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
    return 0


def answer(query) -> dict:
    """{"document": tables} of what was typed, or {"error": the package's text}."""
    from .command import view_of

    asked = {k: v[-1] for k, v in query.items()}
    fields = {k: asked.get(k) or None for k in ("layout", "shape", "dtype", "swizzle", "access")}
    try:
        view = view_of(**fields)
        check_size(view)
        return {"document": document(view)}
    except LayoutError as e:
        return {"error": str(e), "code": e.code}


class _Handler(BaseHTTPRequestHandler):
    first: dict = {}

    def do_GET(self):  # noqa: N802  (http.server's name)
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        url = urlsplit(self.path)
        if host not in ("127.0.0.1", "localhost"):
            self._send(403, "text/plain", "this page is for this machine only")
        elif url.path == "/":
            self._send(200, "text/html", page_of([self.first], served=True))
        elif url.path == "/tables":
            self._send(200, "application/json", json.dumps(answer(parse_qs(url.query))))
        else:
            self._send(404, "text/plain", "no such page")

    def _send(self, status, kind, text):
        body = text.encode()
        self.send_response(status)
        for name, value in (("Content-Type", f"{kind}; charset=utf-8"), ("Content-Length", str(len(body))),
                            ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Quiet: the terminal belongs to the user."""
