"""`kubectl valkey` as a person runs it, beside clients outside."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import builds, programs


@dataclass(frozen=True, slots=True)
class Plugin:
    """The plugin with a kubectl; `hosts` are the names that its machine resolves by."""

    directory: Path
    kubeconfig: Path
    hosts: Path | None = None

    @classmethod
    def made(cls, directory, kubeconfig, hosts=None):
        """The sandbox's outside reaches no API server. A person's kubectl does, by a way of its own: here from the machine's network."""
        directory.mkdir(exist_ok=True)
        real = shutil.which("kubectl", path=str(Path(sys.executable).parent))
        program = directory / "kubectl"
        program.write_text(f'#!/bin/sh\nexec nsenter --net=/proc/{os.getpid()}/ns/net -- {real} "$@"\n')
        program.chmod(0o755)
        return cls(directory, kubeconfig, hosts)

    def run(self, *words, text=None, outside=True, kubeconfig=None):
        """The result of `kubectl valkey` with these words."""
        program = Path(sys.executable).with_name("kubectl-valkey")
        placed = programs.placed([str(program), *words], is_outside=outside, hosts=self.hosts)
        environment = {
            **os.environ,
            "PATH": f"{self.directory}:{os.environ['PATH']}",
            "KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "NO_PROXY": "*",
            "no_proxy": "*",
        }
        done = subprocess.run(placed, env=environment, input=text, capture_output=True, text=True, check=False, timeout=120)
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done

    def check(self, cluster, *words, **more):
        """What a check told as JSON; its exit code says the same."""
        done = self.run("check", cluster.name, "--namespace", cluster.namespace, "--output", "json", *words, **more)
        assert done.returncode in (0, 1), done.stderr
        told = json.loads(done.stdout)
        assert told["ok"] is (done.returncode == 0)
        return told

    def problems(self, cluster, *words, **more):
        """Which problems a check found, by address (or `shard-node`, where it has none)."""
        found = self.check(cluster, *words, **more)["addresses"]
        return {
            each["address"] or "{shard}-{node}".format(**each["nodes"][0]): {problem["problem"] for problem in each["problems"]}
            for each in found
            if each["problems"]
        }

    def message(self, cluster, problem, *words):
        """What a check said of a problem and of its way out, the first that it found."""
        told = self.check(cluster, *words)
        found = (each for address in told["addresses"] for each in address["problems"] if each["problem"] == problem)
        first = next(found)
        return f"{first['message']} → {first['advice']}"

    def printed_client(self, library, cluster, trust=None):
        """The last line that the code which `endpoints` prints for a library says when it is run outside, just as it was printed.

        GLIDE writes to the same place, before that, that it was redirected: it may begin at a server that has not heard of a failover yet.
        """
        done = self.run("endpoints", cluster.name, "--namespace", cluster.namespace, "--client", library)
        assert done.returncode == 0, done.stderr
        directory = self.directory / f"{library}-{cluster.name}"
        directory.mkdir(exist_ok=True)
        user, password = (cluster.secret(f"{cluster.name}-connection")[key] for key in ("username", "password"))
        environment = {**os.environ, "VALKEY_USERNAME": user, "VALKEY_PASSWORD": password}
        if trust is not None:
            environment["VALKEY_CA_FILE"] = str(trust)
        placed = programs.placed(builds.alone(library, done.stdout, directory), is_outside=True, hosts=self.hosts)
        ran = subprocess.run(placed, env=environment, cwd=directory, capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip().rpartition("\n")[2]
