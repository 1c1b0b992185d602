"""OpenShift's Routes: their real kind, and a stand-in for the router that admits them and leads their names.

Real are the CustomResourceDefinition, as OpenShift publishes it, and Envoy, which passes TLS on by name. Not real is what tells Envoy and
writes the statuses: it has the conditions of OpenShift's router and its first rules (a Route is admitted at once, whether its Service is there
or not; of several for one host the oldest is), but not its other ones, nor OpenShift's API server, which fills in hosts and keeps most users
from changing them.
"""

import datetime as dt
import threading

import httpx2

from e2e import api as kinds
from e2e import custom_resources, envoy
from e2e.api import Kind
from e2e.custom_resources import Module

ROUTE = Kind("route.openshift.io/v1", "routes")
API = Module("github.com/openshift/api", "v0.0.0-20251015095338-264e80a2b6e7", "h1:Ot2fbEEPmF3WlPQkyEW/bUCV38GMugH/UmZvxpWceNc=")
ADDRESS, PORT = envoy.ADDRESS, 443
NAME = {"routerName": "default", "routerCanonicalHostname": "router-default.apps.example.com"}
SERVICE_NAME = "kubernetes.io/service-name"


def install(api):
    """The API server serves Routes afterwards."""
    custom_resources.install(api, _definitions())


def uninstall(api):
    """The API server knows nothing of Routes afterwards."""
    custom_resources.uninstall(api, _definitions())


def route(name, namespace, *, host, service, port):
    """A Route that passes TLS on to a Service; its port is a port's name there, or a number of the pods."""
    spec = {"host": host, "to": {"kind": "Service", "name": service}, "port": {"targetPort": port}}
    metadata = {"name": name, "namespace": namespace}
    body = {"apiVersion": ROUTE.group_version, "kind": "Route", "metadata": metadata}
    return body | {"spec": spec | {"tls": {"termination": "passthrough"}}}


class Router:
    """Admits Routes or refuses them while `with` holds. A Service or its pods that change are noticed within a second."""

    def __init__(self, kubernetes, directory):
        self._api = kinds.Api(kubernetes.kubeconfig)
        self._envoy = envoy.Envoy(directory, port=PORT)
        self._led = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.refused = {}
        """Hosts that it does not admit from now on, each with a reason and a message."""

    def __enter__(self):
        self._envoy.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ending.set()
        self._thread.join()
        self._envoy.__exit__()
        self._api.close()

    def _work(self):
        while not self._ending.is_set():
            for routes in self._api.seen(ROUTE, None, seconds=1):
                self._settle(routes)

    def _settle(self, routes):
        admitted = {}
        for each in sorted(routes, key=_age):
            refusal = self._refusal(each, admitted)
            if refusal is None:
                admitted[each["spec"]["host"]] = each
            self._tell(each, refusal)
        places = {host: place for host, each in admitted.items() if (place := self._place(each))}
        if places != self._led:
            self._envoy.lead(places)
            self._led = places

    def _refusal(self, route, admitted):
        host = route["spec"]["host"]
        if host in admitted:
            older = admitted[host]["metadata"]
            return "HostAlreadyClaimed", f"{host} belongs to the older route {older['namespace']}/{older['name']}"
        return self.refused.get(host)

    def _tell(self, route, refusal):
        condition = {"type": "Admitted", "status": "True"}
        if refusal is not None:
            condition |= {"status": "False", "reason": refusal[0], "message": refusal[1]}
        entry = {"host": route["spec"]["host"], **NAME, "wildcardPolicy": "None"}
        if _without_times(route.get("status", {}).get("ingress", [])) == [entry | {"conditions": [condition]}]:
            return
        condition["lastTransitionTime"] = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"status": {"ingress": [entry | {"conditions": [condition]}]}}
        try:
            self._api.patch(ROUTE, route["metadata"]["name"], route["metadata"]["namespace"], status, subresource="status")
        except kinds.RefusedError as error:
            if error.code != httpx2.codes.NOT_FOUND:  # it has gone meanwhile
                raise

    def _place(self, route):
        """Where the Service of a Route is, by the port that its pods have under that name or number; nothing while there is none."""
        namespace, spec = route["metadata"]["namespace"], route["spec"]
        service = self._api.find(kinds.SERVICE, spec["to"]["name"], namespace)
        if service is None or spec["tls"]["termination"] != "passthrough":
            return None
        slices = self._api.list(kinds.SLICE, namespace, labels={SERVICE_NAME: spec["to"]["name"]})
        wanted = spec["port"]["targetPort"]
        names = {port["name"] for each in slices for port in each["ports"] or [] if wanted in {port["name"], port["port"]}}
        ports = [port["port"] for port in service["spec"]["ports"] if port.get("name", "") in names]
        return (service["spec"]["clusterIP"], ports[0]) if ports else None


def _definitions():
    return API.definitions("route/v1/zz_generated.crd-manifests", "routes.crd.yaml")


def _age(route):
    metadata = route["metadata"]
    return metadata["creationTimestamp"], metadata["namespace"], metadata["name"]


def _without_times(entries):
    def plain(conditions):
        return [{key: value for key, value in each.items() if key != "lastTransitionTime"} for each in conditions]

    return [entry | {"conditions": plain(entry["conditions"])} for entry in entries]
