"""uv, which fetches Python packages: the one that made the project's environment, wherever it is."""

import os
import shutil
from pathlib import Path

from sandbox.commands import attempt, run
from sandbox.errors import SandboxError
from sandbox.home import Home

IMAGE_PLATFORM = "x86_64-manylinux_2_28"


def program() -> str:
    """The path of a uv that works: named by $UV, brought by the Makefile, or on the PATH."""
    usual = Home.of({name: value for name, value in os.environ.items() if name != "VALKEY_SANDBOX_HOME"})
    brought = sorted(usual.path.parent.glob("uv-*/bin/uv"))
    for candidate in (os.environ.get("UV"), *map(str, reversed(brought)), shutil.which("uv")):
        if candidate and Path(candidate).exists() and attempt(candidate, "--version").returncode == 0:
            return candidate
    raise SandboxError("uv is needed to fetch Python packages for an image, and none was found: `make env` brings it")


def install(target: Path, *, requirements: str, python: str) -> None:
    """Put packages into `target` for an image's Python: wheels alone, each of a hash that the requirements name."""
    run(
        program(),
        *("pip", "install", "--quiet", "--no-config", "--no-deps", "--require-hashes", "--only-binary=:all:", "--target", target),
        *("--python-version", python, "--python-platform", IMAGE_PLATFORM, "--link-mode=copy", "--requirements", "-"),
        text=requirements,
    )


def resolve(project: Path, *, lock: Path, python: str) -> list[str]:
    """The names of all packages that a project needs at run time, by the versions in the lock."""
    said = run(
        program(),
        *("pip", "compile", "--quiet", "--no-config", "--no-header", "--no-annotate", "--no-emit-index-url", "--constraints", lock),
        *("--python-version", python, "--python-platform", IMAGE_PLATFORM, project),
    )
    return [line.partition("==")[0] for line in said.splitlines() if "==" in line]


def blocks(lock: str) -> dict[str, str]:
    """Each package of a lock file with its version and hashes, by name."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.splitlines(keepends=True):
        if line.startswith("#"):
            continue
        if not line[0].isspace():
            name = line.partition("==")[0]
        found[name] = found.get(name, "") + line
    return found
