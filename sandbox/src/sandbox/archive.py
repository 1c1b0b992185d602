"""Container images as files: layers, a configuration, and archives (OCI layouts) that `ctr images import` takes.

The same content always gives the same bytes, so whoever has a layer already need not be given it again.
"""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OCI = "application/vnd.oci.image"


@dataclass(frozen=True, slots=True)
class Layer:
    """An uncompressed tar file and the SHA-256 of its bytes."""

    tar: str
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

    def keep(self, path: Path) -> "Image":
        """Remember it in a file."""
        with finished(path) as unfinished:
            unfinished.write_text(json.dumps(asdict(self), indent=2))
        return self


def kept(path: Path) -> Image | None:
    """The image remembered in a file, if that and all layers are still there."""
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    layers = tuple(Layer(**layer) for layer in content.pop("layers"))
    names, command, entrypoint = (tuple(content.pop(name)) for name in ("names", "command", "entrypoint"))
    image = Image(names=names, layers=layers, command=command, entrypoint=entrypoint, **content)
    return image if all(Path(layer.tar).exists() for layer in layers) else None


def layer(root: Path, tar: Path, *, prefix: str = "") -> Layer:
    """Pack a directory; `prefix` is where it lies in the image. Times and names of owners are left out."""
    with finished(tar) as unfinished, tarfile.open(unfinished, "w") as packed:
        for folder in _folders(prefix):
            packed.addfile(_directory(folder))
        for path in sorted(root.rglob("*")):
            name = str(Path(prefix) / path.relative_to(root))
            packed.add(path, arcname=name, recursive=False, filter=_plain)
    return stored(tar)


def stored(tar: Path) -> Layer:
    """The layer of a tar file that was packed before."""
    with tar.open("rb") as content:
        return Layer(str(tar), hashlib.file_digest(content, "sha256").hexdigest())


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


def manifest(image: Image) -> bytes:
    """The image's manifest as JSON: its configuration and layers by digest and size."""
    content = configuration(image)
    layers = [
        {"mediaType": f"{OCI}.layer.v1.tar", "digest": f"sha256:{layer.digest}", "size": Path(layer.tar).stat().st_size}
        for layer in image.layers
    ]
    return json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": {"mediaType": f"{OCI}.config.v1+json", "digest": f"sha256:{_digest(content)}", "size": len(content)},
            "layers": layers,
        }
    ).encode()


def index(image: Image) -> bytes:
    """An archive's table of contents as JSON: the manifest under each of the image's names."""
    content = manifest(image)
    entry = {"mediaType": f"{OCI}.manifest.v1+json", "digest": f"sha256:{_digest(content)}", "size": len(content)}
    named = [{**entry, "annotations": {"io.containerd.image.name": name}} for name in image.names]
    return json.dumps({"schemaVersion": 2, "manifests": named}).encode()


def write(image: Image, tar: Path, *, without: Collection[str] = ()) -> None:
    """Write the image's archive, without the layers (by digest) that its receiver has already."""
    with tarfile.open(tar, "w") as packed:
        _add(packed, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        _add(packed, "index.json", index(image))
        for content in (manifest(image), configuration(image)):
            _add(packed, f"blobs/sha256/{_digest(content)}", content)
        for layer in image.layers:
            if layer.digest not in without:
                information = tarfile.TarInfo(f"blobs/sha256/{layer.digest}")
                information.size = Path(layer.tar).stat().st_size
                with Path(layer.tar).open("rb") as content_of_layer:
                    packed.addfile(information, content_of_layer)


@contextmanager
def finished(path: Path) -> Iterator[Path]:
    """A file to write that becomes `path` once it is complete, and vanishes if it never is."""
    unfinished = path.with_name(f"{path.name}.new")
    try:
        yield unfinished
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A directory inside `folder` for the making of an image, gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder) as directory:
        yield Path(directory)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
