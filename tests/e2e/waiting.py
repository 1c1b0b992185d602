"""Waits for what cannot be watched: what servers and processes say."""

import time


def eventually(check, *, what, timeout=20.0, pause=0.1):
    """What `check` says once it is true."""
    deadline = time.monotonic() + timeout
    while not (found := check()):
        assert time.monotonic() < deadline, f"waited {timeout:g} s in vain: {what}"
        time.sleep(pause)
    return found
