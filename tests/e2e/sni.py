"""The names of a cluster named `web` behind a router by SNI, and where they should lead."""

from e2e import api as kinds
from e2e import envoy

NODES = [(shard, node) for shard in range(3) for node in range(2)]


def places(cluster, hosts_of):
    """Where each of these names should lead, by the name of its Service, once all of them are there."""

    def are_there(found):
        ips = {item["metadata"]["name"]: item["spec"]["clusterIP"] for item in found}
        return set(hosts_of.values()) <= ips.keys() and {host: (ips[name], envoy.PORT) for host, name in hosts_of.items()}

    return cluster.api.until(kinds.SERVICE, cluster.namespace, are_there, labels=cluster.labels, what="Services of the router")


def by_node(cluster, template="web-{shard}-{node}.sni.example.com"):
    """A name for each node."""
    names = {template.format(shard=shard, node=node): f"web-{shard}-{node}" for shard, node in NODES}
    return places(cluster, names | {"web.sni.example.com": "web"})


def seeds(cluster):
    """Where clients begin: at the primaries."""
    return [shard["address"] for shard in cluster.status()["externalAccess"]["endpoints"]]
