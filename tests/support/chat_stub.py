"""A language model on this machine that speaks the chat completions of OpenAI, and does no more."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]


def completion(text: Any, finished: str = "stop") -> Answer:
    """A well-formed answer."""
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finished}
    return 200, {}, json.dumps({"choices": [choice]}).encode()


class Stub:
    """What was asked, and where.

    Attributes:
      endpoint: base URL.
      bodies: every request's body, as it came.
      headers: every request's headers.
      paths: every request's path.
    """

    def __init__(self, endpoint: str):
        self.endpoint = endpoint
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []

    @property
    def texts(self) -> list[str]:
        """The users' messages."""
        return [json.loads(body)["messages"][-1]["content"] for body in self.bodies]


def rewritten(text: str) -> str:
    """What a stub makes of a text unless it is told otherwise."""
    return f"Rewritten: {text.strip()}"


@contextmanager
def serve(answer: Callable[[str], Answer] | None = None) -> Iterator[Stub]:
    """Answers each text by ``answer`` until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            stub.bodies.append(body)
            stub.headers.append(dict(self.headers))
            stub.paths.append(self.path)
            text = json.loads(body)["messages"][-1]["content"]
            status, headers, content = answer(text) if answer else completion(rewritten(text))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub = Stub(f"http://127.0.0.1:{server.server_port}/v1")
    # It looks for the end of the block that often, in seconds; by default every half.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
