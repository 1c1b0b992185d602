"""Where the sandbox keeps its things.

What is worth keeping between runs (programs, images) and what a person may want to read (logs, kubeconfig) lies in the home
directory. What is true only while it runs (process records, the owner) lies in RUN, so that one machine has one sandbox.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN = Path("/run/valkey-sandbox")
LOCK = Path("/run/valkey-sandbox.lock")
SOURCES = Path(__file__).parents[2] / "kubernetes"  # the Go module
DNS_SOURCES = Path(__file__).parents[2] / "coredns"  # another one
CHECKOUT = Path(__file__).parents[3]
PROGRAM = Path(sys.executable).with_name("sandbox")
"""The command itself, for those who run it as a program of its own."""


@dataclass(frozen=True, slots=True)
class Home:
    """The paths of one sandbox's directory; nothing is made by naming it."""

    path: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Home":
        """VALKEY_SANDBOX_HOME, else `sandbox` in the project's cache directory."""
        if chosen := environment.get("VALKEY_SANDBOX_HOME"):
            return cls(Path(chosen).absolute())
        if cache := environment.get("VALKEY_OPERATOR_CACHE"):
            return cls(Path(cache).absolute() / "sandbox")
        caches = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME", "/root")) / ".cache"
        return cls(Path(caches).absolute() / "valkey-operator" / "sandbox")

    @property
    def programs(self) -> Path:
        """Programs of Kubernetes and of its DNS, one directory per version of their sources; kept."""
        return self.path / "programs"

    @property
    def images(self) -> Path:
        """Image archives and what they are made of; kept."""
        return self.path / "images"

    @property
    def logs(self) -> Path:
        """One file per component of the latest run; kept until the next."""
        return self.path / "logs"

    @property
    def state(self) -> Path:
        """Keys, configuration and data of the running sandbox; removed with it."""
        return self.path / "state"

    @property
    def pki(self) -> Path:
        """Keys and certificates of the running sandbox."""
        return self.state / "pki"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig for people, at a path that stays the same from run to run."""
        return self.path / "kubeconfig"

    @property
    def root_kubeconfig(self) -> Path:
        """The kubeconfig of the sandbox itself, for which no right has to be given."""
        return self.pki / "root.kubeconfig"

    def log(self, component: str) -> Path:
        """The log file of one component."""
        return self.logs / f"{component}.log"

    def node(self, number: int) -> Path:
        """Configuration and data of one node."""
        return self.state / f"node-{number}"
