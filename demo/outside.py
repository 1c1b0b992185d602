"""Runs the client outside and reads what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo.kubernetes import DemoError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType
    from typing import Self

CHECKOUT = Path(__file__).parents[1]


class Outside:
    """One run of `demo.client` with an order; to be used by `with`, so that it never outlives its user."""

    def __init__(self, enter: Sequence[str], order: Mapping[str, Any]) -> None:
        """`enter`: the words that put a command outside."""
        self._process = subprocess.Popen(
            [*enter, sys.executable, "-m", "demo.client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=CHECKOUT,  # where the client is found as a module
        )
        self._write(json.dumps(order) + "\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                stream.close()

    def events(self) -> Iterator[dict[str, Any]]:
        """What the client tells, as it tells it; DemoError when it fails."""
        for line in self._process.stdout or ():
            yield json.loads(line)
        if self._process.wait() != 0:
            complaint = (self._process.stderr.read() if self._process.stderr else "").strip()
            raise DemoError(f"the client outside failed: {complaint.splitlines()[-1] if complaint else 'without a word'}")

    def until(self, event: str) -> dict[str, Any]:
        """The next event of that name."""
        for told in self.events():
            if told["event"] == event:
                return told
        raise DemoError(f"the client outside ended before it told `{event}`")

    def stop(self) -> None:
        """Ask an endless client to finish; what it tells last is still to be read."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    def _write(self, text: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(text)
            self._process.stdin.flush()


def once(enter: Sequence[str], order: Mapping[str, Any]) -> dict[str, Any]:
    """The only thing that a client tells which does one thing."""
    with Outside(enter, order) as client:
        told = next(client.events(), None)
    if told is None:
        raise DemoError("the client outside said nothing")
    return told
