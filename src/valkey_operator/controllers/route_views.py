"""Views of routes and Gateways: what they lead to is ours and known, what counts is what their parents say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from valkey_operator.controllers.views import Seen, child
from valkey_operator.core import names, observed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Object = dict[str, Any]


def gateway_route(obj: Object) -> Seen[observed.Route]:
    """A TLSRoute or TCPRoute, of any version."""
    metadata, spec = obj["metadata"], obj["spec"]
    told = obj.get("status", {}).get("parents") or ()
    parents = tuple(_listener(reference, metadata["namespace"]) for reference in spec.get("parentRefs") or ())
    verdicts = tuple(_of_gateway(obj, reference, told) for reference in parents)
    return _seen(obj, hosts=spec.get("hostnames") or (), parents=parents, verdicts=verdicts)


def ingress(obj: Object) -> Seen[observed.Route]:
    """An Ingress: its controller says that it has taken it by giving it an address."""
    spec = obj["spec"]
    parent = f"Ingress class {spec['ingressClassName']}" if spec.get("ingressClassName") else "the default Ingress class"
    accepted = True if obj.get("status", {}).get("loadBalancer", {}).get("ingress") else None
    hosts = [rule["host"] for rule in spec.get("rules") or () if rule.get("host")]
    return _seen(obj, hosts=hosts, verdicts=(observed.Verdict(parent, accepted),))


def openshift_route(obj: Object) -> Seen[observed.Route]:
    """A Route of OpenShift: each router says whether it admits it."""
    host = obj["spec"].get("host", "")
    told = [each for each in obj.get("status", {}).get("ingress") or () if each.get("host") == host]
    verdicts = tuple(_verdict(f"router {each.get('routerName', '')}", each, wanted=("Admitted",)) for each in told)
    return _seen(obj, hosts=(host,), verdicts=verdicts or (observed.Verdict("the router", None),))


def gateway(obj: Object) -> observed.Gateway:
    """A Gateway."""
    metadata = obj["metadata"]
    return observed.Gateway(
        namespace=metadata["namespace"],
        name=metadata["name"],
        addresses=tuple(address["value"] for address in obj.get("status", {}).get("addresses") or ()),
        listeners=tuple(
            observed.Listener(name=each["name"], port=each["port"], protocol=each["protocol"]) for each in obj["spec"]["listeners"]
        ),
    )


def _seen(
    obj: Object,
    *,
    hosts: Iterable[str],
    parents: tuple[observed.ListenerRef, ...] = (),
    verdicts: tuple[observed.Verdict, ...],
) -> Seen[observed.Route]:
    made = child(obj)
    return Seen(
        made,
        observed.Route(
            kind=made.kind,
            namespace=made.namespace,
            name=made.name,
            uid=made.uid,
            created=obj["metadata"]["creationTimestamp"],
            deleting=made.deleting,
            ours=names.EXTERNAL_ACCESS in made.labels,
            hosts=tuple(hosts),
            parents=parents,
            verdicts=verdicts,
        ),
    )


def _listener(reference: Mapping[str, Any], namespace: str) -> observed.ListenerRef:
    return observed.ListenerRef(
        reference.get("namespace", namespace), reference["name"], reference.get("sectionName", ""), reference.get("port", 0)
    )


def _of_gateway(obj: Object, parent: observed.ListenerRef, told: Iterable[Mapping[str, Any]]) -> observed.Verdict:
    """What the Gateway says of the route as it is now: both that it takes it, and that it found its Service."""
    namespace = obj["metadata"]["namespace"]
    mine = next((each for each in told if _listener(each["parentRef"], namespace) == parent), {})
    return _verdict(parent.text, mine, wanted=("Accepted", "ResolvedRefs"), generation=obj["metadata"].get("generation", 0))


def _verdict(parent: str, told: Mapping[str, Any], *, wanted: tuple[str, ...], generation: int = 0) -> observed.Verdict:
    conditions = {each["type"]: each for each in told.get("conditions") or ()}
    current = {type_: each for type_, each in conditions.items() if each.get("observedGeneration", generation) >= generation}
    refused = list(_refusals(current[type_] for type_ in wanted if type_ in current))
    if not refused and any(type_ not in current for type_ in wanted):
        before = all(type_ in conditions and conditions[type_]["status"] == "True" for type_ in wanted)
        return observed.Verdict(parent, None, accepted_before=before)
    return observed.Verdict(parent, accepted=not refused, message="; ".join(refused))


def _refusals(conditions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for condition in conditions:
        if condition["status"] != "True":
            yield ": ".join(word for word in (condition.get("reason", ""), " ".join(condition.get("message", "").split())) if word)
