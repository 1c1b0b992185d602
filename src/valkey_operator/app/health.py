"""/metrics, /healthz and /readyz over plain HTTP, from a thread of their own, so that they answer while the event loop does not."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import REGISTRY, make_wsgi_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from socketserver import BaseServer
    from wsgiref.types import StartResponse, WSGIEnvironment

_PATIENCE = 5.0
"""Seconds in which a healthy event loop gets round to answer."""


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name in the base class
        """Probes are no news."""


class HealthServer:
    """Serves while `with` holds."""

    def __init__(self, port: int, *, loop: asyncio.AbstractEventLoop, ready: Callable[[], bool]) -> None:
        """`ready`: whether the operator does its work, or stands by for it."""
        self._loop = loop
        self._ready = ready
        self._metrics = make_wsgi_app(REGISTRY)
        self._server: BaseServer = make_server("", port, self._answer, server_class=WSGIServer, handler_class=_Quiet)
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        match environ.get("PATH_INFO"):
            case "/healthz":
                return _say(start, well=self._alive(), words="the event loop is stuck")
            case "/readyz":
                return _say(start, well=self._alive() and self._ready(), words="still listing what there is")
            case "/metrics":
                answer: Iterable[bytes] = self._metrics(environ, start)
                return answer
            case _:
                start("404 Not Found", [("Content-Type", "text/plain")])
                return [b"/healthz, /readyz and /metrics are here\n"]

    def _alive(self) -> bool:
        turn = asyncio.run_coroutine_threadsafe(_nothing(), self._loop)
        try:
            turn.result(_PATIENCE)
        except TimeoutError:
            turn.cancel()
            return False
        return True


async def _nothing() -> None:
    """A turn of the event loop."""


def _say(start: StartResponse, *, well: bool, words: str) -> list[bytes]:
    start("200 OK" if well else "503 Service Unavailable", [("Content-Type", "text/plain")])
    return [b"ok\n" if well else f"{words}\n".encode()]
