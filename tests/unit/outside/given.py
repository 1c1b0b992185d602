"""A cluster of 3 × (1+1) with node ports as Kubernetes has it, and what is seen of it when all is well."""

from dataclasses import replace

from valkey_operator.outside.seen import Dial, Redirect, Seen, Told
from valkey_operator.outside.target import target

HOSTS = {(shard, node): f"192.0.2.1{(shard + node) % 3}" for shard in range(3) for node in range(2)}
START = ("192.0.2.10", 31199)


def node_id(shard, node):
    return f"{shard}{node}" * 20


def port(shard, node):
    return 31200 + 100 * node + shard


def cluster(**external):
    """The ValkeyCluster; `external` changes status.externalAccess."""
    told = {
        "type": "NodePort",
        "ready": True,
        "bootstrap": {"service": "orders", "addresses": ["192.0.2.10:31199"]},
        "endpoints": [
            {
                "shard": shard,
                "service": f"orders-{shard}",
                "nodes": [
                    {
                        "node": node,
                        "role": "replica" if node else "primary",
                        "host": HOSTS[shard, node],
                        "port": port(shard, node),
                        "address": f"{HOSTS[shard, node]}:{port(shard, node)}",
                        "announced": True,
                    }
                    for node in range(2)
                ],
            }
            for shard in range(3)
        ],
    }
    return {
        "metadata": {"namespace": "shop", "name": "orders"},
        "spec": {"externalAccess": {"enabled": True, "type": "NodePort"}},
        "status": {"externalAccess": told | external},
    }


def nodes():
    """The ValkeyNodes."""
    return [
        {
            "metadata": {"name": f"orders-{shard}-{node}"},
            "spec": {"cluster": "orders", "shard": shard, "node": node},
            "status": {
                "nodeId": node_id(shard, node),
                "podIP": f"10.0.{shard}.{node}",
                "machine": f"machine-{(shard + node) % 3}",
            },
        }
        for shard in range(3)
        for node in range(2)
    ]


def orders(**external):
    """What is to be checked."""
    return target(cluster(**external), nodes())


def told(by):
    """What every server tells when all is well."""
    return tuple(Told(by, node_id(*place), host, port(*place)) for place, host in HOSTS.items())


def dial(shard, node):
    """What is seen of a node when all is well: it leads to the next shard."""
    away = (shard + 1) % 3
    return Dial(
        ip=HOSTS[shard, node],
        milliseconds=3,
        id=node_id(shard, node),
        told=(*told("CLUSTER SLOTS"), *told("CLUSTER SHARDS"), *told("CLUSTER NODES")),
        redirect=Redirect(100, node_id(away, 0), HOSTS[away, 0], port(away, 0), ""),
    )


def seen(**changed):
    """What is seen at every address; `at_<shard>_<node>` or `start` gives other values to the dial there."""
    found = [
        Seen(host, port(*place), (replace(dial(*place), **changed.get("at_{}_{}".format(*place), {})),))
        for place, host in HOSTS.items()
    ]
    return [*found, Seen(*START, (replace(dial(0, 0), **changed.get("start", {})),))]
