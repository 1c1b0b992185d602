"""A ValkeyCluster in a test's hands: its objects, its servers, and waits for what it should become."""

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path

from valkey import Valkey

from e2e import api as kinds

SLOTS = 16384
OPERATOR = "_operator"


@dataclass(frozen=True, slots=True)
class ValkeyCluster:
    """One ValkeyCluster by its name."""

    api: kinds.Api
    namespace: str
    name: str
    trust: Path | None = None
    """With TLS: a file with the authorities of its servers."""

    # --- the object

    def object(self):
        return self.api.get(kinds.CLUSTER, self.name, self.namespace)

    def status(self):
        return self.object().get("status", {})

    def patch(self, spec):
        """Change the spec as `kubectl patch --type merge` does."""
        self.api.patch(kinds.CLUSTER, self.name, self.namespace, {"spec": spec})

    def external(self, **changes):
        """Change spec.externalAccess."""
        self.patch({"externalAccess": changes})

    def condition(self, type_):
        return condition(self.object(), type_)

    def wait_for(self, type_, status="True", *, reason=None, message="", timeout=60.0):
        """The condition once it is so for the spec as it is now; `message` is a pattern found in its message."""

        def holds(found):
            told = condition(found[0], type_) if found else None
            return (
                told is not None
                and told["observedGeneration"] == found[0]["metadata"]["generation"]
                and told["status"] == status
                and reason in (None, told["reason"])
                and re.search(message, told["message"]) is not None
                and told
            )

        return self.wait_until(holds, what=f"{type_} to be {status} ({reason}, {message!r})", timeout=timeout)

    def wait_until_ready(self, *, outside=True, timeout=60.0):
        """The whole object once all is well for the spec as it is now."""
        wanted = ("Ready", "ExternalAccessReady") if outside else ("Ready",)

        def holds(found):
            return bool(found) and is_well(found[0], wanted) and found[0]

        return self.wait_until(holds, what=f"{' and '.join(wanted)}", timeout=timeout)

    def wait_until(self, holds, *, what, timeout=60.0):
        return self.api.until(kinds.CLUSTER, self.namespace, holds, name=self.name, what=f"{self.name}: {what}", timeout=timeout)

    def wait_until_drained(self, *, what="old endpoints gone"):
        """Nothing is left that only old endpoints need."""
        self.wait_until(lambda found: "drainingSince" not in found[0]["status"]["externalAccess"], what=what)

    def events(self, reason=None):
        """The events that regard it, oldest first."""
        found = [
            event
            for event in self.api.list(kinds.EVENT, self.namespace)
            if event["regarding"].get("name") == self.name and event["regarding"]["kind"] == "ValkeyCluster"
        ]
        return [event for event in sorted(found, key=lambda e: e["eventTime"] or "") if reason in (None, event["reason"])]

    def wait_for_event(self, reason, *, note="", timeout=30.0):
        def holds(found):
            return [
                event
                for event in found
                if event["regarding"].get("name") == self.name and event["reason"] == reason and re.search(note, event["note"])
            ]

        return self.api.until(kinds.EVENT, self.namespace, holds, what=f"event {reason} of {self.name}", timeout=timeout)[0]

    # --- what belongs to it

    @property
    def labels(self):
        return {"valkey.io/cluster": self.name}

    def pods(self):
        return sorted(self.api.list(kinds.POD, self.namespace, labels=self.labels), key=lambda pod: pod["metadata"]["name"])

    def pod(self, shard, node):
        return self.api.get(kinds.POD, f"valkey-{self.name}-{shard}-{node}-0", self.namespace)

    def replace(self, pod, *, grace=None):
        """Delete a pod, and wait until the next one of its name is ready. A failover's own moment without Ready is over by then."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]

        def holds(found):
            told = condition(found[0], "Ready") if found else None
            return told is not None and found[0]["metadata"]["uid"] != uid and told["status"] == "True"

        self.api.delete(kinds.POD, name, self.namespace, grace=grace)
        self.api.until(kinds.POD, self.namespace, holds, name=name, what=f"another pod {name}")

    def record(self, shard, node):
        return self.api.get(kinds.RECORD, f"{self.name}-{shard}-{node}", self.namespace)

    def services(self):
        """Its Services for external access by name."""
        found = self.api.list(kinds.SERVICE, self.namespace, labels=self.labels)
        return {item["metadata"]["name"]: item for item in found if "valkey.io/external-access" in item["metadata"]["labels"]}

    def node_ports(self):
        """The node ports of each of its Services by port name."""
        return {
            name: {port["name"]: port.get("nodePort") for port in service["spec"]["ports"]}
            for name, service in self.services().items()
        }

    def pod_identities(self):
        """By these it is seen whether a pod was replaced or a container of it restarted."""
        return {
            pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
            for pod in self.pods()
        }

    def versions(self):
        """The resource versions of all that the operator writes: equal, when nothing was written."""
        listed = (
            kinds.CLUSTER,
            kinds.RECORD,
            kinds.SERVICE,
            kinds.CONFIG_MAP,
            kinds.SECRET,
            kinds.STATEFUL_SET,
            kinds.BUDGET,
            kinds.POD,
        )
        return {
            f"{kind.plural}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
            for kind in listed
            for item in self.api.list(kind, self.namespace)
        }

    def secret(self, name):
        data = self.api.get(kinds.SECRET, name, self.namespace)["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def login(self, user=OPERATOR):
        """A user whose password the operator made, and that password."""
        return user, self.secret(f"valkey-{self.name}-system")[user]

    # --- its servers

    def ask(self, pod, *command, login=None):
        """The plain reply of one server."""
        username, password = login or self.login()
        secured = {"ssl": True, "ssl_ca_certs": str(self.trust), "ssl_check_hostname": False} if self.trust else {}
        with Valkey(host=pod["status"]["podIP"], username=username, password=password, decode_responses=True, **secured) as client:
            client.response_callbacks.clear()
            return client.execute_command(*command)

    def slots(self, pod):
        """What a server tells clients: (first slot, last slot, primary, replicas), where nodes are (host, port, id)."""
        told = self.ask(pod, "CLUSTER SLOTS")
        return sorted((first, last, *(tuple(node[:3]) for node in nodes)) for first, last, *nodes in told)

    def ids(self):
        """The node id of each server by its pod's name."""
        return {pod["metadata"]["name"]: self.ask(pod, "CLUSTER MYID") for pod in self.pods()}

    def primary(self, shard):
        """The pod of the shard's primary, by its label, which two pods have for a moment at a failover."""
        labels = self.labels | {"valkey.io/shard-index": str(shard), "valkey.io/role": "primary"}
        (found,) = self.api.until(
            kinds.POD, self.namespace, lambda pods: len(pods) == 1 and pods, labels=labels, what=f"one primary of shard {shard}"
        )
        return found

    def make_first_nodes_primaries(self):
        """Node 0 of each shard is its primary: on a busy machine others may have become so while the cluster was formed."""
        for shard in sorted({pod["metadata"]["labels"]["valkey.io/shard-index"] for pod in self.pods()}):
            pod = self.pod(shard, 0)
            if "myself,master" not in self.ask(pod, "CLUSTER NODES"):
                self.ask(pod, "CLUSTER FAILOVER")
            self.wait_until_primary(pod["metadata"]["name"])

    def wait_until_primary(self, name, *, timeout=30.0):
        """The pod of that name has the label of a primary."""
        self.api.until(kinds.POD, self.namespace, _is_primary, name=name, what=f"{name} to be a primary", timeout=timeout)

    def endpoints(self):
        """The endpoints of the status by (shard, node)."""
        external = self.status().get("externalAccess", {})
        return {(shard["shard"], node["node"]): node for shard in external.get("endpoints", []) for node in shard.get("nodes", [])}

    def bootstrap(self):
        """The addresses where clients outside begin."""
        return self.status()["externalAccess"]["bootstrap"]["addresses"]

    def pod_addresses(self):
        """The addresses of the servers inside."""
        return [f"{pod['status']['podIP']}:6379" for pod in self.pods()]


def _is_primary(found):
    return found and found[0]["metadata"]["labels"].get("valkey.io/role") == "primary"


def condition(item, type_):
    """A condition of an object, None where it is not told."""
    return next((told for told in item.get("status", {}).get("conditions", []) if told["type"] == type_), None)


def is_well(item, types):
    """Whether these conditions are True for the spec as it is now."""
    told = [condition(item, type_) for type_ in types]
    return all(c and c["status"] == "True" and c["observedGeneration"] == item["metadata"]["generation"] for c in told)


def manifest(name, namespace, *, shards=3, replicas=1, **spec):
    """A ValkeyCluster as a user writes it."""
    return {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "ValkeyCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"shards": shards, "replicas": replicas, **spec},
    }


def text(item):
    """An object as input for kubectl."""
    return json.dumps(item)


NODE_PORT = {"enabled": True, "type": "NodePort"}
