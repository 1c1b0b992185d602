"""The sandbox as tests see it: brought up once, left running for the next run."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox.home import PROGRAM

SANDBOX = PROGRAM


def sandbox(*arguments: str | Path) -> str:
    """What a sandbox command printed; its complaint is the failure's message."""
    done = subprocess.run([SANDBOX, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"sandbox {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A running Kubernetes of three nodes, and a client outside of it."""

    kubeconfig: Path

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """What kubectl printed; `text` is its input (`kubectl apply -f -`). A failure fails the test with its complaint."""
        done = self.try_kubectl(*arguments, text=text)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        """The result of kubectl, whether it succeeded or not."""
        return subprocess.run([SANDBOX, "kubectl", *arguments], input=text, capture_output=True, text=True, check=False)

    def outside(self, *command: str, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
        """The result of a command that ran outside: where only addresses of nodes and load balancers can be reached."""
        return subprocess.run([SANDBOX, "outside", "--", *command], capture_output=True, text=True, check=False, timeout=timeout)


def full() -> Kubernetes:
    """The whole sandbox, started if need be."""
    sandbox("up")
    return Kubernetes(Path(sandbox("kubeconfig").strip()))


def control_plane_only() -> Path:
    """The kubeconfig of an API server without nodes (or of the whole sandbox, if that runs)."""
    sandbox("up", "--control-plane-only")
    return Path(sandbox("kubeconfig").strip())
