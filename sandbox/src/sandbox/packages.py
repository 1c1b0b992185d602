"""Programs from Debian: asked whether they work, and installed when they do not."""

import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sandbox.commands import attempt
from sandbox.errors import SandboxError
from sandbox.steps import Steps


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a Debian package brings: a program that answers `probe`, or files that exist."""

    package: str
    probe: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def works(self) -> bool:
        """Whether it is there and runs; a program that is found but fails counts as missing."""
        if any(not Path(file).exists() for file in self.files):
            return False
        try:
            return not self.probe or attempt(*self.probe).returncode == 0
        except (SandboxError, OSError):
            return False


CONTROL_PLANE = (Tool("iproute2", probe=("ip", "-V")),)
NODES = (
    Tool("containerd", probe=("containerd", "--version")),
    Tool("containerd", probe=("ctr", "--version")),
    Tool("runc", probe=("runc", "--version")),
    Tool(
        "containernetworking-plugins",
        files=tuple(f"/usr/lib/cni/{name}" for name in ("bridge", "host-local", "loopback", "portmap")),
    ),
    Tool("nftables", probe=("nft", "--version")),
    Tool("conntrack", probe=("conntrack", "--version")),
    Tool("catatonit", probe=("catatonit", "--version")),
)
IMAGES = (
    Tool("mmdebstrap", probe=("mmdebstrap", "--version")),
    Tool("catatonit", probe=("catatonit", "--version")),
)


def ensure(tools: Iterable[Tool], *, steps: Steps) -> None:
    """Every tool works afterwards; installs what is missing and never removes a package for it."""
    tools = list(tools)
    missing = _missing(tools)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise SandboxError(f"missing programs: {', '.join(missing)}; they come from Debian packages, but there is no apt-get here")
    with steps.step(f"installed from Debian: {' '.join(missing)}"):
        # Another source of this machine may be broken without any harm to these packages: judge by the installation alone.
        updated = attempt("apt-get", "update", "-qq")
        installed = attempt("apt-get", "install", "-qq", "-y", "--no-install-recommends", "--no-remove", *missing)
    if installed.returncode != 0 or (missing := _missing(tools)):
        complaints = "\n".join(filter(None, (updated.stderr.strip(), installed.stderr.strip())))
        raise SandboxError(f"apt-get could not install {' '.join(missing)}:\n{complaints}")


def _missing(tools: list[Tool]) -> list[str]:
    with ThreadPoolExecutor(len(tools)) as pool:
        works = list(pool.map(Tool.works, tools))
    return list(dict.fromkeys(tool.package for tool, present in zip(tools, works, strict=True) if not present))
