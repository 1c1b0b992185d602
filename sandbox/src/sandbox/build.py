"""Kubernetes and its etcd from source: one Go program, built once for each version of its sources."""

import hashlib
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.home import SOURCES, Home
from sandbox.processes import last_lines
from sandbox.steps import Steps

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
INPUTS = ("main.go", "go.mod", "go.sum")
KEY_LENGTH = 16


def programs(home: Home, *, steps: Steps) -> Path:
    """The directory that holds the Kubernetes programs by name, built if they are not there yet."""
    directory = home.programs / key(SOURCES)
    if not (directory / COMPONENTS[-1]).exists():
        _build(directory, home=home, steps=steps)
    return directory


def key(sources: Path) -> str:
    """Names one version of the sources, checksums of all dependencies included."""
    digest = hashlib.sha256()
    for name in INPUTS:
        content = (sources / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:KEY_LENGTH]


def kubernetes_version(go_mod: str) -> str:
    """The version of Kubernetes that a go.mod requires, such as `1.35.4`."""
    found = re.search(r"^\s*k8s\.io/kubernetes v(\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise SandboxError("go.mod does not require k8s.io/kubernetes")
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


def _build(directory: Path, *, home: Home, steps: Steps) -> None:
    go_mod = (SOURCES / "go.mod").read_text()
    version = kubernetes_version(go_mod)
    go = _go(go_mod)
    log = home.log("go-build")
    log.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(parents=True, exist_ok=True)
    unfinished = directory / f"kubernetes.{os.getpid()}.new"
    steps.say(
        f"building Kubernetes {version} and etcd from source: some 8 minutes on 2 cores the first time, seconds when Go has it cached"
    )
    with steps.step(f"built Kubernetes {version}"):
        try:
            with log.open("wb") as output:
                _go_run(go, "mod", "download", log=log, output=output.fileno())
                steps.say("all Go modules are here")
                total = len(_go_list(go))
                command = [
                    go,
                    "build",
                    "-v",
                    "-trimpath",
                    "-buildvcs=false",
                    "-ldflags",
                    link_flags(version),
                    "-o",
                    str(unfinished),
                    ".",
                ]
                _compile(command, total=total, log=log, steps=steps)
            unfinished.rename(directory / "kubernetes")
        finally:
            unfinished.unlink(missing_ok=True)
        for name in COMPONENTS:
            link = directory / name
            link.unlink(missing_ok=True)
            link.symlink_to("kubernetes")


def _go(go_mod: str) -> str:
    """The path of a Go that is new enough for the module."""
    found = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if found is None:
        need = re.search(r"^go (\S+)", go_mod, re.MULTILINE)
        raise SandboxError(f"Go {need[1] if need else ''} or newer is needed to build Kubernetes, and there is no `go` on the PATH")
    # Asked inside the module, where a Go that may do so exchanges itself for the version that the module wants.
    answer = subprocess.run([found, "version"], cwd=SOURCES, capture_output=True, text=True, check=False)
    if answer.returncode != 0 or not is_new_enough(answer.stdout, go_mod=go_mod):
        need = re.search(r"^go (\S+)", go_mod, re.MULTILINE)
        said = (answer.stdout + answer.stderr).strip()
        raise SandboxError(f"Go {need[1] if need else ''} or newer is needed to build Kubernetes; {found} says: {said}")
    return found


def _go_environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0"}


def _go_run(go: str, *arguments: str, log: Path, output: int) -> None:
    done = subprocess.run([go, *arguments], cwd=SOURCES, env=_go_environment(), stdout=output, stderr=output, check=False)
    if done.returncode != 0:
        raise SandboxError(f"`go {' '.join(arguments)}` failed:\n{last_lines(log)}\n  (all of it: {log})")


def _go_list(go: str) -> list[str]:
    listed = subprocess.run(
        [go, "list", "-deps", "."], cwd=SOURCES, env=_go_environment(), capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        raise SandboxError(f"`go list` failed: {listed.stderr.strip()}")
    return listed.stdout.split()


def _compile(command: list[str], *, total: int, log: Path, steps: Steps) -> None:
    """Run the build and show its progress: Go names each package when it compiles it, cached ones never."""
    with log.open("a") as output:
        build = subprocess.Popen(command, cwd=SOURCES, env=_go_environment(), stdout=output, stderr=subprocess.STDOUT, text=True)
        counted = threading.Event()

        def count() -> None:
            while not counted.wait(0.2):
                compiled = sum(
                    1 for line in log.read_text(errors="replace").splitlines() if line and not line.startswith(("#", "go:"))
                )
                if compiled:
                    steps.progress("compiled packages", done=min(compiled, total), total=total)

        counter = threading.Thread(target=count)
        counter.start()
        try:
            status = build.wait()
        finally:
            counted.set()
            counter.join()
            if build.poll() is None:
                build.terminate()
                build.wait()
    if status != 0:
        raise SandboxError(f"building Kubernetes failed:\n{last_lines(log)}\n  (all of it: {log})")
