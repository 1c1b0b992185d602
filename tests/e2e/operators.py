"""The operator in a test's hands: deployed as its users deploy it, or as a process that can be killed at any moment."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml

import cluster
from e2e import api as kinds
from e2e import metrics

NAMESPACE = "valkey-operator-system"
NAME = "valkey-operator"
LABELS = {"app.kubernetes.io/name": NAME}
WRITES = "valkey_operator_api_writes_total"


class Deployed:
    """The Deployment of deploy/operator.yaml."""

    def __init__(self, kubernetes, api):
        self._kubernetes = kubernetes
        self._api = api

    def pods(self):
        found = self._api.list(kinds.POD, NAMESPACE, labels=LABELS)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def leader(self):
        """The name of the pod that holds the Lease; empty when none does."""
        lease = self._api.find(kinds.LEASE, NAME, NAMESPACE)
        return ((lease or {}).get("spec", {}).get("holderIdentity") or "").partition("_")[0]

    def wait_for_leader(self, *, other_than="", timeout=40.0):
        """The pod that leads, once one does that exists."""

        def holds(found):
            holder = next((((item["spec"].get("holderIdentity")) or "").partition("_")[0] for item in found), "")
            return holder != other_than and holder in {pod["metadata"]["name"] for pod in self.pods()} and holder

        return self._api.until(kinds.LEASE, NAMESPACE, holds, name=NAME, what="a leading operator", timeout=timeout)

    def scale(self, replicas):
        """So many replicas, all ready, one of them leading; none at all for 0."""
        self._api.patch(kinds.DEPLOYMENT, NAME, NAMESPACE, {"spec": {"replicas": replicas}})
        self._settle(replicas)

    def restart(self):
        """Another pod, which leads."""
        pods = [pod["metadata"]["name"] for pod in self.pods()]
        for name in pods:
            self._api.delete(kinds.POD, name, NAMESPACE)
        self._settle(len(pods), gone=set(pods))

    def _settle(self, replicas, *, gone=frozenset()):
        def holds(found):
            ready = [pod for pod in found if kinds_ready(pod)]
            return len(found) == len(ready) == replicas and not gone & {pod["metadata"]["name"] for pod in found}

        self._api.until(kinds.POD, NAMESPACE, holds, labels=LABELS, what=f"{replicas} ready operators and no other", timeout=90)
        if replicas:
            self.wait_for_leader()

    def metric(self, name, **labels):
        """The sum of a metric's series with these labels, over all replicas."""
        return sum(_metric(pod, name, labels) for pod in self.pods())

    def writes(self):
        """How much the operator has written so far, its Lease aside."""
        return sum(written_by(pod) for pod in self.pods())

    def log(self, lines=80):
        done = self._kubernetes.try_kubectl("logs", "-n", NAMESPACE, "-l", f"app.kubernetes.io/name={NAME}", f"--tail={lines}")
        return "\n".join(map(_readable, (done.stdout + done.stderr).splitlines()))


class Process:
    """The operator as a plain process with the rights of its service account, killed and started again at will."""

    def __init__(self, kubernetes, directory):
        self._kubeconfig = Path(directory) / "operator.kubeconfig"
        self._log = Path(directory) / "operator.log"
        self._process = None
        token = kubernetes.kubectl("create", "token", NAME, "--namespace", NAMESPACE, "--duration=1h").strip()
        content = yaml.safe_load(kubernetes.kubeconfig.read_text())
        content["users"][0]["user"] = {"token": token}
        self._kubeconfig.touch(mode=0o600)
        self._kubeconfig.write_text(yaml.safe_dump(content))

    def start(self):
        program = Path(sys.executable).with_name("valkey-operator")
        options = ["--kubeconfig", str(self._kubeconfig), "--no-leader-elect", "--http-port", "0", "--log-format", "text"]
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [program, "run", *options], stderr=log, stdout=log, env={**os.environ, "NO_PROXY": "*", "no_proxy": "*"}
            )

    def kill(self):
        """End it at once, with whatever it is doing half done."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def stop(self):
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(timeout=20)

    def log(self, lines=80):
        return "\n".join(self._log.read_text().splitlines()[-lines:])


def kinds_ready(pod):
    """Whether a pod is Ready and stays."""
    conditions = pod.get("status", {}).get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _readable(line):
    """A line of the operator's log without what is the same in all of them."""
    try:
        said = json.loads(line)
    except ValueError:
        return line
    return f"{said['time'][11:23]} {said['level']} {said.get('cluster', '')} {said['message']} {said.get('error', '')}".rstrip()


def written_by(pod):
    """How much one replica has written so far, the Lease aside."""
    return _metric(pod, WRITES, {}) - _metric(pod, WRITES, {"kind": "Lease"})


def _metric(pod, name, labels):
    return sum(value for found, value in metrics.samples(pod["status"]["podIP"], name) if labels.items() <= found.items())


def deploy(kubernetes, api):
    """The deployed operator, and whether it was there before."""
    before = api.find(kinds.DEPLOYMENT, NAME, NAMESPACE) is not None
    cluster.sandbox("operator")
    operator = Deployed(kubernetes, api)
    operator.wait_for_leader()
    return operator, before


def server_process(pod):
    """The number, on this machine, of the server that runs in a pod: what is mounted there lies in a directory named by the pod's uid."""
    for entry in Path("/proc").iterdir():
        try:
            is_server = entry.name.isdigit() and (entry / "comm").read_text().strip() == "valkey-server"
            if is_server and pod["metadata"]["uid"] in (entry / "mountinfo").read_text():
                return int(entry.name)
        except OSError:  # it has ended meanwhile
            continue
    raise AssertionError(f"no server runs in pod {pod['metadata']['name']}")
