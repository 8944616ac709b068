"""Cloud Storage for tests: an emulator, and a front before it that keeps preconditions and fails.

The emulator (gcp-storage-emulator) ignores ``ifGenerationMatch``, which is what makes a write
happen once. The front checks it: one request that writes is let through at a time, and only if the
object has the generation that was asked for. It can also fail on purpose.
"""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

BUCKET = "corpora"


class Front(ThreadingHTTPServer):
    """The server.

    Attributes:
      unavailable: how many of the next requests are answered with 503.
      lost: how many of the next writes are carried out, and then the connection dropped.
      dropped: how many of the next writes are dropped before anything is done.
      read_only: whether writes are refused with 403.
      token: what requests must carry, or they are refused with 401; None for nothing.
      writes: paths that were written, in order.
    """

    daemon_threads = True

    def __init__(self, emulator: tuple[str, int]):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.emulator = emulator
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        self.unavailable = self.lost = self.dropped = 0
        self.read_only = False
        self.token: str | None = None
        self.writes: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._chunks()
        front, writes = self.server, self.command in ("POST", "PUT", "PATCH", "DELETE")
        if front.unavailable > 0:
            front.unavailable -= 1
            return self._answer(503, {}, b'{"error": {"code": 503, "message": "try later"}}')
        if front.token and self.headers.get("Authorization") != f"Bearer {front.token}":
            return self._answer(401, {}, b'{"error": {"code": 401, "message": "who are you?"}}')
        if not writes or "/batch/" in self.path:
            return self._answer(*self._forward(body))
        if front.read_only:
            return self._answer(403, {}, b'{"error": {"code": 403, "message": "forbidden"}}')
        with front.lock:
            if front.dropped > 0:
                front.dropped -= 1
                return self._hang_up()
            if not self._generation_matches(body):
                return self._answer(412, {}, b'{"error": {"code": 412, "message": "precondition"}}')
            answer = self._forward(body)
            front.writes.append(self.path)
            if front.lost > 0:
                front.lost -= 1
                return self._hang_up()
        return self._answer(*answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _handle  # noqa: N815

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _generation_matches(self, body: bytes) -> bool:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        wanted = query.get("ifGenerationMatch")
        if not wanted:
            return True
        name = query.get("name", [""])[0]
        if not name and b'"name"' in body:  # a multipart upload names its object in its first part
            start = body.index(b"{")
            name = json.JSONDecoder().raw_decode(body[start:].decode("utf-8", "replace"))[0]["name"]
        if not name:
            name = unquote(parts.path.rpartition("/o/")[2])
        bucket = parts.path.split("/b/")[1].split("/")[0]
        status, _, found = self._ask("GET", f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}")
        generation = json.loads(found)["generation"] if status == 200 else "0"
        return bool(generation == wanted[0])

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        kept = {k: v for k, v in self.headers.items() if k.lower() != "transfer-encoding"}
        return self._ask(self.command, self.path, body, {**kept, "Content-Length": str(len(body))})

    def _ask(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(*self.server.emulator, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        length = headers.get("Content-Length") if self.command == "HEAD" else None
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                self.send_header(name, value)
        self.send_header("Content-Length", length or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def running() -> Iterator[Front]:
    """The emulator and the front, with the bucket BUCKET, for as long as the block runs."""
    from gcp_storage_emulator.server import create_server

    emulator = create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
    emulator.start()
    address = emulator._api._httpd.socket.getsockname()
    front = Front((address[0], address[1]))
    threading.Thread(target=front.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield front
    finally:
        front.shutdown()
        front.server_close()
        emulator.stop()
