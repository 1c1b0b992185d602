"""`kubectl valkey check`, as a person waits for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.bench import NAME
from bench.clusters import NODE_PORT, BenchError
from bench.figures import Figure
from sandbox.home import Home

if TYPE_CHECKING:
    from bench.bench import Bench

PROGRAMS = Path(sys.executable).parent


def checking(bench: Bench) -> list[Figure]:
    """A check of 3 × (1+1) with node ports, and the start of the program alone."""
    starts, checks = [], []
    with bench.clusters("check") as clusters:
        clusters.create(NAME, access=NODE_PORT)
        clusters.await_true("ExternalAccessReady", [NAME])
        for _ in bench.repeatedly("kubectl valkey check"):
            starts.append(_seconds("--help"))
            checks.append(_seconds("check", NAME, "--namespace", clusters.namespace))
    return [
        Figure(what="kubectl valkey check of 3 × (1+1)", unit="s", runs=tuple(checks), target=1),
        Figure(what="  kubectl valkey --help", unit="s", runs=tuple(starts), target=0.3),
    ]


def _seconds(*words: str) -> float:
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "KUBECONFIG": str(Home.of(os.environ).kubeconfig), "PATH": path, "NO_PROXY": "*", "no_proxy": "*"}
    began = time.monotonic()
    done = subprocess.run(
        [PROGRAMS / "kubectl-valkey", *words], env=environment, cwd=PROGRAMS, capture_output=True, text=True, check=False
    )
    taken = time.monotonic() - began
    if done.returncode != 0:
        raise BenchError(f"kubectl valkey {' '.join(words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return taken
