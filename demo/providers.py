"""Where the demo's Kubernetes comes from: the sandbox, or kind where there is a Docker that works."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from demo.kubernetes import DemoError, Kubernetes
from sandbox import cluster, kubectl, operator, ownership
from sandbox.home import PROGRAM, Home
from sandbox.ownership import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.steps import Steps

CHECKOUT = Path(__file__).parents[1]
BIN = Path(".venv/bin")

KIND_CLUSTER = "valkey-demo"
KIND_NODES = """
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes: [{role: control-plane}, {role: worker}, {role: worker}, {role: worker}]
"""
OPERATOR_IMAGE = "valkey-operator:dev"
VALKEY_IMAGE = "docker.io/valkey/valkey:9.1.2"


class Provider(ABC):
    """A Kubernetes and a place outside of it."""

    title: ClassVar[str]
    hints: ClassVar[Sequence[tuple[str, str]]]
    """What to try next: commands that work as they stand, and what for."""

    @abstractmethod
    def up(self, steps: Steps) -> Kubernetes:
        """It runs afterwards; seconds when it ran before."""

    @abstractmethod
    def deploy(self, steps: Steps) -> None:
        """The operator of this checkout runs in it afterwards."""

    @abstractmethod
    def outside(self) -> list[str]:
        """The words that put a command where clients outside are."""


class Sandbox(Provider):
    """Three nodes on this machine, built from source."""

    title = "A real Kubernetes of three nodes on this machine"
    hints = (
        (f"{BIN}/sandbox kubectl get vkc,vkn", "the cluster and its nodes"),
        (f"{BIN}/sandbox kubectl describe vkc demo", "its status, conditions and events"),
        (f"{BIN}/python -m demo outside SET greeting hello", "a command of a client outside"),
        ("make sandbox-down", "end everything"),
    )

    def up(self, steps: Steps) -> Kubernetes:
        """See Provider."""
        if os.geteuid() != 0:
            raise DemoError("the sandbox makes network namespaces and mounts, which needs root: try `sudo make demo`")
        home = Home.of(os.environ)
        cluster.up(home, mode=Mode.FULL, nodes=3, steps=steps)
        return Kubernetes((kubectl.program(),), kubectl.environment(home))

    def deploy(self, steps: Steps) -> None:
        """See Provider."""
        with ownership.exclusive(steps):
            running = ownership.owner()
            if running is None:
                raise DemoError("the sandbox was ended meanwhile: begin anew")
            operator.deploy(Home.of(os.environ), running, steps=steps)

    def outside(self) -> list[str]:
        """See Provider."""
        return [str(PROGRAM), "outside", "--"]


class Kind(Provider):
    """Four containers of kind, where Docker and kind are at hand; nothing is built but the operator's image."""

    title = "A Kubernetes of three workers in Docker, made by kind"
    hints = (
        (f"kubectl --context kind-{KIND_CLUSTER} get vkc,vkn", "the cluster and its nodes"),
        (f"kubectl --context kind-{KIND_CLUSTER} describe vkc demo", "its status, conditions and events"),
        (f"{BIN}/python -m demo --provider kind outside SET greeting hello", "a command of a client outside"),
        (f"kind delete cluster --name {KIND_CLUSTER}", "end everything"),
    )

    def up(self, steps: Steps) -> Kubernetes:
        """See Provider."""
        for question, what in (
            (("docker", "info"), "a Docker engine that answers `docker info`"),
            (("kind", "version"), "kind (https://kind.sigs.k8s.io)"),
            (("kubectl", "version", "--client"), "kubectl"),
        ):
            if not _works(*question):
                raise DemoError(f"PROVIDER=kind needs {what}; `make demo` without PROVIDER needs none of that")
        if KIND_CLUSTER not in _read("kind", "get", "clusters").split():
            with steps.step(f"made the kind cluster {KIND_CLUSTER}"):
                _run("kind", "create", "cluster", "--name", KIND_CLUSTER, "--wait", "120s", "--config", "-", text=KIND_NODES)
        return Kubernetes(("kubectl", "--context", f"kind-{KIND_CLUSTER}"))

    def deploy(self, steps: Steps) -> None:
        """See Provider."""
        with steps.step(f"built and loaded {OPERATOR_IMAGE}"):
            _run("docker", "build", "--quiet", "--file", CHECKOUT / "deploy/Dockerfile", "--tag", OPERATOR_IMAGE, CHECKOUT)
            _run("kind", "load", "docker-image", "--name", KIND_CLUSTER, OPERATOR_IMAGE)
        with steps.step(f"loaded {VALKEY_IMAGE}"):
            _run("docker", "pull", "--quiet", VALKEY_IMAGE)
            _run("kind", "load", "docker-image", "--name", KIND_CLUSTER, VALKEY_IMAGE)
        context = ("kubectl", "--context", f"kind-{KIND_CLUSTER}")
        with steps.step("the operator is deployed"):
            for manifest in ("deploy/crds", "deploy/operator.yaml"):
                _run(*context, "apply", "--server-side", "--force-conflicts", "--filename", CHECKOUT / manifest)
            _run(*context, "rollout", "status", "--namespace", operator.NAMESPACE, "--timeout=120s", operator.DEPLOYMENT)

    def outside(self) -> list[str]:
        """The machine itself: it has a route to kind's nodes and none to their pods."""
        return []


PROVIDERS: dict[str, type[Provider]] = {"sandbox": Sandbox, "kind": Kind}


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _read(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _run(*command: str | Path, text: str | None = None) -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"`{' '.join(map(str, command))}` failed: {(done.stderr or done.stdout).strip()}")
