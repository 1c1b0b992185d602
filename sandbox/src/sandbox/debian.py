"""Root file systems from Debian's packages, fetched from the mirror that this machine already uses."""

import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.commands import run
from sandbox.errors import SandboxError

SUITE = "forky"
MERGED = ("bin", "lib", "lib64", "sbin")
UNREAD = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "usr/share/lintian",
    "var/lib/apt",
    "var/cache",
    "var/log",
)
USERS = """\
root:x:0:0:root:/root:/bin/sh
valkey:x:999:999:valkey:/data:/bin/sh
nonroot:x:65532:65532:nonroot:/:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/bin/sh
"""
GROUPS = """\
root:x:0:
valkey:x:999:
nonroot:x:65532:
nogroup:x:65534:
"""


@dataclass(frozen=True, slots=True)
class Source:
    """One place that apt fetches packages from."""

    uri: str
    suites: tuple[str, ...]


def one_line_sources(text: str) -> list[Source]:
    """The sources of a file in apt's one-line format."""
    found = []
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)", line.strip())
        if match:
            found.append(Source(uri=match[1], suites=(match[2],)))
    return found


def stanza_sources(text: str) -> list[Source]:
    """The enabled sources of a file in apt's format of stanzas (deb822)."""
    found = []
    for stanza in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        name = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace():
                fields[name] = f"{fields.get(name, '')} {line.strip()}"
                continue
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
        if "deb" in fields.get("types", "").split() and fields.get("enabled", "yes").lower() not in {"no", "false"}:
            suites = tuple(fields.get("suites", "").split())
            found += [Source(uri=uri, suites=suites) for uri in fields.get("uris", "").split()]
    return found


def mirror(sources: Iterable[Source], *, codename: str) -> str:
    """The address of the mirror that has the whole of Debian: the one that serves this machine's own release."""
    for source in sources:
        if codename in source.suites:
            return source.uri
    raise SandboxError(f"no apt source of this machine serves Debian {codename}: images are made from packages of such a mirror")


def machine_mirror() -> str:
    """The mirror in this machine's apt sources."""
    return mirror(_machine_sources(), codename=_codename(Path("/etc/os-release").read_text()))


def root_file_system(directory: Path, *, packages: Sequence[str]) -> None:
    """Unpack the packages and what they depend on into a directory that is then a small, whole root file system."""
    shutil.rmtree(directory, ignore_errors=True)
    # The mirror may be a snapshot whose index counts as outdated.
    options = ["--quiet", "--variant=extract", '--aptopt=Acquire::Check-Valid-Until "false"']
    run("mmdebstrap", *options, f"--include={','.join([*packages, 'busybox-static'])}", SUITE, directory, machine_mirror())
    for name in MERGED:
        (directory / "usr" / name).mkdir(exist_ok=True)
        link = directory / name
        if not link.is_symlink():
            link.symlink_to(f"usr/{name}")
    for name in ("proc", "sys", "dev", "run", "tmp", "data", "etc", "root", "var/tmp"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    (directory / "tmp").chmod(0o1777)
    (directory / "data").chmod(0o777)
    for name in UNREAD:
        shutil.rmtree(directory / name, ignore_errors=True)
    (directory / "etc/passwd").write_text(USERS)
    (directory / "etc/group").write_text(GROUPS)
    (directory / "etc/nsswitch.conf").write_text("hosts: files dns\n")
    _link_applets(directory)


def _link_applets(directory: Path) -> None:
    """Make busybox answer to the names of all usual programs that no package brings, `sh` first of all."""
    busybox = directory / "usr/bin/busybox"
    for name in run(busybox, "--list").split():
        if name != "busybox" and not any((directory / folder / name).exists() for folder in ("usr/bin", "usr/sbin")):
            (directory / "usr/bin" / name).symlink_to("busybox")


def _machine_sources() -> list[Source]:
    folder = Path("/etc/apt/sources.list.d")
    stanzas = [source for path in sorted(folder.glob("*.sources")) for source in stanza_sources(path.read_text())]
    files = [Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list"))]
    return [source for path in files if path.exists() for source in one_line_sources(path.read_text())] + stanzas


def _codename(os_release: str) -> str:
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    if fields.get("ID", "").strip('"') != "debian":
        raise SandboxError(
            f"images are made from Debian's packages, and this machine is {fields.get('PRETTY_NAME', 'something else')}"
        )
    return fields["VERSION_CODENAME"].strip('"')
