"""The client in Go, built once for each version of its sources with the Go that builds the sandbox's Kubernetes."""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox import build
from sandbox.home import Home

SOURCES = Path(__file__).parent / "outside" / "go"


def program() -> Path:
    """The path of the program."""
    home = Home.of(os.environ)
    place = home.path / "test-clients" / build.key(SOURCES) / "valkey-go"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, however many build it at once.
        with TemporaryDirectory(dir=place.parent) as scratch:
            made = Path(scratch) / place.name
            build_in(SOURCES, made)
            made.rename(place)
    return place


def build_in(sources: Path, made: Path) -> None:
    """Compile the program of a directory with a go.mod."""
    command = [build.compiler(sources, what="the client in Go"), "build", "-trimpath", "-ldflags", "-s -w", "-o", str(made), "."]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"`go build` failed: {done.stderr}"
