"""The real API server as tests see it: objects are plain dicts, and waits are watches."""

import json
import time
from dataclasses import dataclass

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.generic_client import GenericSyncClient

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Kind:
    group_version: str
    plural: str
    namespaced: bool = True

    def path(self, namespace, name=None):
        root = "apis" if "/" in self.group_version else "api"
        within = ["namespaces", namespace] if self.namespaced and namespace else []
        return "/".join([root, self.group_version, *within, self.plural, *([name] if name else [])])


CLUSTER = Kind("valkey.io/v1alpha1", "valkeyclusters")
RECORD = Kind("valkey.io/v1alpha1", "valkeynodes")
SERVICE = Kind("v1", "services")
SECRET = Kind("v1", "secrets")
CONFIG_MAP = Kind("v1", "configmaps")
POD = Kind("v1", "pods")
NODE = Kind("v1", "nodes", namespaced=False)
NAMESPACE = Kind("v1", "namespaces", namespaced=False)
EVENT = Kind("events.k8s.io/v1", "events")
STATEFUL_SET = Kind("apps/v1", "statefulsets")
DEPLOYMENT = Kind("apps/v1", "deployments")
BUDGET = Kind("policy/v1", "poddisruptionbudgets")
SLICE = Kind("discovery.k8s.io/v1", "endpointslices")
INGRESS = Kind("networking.k8s.io/v1", "ingresses")
INGRESS_CLASS = Kind("networking.k8s.io/v1", "ingressclasses", namespaced=False)
LEASE = Kind("coordination.k8s.io/v1", "leases")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = Kind("rbac.authorization.k8s.io/v1", "clusterrolebindings", namespaced=False)
SERVICE_ACCOUNT = Kind("v1", "serviceaccounts")
DEFINITION = Kind("apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)


class RefusedError(Exception):
    """The API server's answer to a request that it did not carry out."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Api:
    """The API server, as its administrator."""

    def __init__(self, kubeconfig):
        params = ConnectionParams(timeout=httpx2.Timeout(30), trust_env=False)
        self._http = GenericSyncClient(params, KubeConfig.from_file(kubeconfig))._client

    def close(self):
        self._http.close()

    def get(self, kind, name, namespace=None):
        return self._call("GET", kind.path(namespace, name))

    def find(self, kind, name, namespace=None):
        """The object, or None where there is none."""
        try:
            return self.get(kind, name, namespace)
        except RefusedError as error:
            if error.code == httpx2.codes.NOT_FOUND:
                return None
            raise

    def list(self, kind, namespace=None, *, labels=None):
        return self._call("GET", kind.path(namespace), params=_selected(labels))["items"]

    def create(self, kind, body):
        namespace = body["metadata"].get("namespace")
        return self._call("POST", kind.path(namespace), body=body)

    def apply(self, kind, body):
        """The object has these fields afterwards, whether it was there before or not."""
        name, namespace = body["metadata"]["name"], body["metadata"].get("namespace")
        params = {"fieldManager": "tests", "force": "true"}
        return self._call("PATCH", kind.path(namespace, name), body=body, params=params, media=APPLY)

    def serves(self, kind):
        """Whether there is this kind in this version at all."""
        return self._http.get(kind.path(None), params={"limit": "1"}).status_code != httpx2.codes.NOT_FOUND

    def token(self, account, namespace):
        """A token by which a program is this service account, for some hours."""
        path = SERVICE_ACCOUNT.path(namespace, account)
        return self._call("POST", f"{path}/token", body={"spec": {"expirationSeconds": 14400}})["status"]["token"]

    def patch(self, kind, name, namespace, patch, *, subresource=None):
        path = kind.path(namespace, name) + (f"/{subresource}" if subresource else "")
        return self._call("PATCH", path, body=patch, media=MERGE)

    def delete(self, kind, name, namespace=None, *, grace=None):
        options = {"propagationPolicy": "Background"} | ({"gracePeriodSeconds": grace} if grace is not None else {})
        try:
            self._call("DELETE", kind.path(namespace, name), body=options)
        except RefusedError as error:
            if error.code != httpx2.codes.NOT_FOUND:
                raise

    def until(self, kind, namespace, holds, *, what, labels=None, name=None, timeout=60.0):
        """What `holds` says of the objects once that is true. They are watched, so that no moment of theirs is missed and none is waited for in vain."""
        items = []
        for items in self.seen(kind, namespace, labels=labels, name=name, seconds=timeout):
            if found := holds(items):
                return found
        raise AssertionError(f"waited {timeout:g} s in vain: {what}; at the end: {_shown(items)}")

    def seen(self, kind, namespace, *, seconds, labels=None, name=None):
        """The objects as they are, and again at each of their changes until the time is up."""
        deadline = time.monotonic() + seconds
        params = _selected(labels) | ({"fieldSelector": f"metadata.name={name}"} if name else {})
        while True:
            listed = self._call("GET", kind.path(namespace), params=params)
            known = {_key(item): item for item in listed["items"]}
            yield list(known.values())
            for event in self._events(kind, namespace, params, listed["metadata"]["resourceVersion"], deadline=deadline):
                if event["type"] == "ERROR":
                    break
                item = event["object"]
                if event["type"] == "DELETED":
                    known.pop(_key(item), None)
                else:
                    known[_key(item)] = item
                yield list(known.values())
            if time.monotonic() >= deadline:
                return

    def _events(self, kind, namespace, params, version, *, deadline):
        left = max(1, int(deadline - time.monotonic() + 1))
        params = params | {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(left)}
        with self._http.stream("GET", kind.path(namespace), params=params, timeout=left + 10) as answer:
            for line in answer.iter_lines():
                yield json.loads(line)
                if time.monotonic() >= deadline:
                    return

    def _call(self, method, path, *, body=None, params=None, media="application/json"):
        content = json.dumps(body) if body is not None else None
        answer = self._http.request(method, path, params=params, content=content, headers={"Content-Type": media})
        if answer.is_error:
            is_told = answer.headers.get("Content-Type", "").startswith("application/json")
            raise RefusedError(answer.status_code, answer.json()["message"] if is_told else answer.text)
        return answer.json()


def _selected(labels):
    return {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())} if labels else {}


def _key(item):
    return item["metadata"].get("namespace"), item["metadata"]["name"]


def _shown(items):
    return json.dumps([{"name": item["metadata"]["name"], "status": item.get("status")} for item in items])[:4000]
