"""Container images as files: layers and a configuration in a docker-archive, which `ctr images import` takes.

The same content always gives the same bytes, so an unchanged layer is recognised and not stored twice.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHUNK = 1 << 20
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Layer:
    """An uncompressed tar file and the SHA-256 of its bytes."""

    tar: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Image:
    """What a container runtime is told: which names, which layers from the lowest up, and what to run."""

    names: tuple[str, ...]
    layers: tuple[Layer, ...]
    command: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    user: str = ""
    directory: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)


def layer(root: Path, tar: Path, *, prefix: str = "") -> Layer:
    """Pack a directory; `prefix` is where it lies in the image. Times and names of owners are left out."""
    unfinished = tar.with_name(f"{tar.name}.new")
    with tarfile.open(unfinished, "w") as packed:
        for folder in _folders(prefix):
            packed.addfile(_directory(folder))
        for path in sorted(root.rglob("*")):
            name = str(Path(prefix) / path.relative_to(root))
            packed.add(path, arcname=name, recursive=False, filter=_plain)
    unfinished.rename(tar)
    return stored(tar)


def stored(tar: Path) -> Layer:
    """The layer of a tar file that was packed before."""
    with tar.open("rb") as content:
        return Layer(tar, hashlib.file_digest(content, "sha256").hexdigest())


def configuration(image: Image) -> bytes:
    """The image's configuration as JSON."""
    run: dict[str, Any] = {
        "Env": [f"{name}={value}" for name, value in {"PATH": PATH, **image.environment}.items()],
        "Cmd": list(image.command),
        "WorkingDir": image.directory,
    }
    if image.entrypoint:
        run["Entrypoint"] = list(image.entrypoint)
    if image.user:
        run["User"] = image.user
    content = {
        "architecture": "amd64",
        "os": "linux",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in image.layers]},
        "history": [{"created_by": "sandbox"} for _ in image.layers],
    }
    return json.dumps(content).encode()


def manifest(names: Sequence[str], *, configuration: str, layers: Sequence[str]) -> bytes:
    """The table of contents of a docker-archive."""
    return json.dumps([{"Config": configuration, "RepoTags": list(names), "Layers": list(layers)}]).encode()


def write(image: Image, tar: Path) -> Path:
    """Write the image's docker-archive, at once or not at all."""
    unfinished = tar.with_name(f"{tar.name}.new")
    content = configuration(image)
    name = f"{hashlib.sha256(content).hexdigest()}.json"
    layers = [f"{layer.digest}/layer.tar" for layer in image.layers]
    with tarfile.open(unfinished, "w") as packed:
        _add(packed, name, content)
        for entry, source in zip(layers, image.layers, strict=True):
            information = tarfile.TarInfo(entry)
            information.size = source.tar.stat().st_size
            with source.tar.open("rb") as bytes_of_layer:
                packed.addfile(information, bytes_of_layer)
        _add(packed, "manifest.json", manifest(image.names, configuration=name, layers=layers))
    return unfinished.rename(tar)


def _add(packed: tarfile.TarFile, name: str, content: bytes) -> None:
    information = tarfile.TarInfo(name)
    information.size = len(content)
    packed.addfile(information, io.BytesIO(content))


def _folders(prefix: str) -> list[str]:
    """Every folder on the way to the prefix, from the highest down."""
    parts = Path(prefix).parts
    return [str(Path(*parts[: depth + 1])) for depth in range(len(parts))]


def _directory(name: str) -> tarfile.TarInfo:
    information = tarfile.TarInfo(name)
    information.type = tarfile.DIRTYPE
    information.mode = 0o755
    return information


def _plain(information: tarfile.TarInfo) -> tarfile.TarInfo:
    information.mtime = 0
    information.uname = information.gname = ""
    return information
