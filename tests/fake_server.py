"""A small server on this machine, for tests of endpoints."""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

local = pytest.mark.allow_hosts(["127.0.0.1"])
Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """An endpoint with scripted answers; it records its requests."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.answers: list[Answer] = []
        self.over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(
                    (
                        {name.lower(): value for name, value in self.headers.items()},
                        body | {"path": self.path},
                    )
                )
                outer.answers[min(len(outer.asked), len(outer.answers)) - 1](self)

            def log_message(self, *words: Any) -> None:
                """Nothing is to be seen of it."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def hangs(self, handler: BaseHTTPRequestHandler) -> None:
        self.over.wait(60)

    def drips(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not self.over.wait(0.05):
            handler.wfile.write(b" ")

    def floods(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not self.over.is_set():
            handler.wfile.write(b" " * 65536)

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def sends(data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def completion(text: Any, finish_reason: str = "stop", **more: Any) -> Answer:
    choice = {
        "index": 0,
        "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": text},
    }
    return sends(
        json.dumps({"id": "1", "object": "chat.completion", "choices": [choice], **more}).encode()
    )


def breaks_off(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices"')


def redirects(location: str, status: int = 307) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", location)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer
