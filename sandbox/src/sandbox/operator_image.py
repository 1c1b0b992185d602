"""The operator's own image, made from the project's wheel without any container engine.

Three layers: Python from Debian, what the operator depends on (as locked), and the operator. Each is made again only when what it
is made from has changed, so that a change of the code costs about a second.
"""

import hashlib
import re
import shutil
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from sandbox import archive, debian, packages, uv
from sandbox.archive import Image, Layer
from sandbox.commands import run
from sandbox.home import CHECKOUT, Home
from sandbox.steps import Steps

NAME = "valkey-operator:dev"
PACKAGES = ("python3", "libc6")
RECIPE = 1  # counts up when the making changes, so that kept layers are made again
USER = "65532:65532"
SITE = "usr/lib/python3/dist-packages"  # where Debian's Python looks by itself
PROGRAM = """\
#!/usr/bin/python3
from valkey_operator.cli.main import main

main()
"""


def operator(home: Home, *, steps: Steps) -> Image:
    """The operator's image, as the checkout is now."""
    lock, project = CHECKOUT / "requirements.lock", CHECKOUT / "pyproject.toml"
    wanted = tomllib.loads(project.read_text())["project"]["dependencies"]
    code = sorted(path for path in (CHECKOUT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    base_key = key(text=f"{RECIPE} {debian.SUITE} {PACKAGES}")
    dependencies_key = key([lock], text=f"{base_key} {wanted}")
    code_key = key([*code, project, CHECKOUT / "README.md", CHECKOUT / "LICENSE"], text=dependencies_key)
    record = home.images / f"operator-image-{code_key}.json"
    if image := archive.kept(record):
        return image
    base = _Base(home, base_key, steps=steps)
    dependencies = _dependencies(home, base, dependencies_key, steps=steps)
    with steps.step("made the operator's image from its wheel"):
        layers = (base.layer(), dependencies, _code(home, base, code_key))
        return Image(
            names=(f"docker.io/library/{NAME}",),
            layers=layers,
            entrypoint=("valkey-operator",),
            command=(),
            user=USER,
            environment={"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        ).keep(record)


def key(files: Iterable[Path] = (), *, text: str) -> str:
    """Names the contents of the files together with the text."""
    digest = hashlib.sha256(text.encode())
    for path in files:
        content = path.read_bytes()
        digest.update(f"\n{path.relative_to(CHECKOUT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


class _Base:
    """The lowest layer: a root file system with Python, kept unpacked too, since it compiles what lies above it."""

    def __init__(self, home: Home, name: str, *, steps: Steps) -> None:
        self.root = home.images / f"python-{name}"
        self._tar = home.images / f"python-{name}.layer.tar"
        if not self._tar.exists():
            packages.ensure(packages.IMAGES, steps=steps)
            with steps.step(f"made a root file system with Python from Debian {debian.SUITE}"):
                debian.root_file_system(self.root, packages=PACKAGES)
                self.compile(self.root / "usr/lib")
                archive.layer(self.root, self._tar)

    def layer(self) -> Layer:
        """Its layer."""
        return archive.stored(self._tar)

    def version(self) -> str:
        """The version of its Python, such as `3.13`."""
        said = run("chroot", self.root, "python3", "--version")
        return ".".join(re.findall(r"\d+", said)[:2])

    def compile(self, directory: Path, *, installed: str = "/") -> None:
        """Compile the modules in a directory below the root; `installed` is what the directory will be called in the image."""
        inside = f"/{directory.relative_to(self.root)}"
        moved = [] if installed == "/" else ["-s", inside, "-p", installed]
        # By hash, since the times of all files are left out of layers. Python's own tests of bad syntax may fail to compile.
        command = ["python3", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", *moved, inside]
        run("chroot", self.root, "sh", "-c", '"$@" || true', "compile", *command)

    def pack(self, directory: Path, tar: Path) -> Layer:
        """A layer with the modules of a directory outside of the root, compiled."""
        inside = self.root / "making"
        shutil.rmtree(inside, ignore_errors=True)
        shutil.copytree(directory, inside)
        try:
            self.compile(inside / SITE, installed=f"/{SITE}")
            return archive.layer(inside, tar)
        finally:
            shutil.rmtree(inside)


def _dependencies(home: Home, base: _Base, name: str, *, steps: Steps) -> Layer:
    tar = home.images / f"operator-dependencies-{name}.layer.tar"
    if tar.exists():
        return archive.stored(tar)
    with archive.scratch(home.images) as directory, steps.step("fetched what the operator depends on"):
        lock = CHECKOUT / "requirements.lock"
        names = uv.resolve(CHECKOUT / "pyproject.toml", lock=lock, python=base.version())
        locked = uv.blocks(lock.read_text())
        uv.install(directory / SITE, requirements="".join(locked[name] for name in names), python=base.version())
        shutil.rmtree(directory / SITE / "bin", ignore_errors=True)
        _forget(home, "operator-dependencies-*")
        return base.pack(directory, tar)


def _code(home: Home, base: _Base, name: str) -> Layer:
    _forget(home, "operator-code-*")
    _forget(home, "operator-image-*")
    with archive.scratch(home.images) as directory:
        run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", directory / "wheel", cwd=CHECKOUT)
        (wheel,) = (directory / "wheel").glob("*.whl")
        content = directory / "content"
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(content / SITE)
        program = content / "usr/bin/valkey-operator"
        program.parent.mkdir(parents=True)
        program.write_text(PROGRAM)
        program.chmod(0o755)
        return base.pack(content, home.images / f"operator-code-{name}.layer.tar")


def _forget(home: Home, pattern: str) -> None:
    """Remove files that newer ones are about to replace."""
    for outdated in home.images.glob(pattern):
        outdated.unlink()
