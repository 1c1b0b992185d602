"""Processes in pods, as this machine's kernel sees them: the sandbox's nodes are namespaces on it."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from bench.clusters import BenchError

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class PodProcess:
    """The process in a pod whose command line has a certain word."""

    pid: int

    @classmethod
    def of(cls, pod: str, word: str) -> PodProcess:
        """Found by the host name that the kubelet writes into each container."""
        for entry in PROC.iterdir():
            try:
                if word.encode() in (entry / "cmdline").read_bytes() and (entry / "root/etc/hostname").read_text().strip() == pod:
                    return cls(int(entry.name))
            except OSError:  # no process, or it has ended
                continue
        raise BenchError(f"no process `{word}` of pod {pod} runs on this machine")

    @property
    def cpu_seconds(self) -> float:
        """CPU used since its start, in user and kernel mode."""
        fields = (PROC / str(self.pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def peak_megabytes(self) -> float:
        """The most memory that it ever had resident."""
        return self._kilobytes("VmHWM") / 1024

    @property
    def megabytes(self) -> float:
        """Its resident memory."""
        return self._kilobytes("VmRSS") / 1024

    def kill(self) -> None:
        """End it without a farewell, as a crash would."""
        os.kill(self.pid, signal.SIGKILL)

    def _kilobytes(self, name: str) -> int:
        for line in (PROC / str(self.pid) / "status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise BenchError(f"the kernel does not tell {name}")
