"""Telling a person what is being done, how far it is and how long it took."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PROGRESS_PERIOD = 10.0  # seconds between lines of progress where a line cannot be overwritten
REDRAW_PERIOD = 0.2


class Steps:
    """Prints one line for each finished step, with the time it took; safe to use from several threads."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._next_progress = 0.0
        self._pending = ""  # progress that stands on the terminal's last line

    def say(self, text: str) -> None:
        """Print one line that stands beside the elapsed time."""
        with self._lock:
            self._print(text)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Print `what` and its duration once the body has succeeded; a failure is told by its own message."""
        began = time.monotonic()
        yield
        self.say(f"{what} ({time.monotonic() - began:.1f} s)")

    def progress(self, what: str, *, done: int, total: int) -> None:
        """Show a counted step: redrawn in place on a terminal, else one line every ten seconds."""
        with self._lock:
            now = time.monotonic()
            if now < self._next_progress:
                return
            text = f"{what}: {done} of {total}"
            if self._out.isatty():
                self._next_progress = now + REDRAW_PERIOD
                line = f"[{now - self._began:6.1f} s] {text}"
                self._out.write("\r" + line.ljust(len(self._pending)))
                self._out.flush()
                self._pending = line
            else:
                self._next_progress = now + PROGRESS_PERIOD
                self._print(text)

    def _print(self, text: str) -> None:
        line = f"[{time.monotonic() - self._began:6.1f} s] {text}"
        start = "\r" if self._pending else ""
        self._out.write(start + line.ljust(len(self._pending)) + "\n")
        self._out.flush()
        self._pending = ""
