import json
import sys
import time

import pytest

SERVERS = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: some}
spec:
  selector: {matchLabels: {app: some}}
  template:
    metadata: {labels: {app: some}}
    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 0
      securityContext: {runAsUser: 4321, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: valkey
          image: docker.io/valkey/valkey:9.1.2
          args: [valkey-server, --protected-mode, "no", --save, ""]
          readinessProbe: {exec: {command: [sh, -c, valkey-cli ping]}, periodSeconds: 1}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: some}
spec: {type: NodePort, selector: {app: some}, ports: [{port: 6379}]}
---
apiVersion: v1
kind: Service
metadata: {name: dual}
spec: {type: NodePort, ipFamilyPolicy: RequireDualStack, selector: {app: some}, ports: [{port: 6379}]}
"""
ASK = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 1.5) as connection:
        connection.sendall(b"PING\\r\\n")
        print(connection.recv(100).decode())
except OSError:
    pass
"""


class Place:
    """A namespace of the shared Kubernetes, with a server on each node."""

    def __init__(self, kubernetes, namespace):
        self.kubernetes = kubernetes
        self.namespace = namespace

    def kubectl(self, *arguments, text=None):
        return self.kubernetes.kubectl("--namespace", self.namespace, *arguments, text=text)

    def get(self, kind, name=None):
        return json.loads(self.kubectl("get", kind, *([name] if name else []), "--output", "json"))

    def answers_outside(self, address, port=6379):
        """Whether a server answers a client outside at that address."""
        return self.kubernetes.outside(sys.executable, "-c", ASK, str(address), str(port)).stdout.strip() == "+PONG"

    def load_balancer(self, name, *, families=("IPv4",), **annotations):
        """Make or change a Service of type LoadBalancer."""
        policy = "RequireDualStack" if len(families) > 1 else "SingleStack"
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "annotations": {f"sandbox.valkey.io/{key}": value for key, value in annotations.items()}},
            "spec": {
                "type": "LoadBalancer",
                "ipFamilies": list(families),
                "ipFamilyPolicy": policy,
                "selector": {"app": "some"},
                "ports": [{"port": 6379}],
            },
        }
        self.kubectl("apply", "--filename", "-", text=json.dumps(body))

    def ingress(self, name):
        return self.get("service", name)["status"]["loadBalancer"].get("ingress", [])


@pytest.fixture(scope="module")
def place(kubernetes):
    namespace = f"sandbox-{time.monotonic_ns()}"
    kubernetes.kubectl("create", "namespace", namespace)
    kubernetes.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    made = Place(kubernetes, namespace)
    made.kubectl("apply", "--filename", "-", text=SERVERS)
    made.kubectl("rollout", "status", "daemonset/some", "--timeout=60s")
    yield made
    kubernetes.kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def until():
    def wait(condition, seconds=10):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.2)

    return wait
