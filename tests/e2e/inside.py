"""Clients inside: a pod with Python and valkey-py, which the operator's image has, and the cluster's DNS in its administrator's hands."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pages
from e2e import api as kinds
from sandbox import kubectl

DIAL = Path(__file__).with_name("outside") / "dial.py"
RESOLVE = """
import json, socket, sys
def address(name):
    try:
        return socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
    except socket.gaierror as error:
        return error.strerror
print(json.dumps({name: address(name) for name in json.loads(sys.stdin.read())}))
"""
WORK = """
import json, sys
from valkey.cluster import ClusterNode, ValkeyCluster
settings = json.loads(sys.stdin.read())
begin = [ClusterNode(host, port) for host, port in settings.pop("seeds")]
with ValkeyCluster(startup_nodes=begin, socket_timeout=2, socket_connect_timeout=2, decode_responses=True, **settings) as client:
    for number in range(100):
        client.set(f"inside:{number}", number)
        assert client.get(f"inside:{number}") == str(number)
    print(json.dumps(sorted(node.name for node in client.get_nodes())))
"""
TRUST = "/trust/ca.crt"


class Client:
    """A pod beside a cluster."""

    def __init__(self, cluster, kubernetes):
        self._cluster = cluster
        self._kubernetes = kubernetes
        cluster.api.create(kinds.POD, _pod(cluster.namespace, secret="web-cert" if cluster.trust else None))
        kubernetes.kubectl("wait", "pod/client", "--namespace", cluster.namespace, "--for=condition=Ready", "--timeout=60s")

    def addresses(self, names: Iterable[str]) -> dict[str, str]:
        """The address of each name there, or why it has none."""
        return json.loads(self._python(RESOLVE, json.dumps(list(names))))

    def node_ids(self, addresses: Iterable[str]) -> dict[str, str]:
        """Which server is reached at each `host:port`, with TLS the certificate verified by the host's name."""
        addresses = list(addresses)
        username, password = self._cluster.login()
        who = {"username": username, "password": password, "trust": TRUST if self._cluster.trust else None}
        answer = self._python(DIAL.read_text(), f"{json.dumps(who)}\n{json.dumps([_pair(address) for address in addresses])}\n")
        return dict(zip(addresses, json.loads(answer), strict=True))

    def work(self, *seeds: str) -> list[str]:
        """Write and read a hundred keys all over the cluster; the addresses of the nodes as the client was told them."""
        done = self.try_work(*seeds)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def try_work(self, *seeds: str) -> subprocess.CompletedProcess[str]:
        """The same, whether it succeeds or not."""
        username, password = self._cluster.login("default")
        settings = {"seeds": [_pair(address) for address in seeds], "username": username, "password": password}
        secured = {"ssl": True, "ssl_ca_certs": TRUST, "ssl_check_hostname": True} if self._cluster.trust else {}
        return self._kubernetes.try_kubectl(*self._exec(WORK), text=json.dumps(settings | secured))

    def _python(self, program: str, text: str) -> str:
        return self._kubernetes.kubectl(*self._exec(program), text=text)

    def _exec(self, program: str) -> list[str]:
        return ["exec", "--stdin", "--namespace", self._cluster.namespace, "client", "--", "python3", "-W", "ignore", "-c", program]


class Dns:
    """What the administrator of the cluster's DNS does."""

    def __init__(self, kubernetes):
        self._kubernetes = kubernetes

    def take(self, cluster):
        """Import the names of a cluster, word by word as the page says."""
        typed = next(block.text for block in pages.blocks("console") if "create configmap coredns-custom" in block.text)
        lines = [
            line.removeprefix("$ ")
            for line in typed.replace("orders", cluster.name).replace("shop", cluster.namespace).splitlines()
        ]
        assert len(lines) == 4
        path = f"{kubectl.program().parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "KUBECONFIG": str(self._kubernetes.kubeconfig), "NO_PROXY": "*"}
        for line in lines:
            done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0 or "already exists" in done.stderr, f"{line}: {done.stderr}"

    def tell(self, records):
        """Records as those of a public DNS, to which this one forwards: these names lead to these addresses."""
        listed = "".join(f"  {address} {name}\n" for name, address in records.items())
        self._change({"public.override": f"hosts {{\n{listed}  fallthrough\n}}\n"})

    def restore(self):
        """It knows nothing but what is inside."""
        self._kubectl("delete", "configmap", "coredns-custom", "--ignore-not-found")
        self._restart()

    def _change(self, data):
        self._kubernetes.try_kubectl("create", "configmap", "coredns-custom", "--namespace", "kube-system")
        patch = json.dumps({"data": data})
        self._kubectl("patch", "configmap/coredns-custom", "--type=merge", "--patch", patch)
        self._restart()

    def _restart(self):
        """None that knows what was before is left when the first that does not starts: its kubelet might give it the ConfigMap of before, too."""
        replicas = self._kubectl("get", "deployment/coredns", "--output=jsonpath={.spec.replicas}")
        self._kubectl("scale", "deployment/coredns", "--replicas=0")
        self._kubectl("wait", "pod", "--selector=k8s-app=kube-dns", "--for=delete", "--timeout=60s")
        self._kubectl("scale", "deployment/coredns", f"--replicas={replicas}")
        self._kubectl("rollout", "status", "deployment/coredns", "--timeout=60s")

    def _kubectl(self, *words):
        return self._kubernetes.kubectl(*words, "--namespace", "kube-system")


def snippet(cluster):
    """The published names, None where there are none."""
    found = cluster.api.find(kinds.CONFIG_MAP, f"{cluster.name}-dns", cluster.namespace)
    return found and found["data"][f"{cluster.name}.{cluster.namespace}.override"]


def _pair(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


def _pod(namespace, *, secret):
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "client",
        "image": "valkey-operator:dev",
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", "import signal; signal.pause()"],
        "securityContext": restricted,
    }
    spec = {"containers": [container], "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 0}
    if secret is not None:
        container["volumeMounts"] = [{"name": "trust", "mountPath": "/trust"}]
        spec["volumes"] = [{"name": "trust", "secret": {"secretName": secret, "items": [{"key": "ca.crt", "path": "ca.crt"}]}}]
    return {"metadata": {"name": "client", "namespace": namespace}, "spec": spec}
