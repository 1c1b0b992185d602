"""Servers for routers to lead to."""

import socket
import ssl
from contextlib import contextmanager

from authorities import authority
from e2e import api as kinds
from e2e import programs
from e2e.secured import put

A = authority("A")
NAMES = ("one", "two")
PASSWORD = "secret"
PORT = 6380


def host(name):
    return f"{name}.routed.example.com"


class Servers:
    """Two Valkey servers with TLS while `with` holds, each with a certificate for its own host alone, and a Service for each."""

    def __init__(self, api, namespace, directory):
        self._api = api
        self.namespace = namespace
        self._hosts, self._trust = directory / "hosts", directory / "ca.crt"
        self._trust.write_text(A.certificate)

    def __enter__(self):
        self._api.create(kinds.NAMESPACE, {"metadata": {"name": self.namespace}})
        for name in NAMES:
            put(self._api, self.namespace, A.issue(host(name)).secret(A), name=name)
            self._api.create(kinds.POD, _pod(name, self.namespace))
            self.service(name, name)
        pods = self._api.until(kinds.POD, self.namespace, _all_ready, what="servers that answer")
        self.ids = {pod["metadata"]["name"]: self._asked(pod["status"]["podIP"], 6379, pod["metadata"]["name"]) for pod in pods}
        return self

    def __exit__(self, *_):
        self._api.delete(kinds.NAMESPACE, self.namespace)

    def service(self, name, server):
        """A Service that leads to a server, made or changed."""
        spec = {"selector": {"server": server}, "ports": [{"name": "valkey", "port": PORT, "targetPort": 6379}]}
        metadata = {"name": name, "namespace": self.namespace}
        self._api.apply(kinds.SERVICE, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})

    def reached(self, name, address, port):
        """The server that a client outside reaches there under a server's host, verified; else a complaint in brackets."""
        self._hosts.write_text(f"{address} {host(name)}\n127.0.0.1 localhost\n")
        asked = f"{host(name)}:{port}"
        told = programs.node_ids([asked], login=("default", PASSWORD), hosts=self._hosts, trust=self._trust)[asked]
        return self._named(told)

    @contextmanager
    def connection(self, name, address, port):
        """A connection that stays open, as a function that asks who is at its other end."""
        context = ssl.create_default_context(cafile=str(self._trust))
        with (
            socket.create_connection((address, port), 5) as plain,
            context.wrap_socket(plain, server_hostname=host(name)) as secured,
            secured.makefile("rwb") as stream,
        ):
            yield lambda: self._named(_ask(stream))

    def _asked(self, address, port, name):
        with self.connection(name, address, port) as ask:
            return ask()

    def _named(self, told):
        return next((name for name, node_id in getattr(self, "ids", {}).items() if node_id == told), told)


def _ask(stream):
    stream.write(f"AUTH {PASSWORD}\r\nCLUSTER MYID\r\n".encode())
    stream.flush()
    lines = [stream.readline().decode().strip() for _ in range(3)]
    assert lines[:2] == ["+OK", "$40"], lines
    return lines[2]


def _pod(name, namespace):
    files = {"cert-file": "tls.crt", "key-file": "tls.key", "ca-cert-file": "ca.crt"}
    certificate = [word for option, file in files.items() for word in (f"--tls-{option}", f"/tls/{file}")]
    secured = ["--port", "0", "--tls-port", "6379", "--tls-auth-clients", "no", *certificate]
    asked = ["valkey-cli", "--tls", "--insecure", "-a", PASSWORD, "ping"]
    container = {
        "name": "valkey",
        "image": "docker.io/valkey/valkey:9.1.2",
        "args": ["valkey-server", "--cluster-enabled", "yes", "--save", "", "--requirepass", PASSWORD, *secured],
        "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
        "readinessProbe": {"exec": {"command": asked}, "periodSeconds": 1},
    }
    spec = {
        "containers": [container],
        "volumes": [{"name": "tls", "secret": {"secretName": name}}],
        "terminationGracePeriodSeconds": 0,
    }
    return {"metadata": {"name": name, "namespace": namespace, "labels": {"server": name}}, "spec": spec}


def _all_ready(pods):
    def is_ready(pod):
        return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))

    return len(pods) == len(NAMES) and all(is_ready(pod) for pod in pods) and pods
