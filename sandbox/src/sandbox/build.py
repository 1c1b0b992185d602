"""Kubernetes with its etcd, and its DNS, from source: two Go programs, each built once for each version of its sources."""

import hashlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sandbox.errors import SandboxError
from sandbox.home import DNS_SOURCES, SOURCES, Home
from sandbox.processes import last_lines
from sandbox.steps import Steps

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
INPUTS = ("main.go", "go.mod", "go.sum")
KEY_LENGTH = 16
COUNTING_PERIOD = 0.2


def programs(home: Home, *, steps: Steps) -> Path:
    """The directory that holds the Kubernetes programs by name, built if they are not there yet."""
    directory = home.programs / key(SOURCES)
    if not (directory / COMPONENTS[-1]).exists():
        version = required_version((SOURCES / "go.mod").read_text(), module="k8s.io/kubernetes")
        steps.say(
            f"building Kubernetes {version} and etcd from source: some 10 minutes on 2 cores the first time, seconds when Go has it cached"
        )
        _build(directory / "kubernetes", SOURCES, what=f"Kubernetes {version}", flags=link_flags(version), home=home, steps=steps)
        for name in COMPONENTS:
            link = directory / name
            link.unlink(missing_ok=True)
            link.symlink_to("kubernetes")
    return directory


def coredns(home: Home, *, steps: Steps) -> Path:
    """The path of CoreDNS, built if it is not there yet."""
    program = home.programs / f"coredns-{key(DNS_SOURCES)}" / "coredns"
    if not program.exists():
        version = required_version((DNS_SOURCES / "go.mod").read_text(), module="github.com/coredns/coredns")
        _build(program, DNS_SOURCES, what=f"CoreDNS {version}", flags="-s -w", home=home, steps=steps)
    return program


def key(sources: Path) -> str:
    """Names one version of the sources, checksums of all dependencies included."""
    digest = hashlib.sha256()
    for name in INPUTS:
        content = (sources / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:KEY_LENGTH]


def required_version(go_mod: str, *, module: str) -> str:
    """The version of a module that a go.mod requires, such as `1.35.4`."""
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} v(\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise SandboxError(f"go.mod does not require {module}")
    return found[1]


def link_flags(version: str) -> str:
    """Linker flags that leave out symbols and make the programs tell their version."""
    major, minor, _ = version.split(".", 2)
    base = "k8s.io/component-base/version"
    values = {
        f"{base}.gitVersion": f"v{version}",
        f"{base}.gitMajor": major,
        f"{base}.gitMinor": minor,
        "k8s.io/client-go/pkg/version.gitVersion": f"v{version}",
    }
    return " ".join(["-s", "-w", *(f"-X {name}={value}" for name, value in values.items())])


def is_new_enough(go_version: str, *, go_mod: str) -> bool:
    """Whether the output of `go version` satisfies the `go` line of a go.mod."""
    have = re.search(r"\bgo(\d+)\.(\d+)", go_version)
    need = re.search(r"^go (\d+)\.(\d+)", go_mod, re.MULTILINE)
    if have is None or need is None:
        return False
    return (int(have[1]), int(have[2])) >= (int(need[1]), int(need[2]))


def compiler(sources: Path, *, what: str) -> str:
    """The path of a Go that is new enough for a module; `what` it is that needs one, for the complaint."""
    go_mod = (sources / "go.mod").read_text()
    need = re.search(r"^go (\S+)", go_mod, re.MULTILINE)
    wanted = f"Go {need[1] if need else ''} or newer is needed to build {what}"
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if found is None:
        raise SandboxError(f"{wanted}, and there is no `go` on the PATH")
    # Asked inside the module, where a Go that may do so exchanges itself for the version that the module wants.
    answer = subprocess.run([found, "version"], cwd=sources, capture_output=True, text=True, check=False)
    if answer.returncode != 0 or not is_new_enough(answer.stdout, go_mod=go_mod):
        said = (answer.stdout + answer.stderr).strip()
        raise SandboxError(f"{wanted}; {found} says: {said}")
    return found


def _build(program: Path, sources: Path, *, what: str, flags: str, home: Home, steps: Steps) -> None:
    """Compile a Go module into a program, whole or not at all."""
    go = compiler(sources, what=what)
    log = home.log(f"go-build-{program.name}")
    log.parent.mkdir(parents=True, exist_ok=True)
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f"{program.name}.{os.getpid()}.new")
    with steps.step(f"built {what}"):
        try:
            log.write_bytes(b"")
            total = len(_packages(go, sources, log=log, steps=steps))
            command = [go, "build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", str(unfinished), "."]
            with _counting(log, "compiled packages", total=total, starts=None, steps=steps):
                _go_run(command, sources, log=log)
            unfinished.rename(program)
        finally:
            unfinished.unlink(missing_ok=True)


def _packages(go: str, sources: Path, *, log: Path, steps: Steps) -> list[str]:
    """All packages that a program is made of; fetches the modules that hold them."""
    modules = len(re.findall(r"^\t\S+ v", (sources / "go.mod").read_text(), re.MULTILINE))
    listed = log.with_suffix(".packages")
    with _counting(log, "fetched Go modules", total=modules, starts="go: downloading", steps=steps), listed.open("wb") as output:
        _go_run([go, "list", "-deps", "."], sources, log=log, output=output)
    found = listed.read_text().split()
    listed.unlink()
    return found


def _go_run(command: Sequence[str], sources: Path, *, log: Path, output: BinaryIO | None = None) -> None:
    """Run Go to its end; what it says goes to the log, and its output too unless it is wanted elsewhere."""
    with log.open("ab") as said:
        environment = {**os.environ, "CGO_ENABLED": "0"}
        done = subprocess.run(command, cwd=sources, env=environment, stdout=output or said, stderr=said, check=False)
    if done.returncode != 0:
        raise SandboxError(f"`go {command[1]}` failed:\n{last_lines(log)}\n  (all of it: {log})")


@contextmanager
def _counting(log: Path, what: str, *, total: int, starts: str | None, steps: Steps) -> Iterator[None]:
    """Show while the body runs how many lines the log has of those that start so (of packages: with neither `go:` nor `#`).

    Go names each module when it fetches it, and each package when it compiles it; those it has already it never names.
    """
    ended = threading.Event()

    def count() -> None:
        while not ended.wait(COUNTING_PERIOD):
            lines = log.read_text(errors="replace").splitlines()
            done = sum(line.startswith(starts) if starts else not line.startswith(("#", "go:")) for line in lines)
            if done:
                steps.progress(what, done=min(done, total), total=total)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        yield
    finally:
        ended.set()
        counter.join()
