"""Running programs to their end."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sandbox.errors import SandboxError

SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


def system_environment(**more: str) -> dict[str, str]:
    """The caller's environment in which the system's own programs are found first."""
    return {**os.environ, "PATH": f"{SYSTEM_PATH}:{os.environ.get('PATH', '')}", **more}


def run(*command: str | Path, text: str | None = None, cwd: Path | None = None) -> str:
    """What the command printed; raises SandboxError with its complaint when it fails or is not there."""
    result = attempt(*command, text=text, cwd=cwd)
    if result.returncode != 0:
        complaint = (result.stderr.strip() or result.stdout.strip()) or f"exit status {result.returncode}"
        raise SandboxError(f"`{_shown(command)}` failed: {complaint}")
    return result.stdout


def attempt(*command: str | Path, text: str | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The result of the command whether it succeeds or not; raises SandboxError only when it is not there."""
    try:
        return subprocess.run(  # noqa: PLW1510 -- the caller judges
            command, input=text, cwd=cwd, env=system_environment(), capture_output=True, text=True
        )
    except FileNotFoundError as error:
        raise SandboxError(f"`{command[0]}` is not installed") from error


def _shown(command: Sequence[str | Path]) -> str:
    return " ".join(str(word) for word in command)
