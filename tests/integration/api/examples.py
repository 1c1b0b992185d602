"""Specs that the API server refuses, with what it prints, and specs that it accepts; the Python twins are held to the same."""

from typing import Any

from integration.api.exposure_examples import EXPOSURE_ACCEPTED, EXPOSURE_REFUSED
from integration.api.node_port_examples import NODE_PORT_ACCEPTED, NODE_PORT_REFUSED
from integration.api.refusal import UNCHECKED, Refused
from integration.api.route_examples import ROUTE_ACCEPTED, ROUTE_REFUSED

OWNED = "set by the operator, which sets up network, cluster and files of every server: remove it"
ANNOUNCED = "set by the operator, which announces addresses as spec.externalAccess says: remove it"
USERS = "set by the operator from spec.users and its own users: remove it"
TLS_FIXED = (
    "TLS cannot be turned on or off while the cluster exists, since servers with it and without it cannot talk to each other: "
    "create a new ValkeyCluster and move the data; certificate.secretName may change"
)
FIXED = "cannot be changed yet: create a new ValkeyCluster with the number you want and move the data"
BAD_NAME = (
    "metadata.name: Invalid value: must be lower-case letters, digits and '-', begin with a letter and end with a letter or digit: "
    "Services are named after it"
)
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"


def config(settings: dict[str, str], *says: str) -> Refused:
    return Refused(
        f"config {list(settings)}", {"shards": 3, "config": settings}, tuple(f"spec.config: Invalid value: {line}" for line in says)
    )


def user(fields: dict[str, Any], *says: str) -> Refused:
    return Refused(f"user {fields}", {"shards": 3, "users": [fields]}, tuple(f"spec.users[0].{line}" for line in says))


def spreads(place: str, **modes: str) -> dict[str, Any]:
    return {place: {"spread": {pods: {"mode": mode} for pods, mode in modes.items()}}}


def scheduling(title: str, fields: dict[str, Any], *says: str) -> Refused:
    return Refused(title, {"shards": 3, "scheduling": fields}, tuple(f"spec.scheduling.{line}" for line in says))


def constraint(key: str, when: str) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when}


REFUSED = (
    # size
    Refused(
        "no shards", {"shards": 0}, ("spec.shards: Invalid value: 0: spec.shards in body should be greater than or equal to 1",)
    ),
    Refused(
        "20,000 shards",
        {"shards": 20000},
        ("spec.shards: Invalid value: 20000: spec.shards in body should be less than or equal to 1000",),
    ),
    Refused(
        "more nodes than a cluster holds",
        {"shards": 400, "replicas": 2},
        (
            (
                "spec.shards: Invalid value: shards × (1 + replicas) must be at most 1000, the largest cluster that Valkey recommends: "
                "lower one of them"
            ),
        ),
    ),
    Refused(
        "six replicas",
        {"shards": 3, "replicas": 6},
        ("spec.replicas: Invalid value: 6: spec.replicas in body should be less than or equal to 5",),
    ),
    Refused(
        "shards as text",
        {"shards": "3"},
        ('spec.shards: Invalid value: "string": spec.shards in body must be of type integer: "string"', UNCHECKED),
    ),
    Refused("no number of shards", {}, ("spec.shards: Required value", UNCHECKED)),
    Refused(
        "no time to stop",
        {"shards": 3, "terminationGracePeriodSeconds": 0},
        (
            (
                "spec.terminationGracePeriodSeconds: Invalid value: 0: spec.terminationGracePeriodSeconds in body should be greater than or "
                "equal to 1"
            ),
        ),
    ),
    # the cluster's name
    Refused(
        "a name of 60 characters",
        {"shards": 3},
        ("metadata.name: Too long: may not be more than 39 bytes", UNCHECKED),
        name="a" * 60,
    ),
    Refused("a name that begins with a digit", {"shards": 3}, (BAD_NAME,), name="1-cluster"),
    Refused("a name with a dot", {"shards": 3}, (BAD_NAME,), name="my.cluster"),
    # external access
    *NODE_PORT_REFUSED,
    *EXPOSURE_REFUSED,
    *ROUTE_REFUSED,
    # settings
    config({"PORT": "7000"}, f'["PORT"]: {OWNED}'),
    config({"tls-cert-file": "/a"}, f'["tls-cert-file"]: {OWNED}'),
    config({"Cluster-Announce-Hostname": "a"}, f'["Cluster-Announce-Hostname"]: {ANNOUNCED}'),
    config({"cluster-preferred-endpoint-type": "ip"}, f'["cluster-preferred-endpoint-type"]: {ANNOUNCED}'),
    config({"include": "/etc/passwd"}, f'["include"]: {OWNED}'),
    config({"aclfile": "/a"}, f'["aclfile"]: {USERS}'),
    config({"RequirePass": "x"}, f'["RequirePass"]: {USERS}'),
    config(
        {"bind": "::", "masterauth": "x", "replica-announce-ip": "1.2.3.4", "maxmemory": "1gb"},
        f'["replica-announce-ip"]: {ANNOUNCED}',
        f'["masterauth"]: {USERS}',
        f'["bind"]: {OWNED}',
    ),
    config(
        {"maxmemory": "1gb\nport 7000"}, '["maxmemory"]: the value has a line break or another control character: write one line'
    ),
    config({"save": "a\x00"}, '["save"]: the value has a line break or another control character: write one line'),
    config({"maxmemory 1gb\nport": "7"}, "a key is no setting's name: use letters, digits, '.', '_' and '-', at most 128"),
    config({"": "7"}, "a key is no setting's name: use letters, digits, '.', '_' and '-', at most 128"),
    config({"maxmemory": "1gb", "MaxMemory": "2gb"}, "a setting is there twice, in two cases of letters: keep one"),
    Refused(
        "a setting that YAML reads as a number",
        {"shards": 3, "config": {"maxclients": 100}},
        (
            'spec.config.maxclients: Invalid value: "integer": spec.config.maxclients in body must be of type string: "integer"',
            UNCHECKED,
        ),
    ),
    # users
    user(
        {"name": "_operator"},
        'name: Invalid value: "_operator": names that begin with _ belong to the operator\'s own users: choose another name',
    ),
    user(
        {"name": "my app", "nopass": True},
        'name: Invalid value: "my app": must hold only letters, digits and . _ : @ + -',
    ),
    user(
        {"name": "svc:app"},
        (
            "passwordSecret.keys: Required value: no key of a Secret can be named like this user: say in passwordSecret.keys which keys "
            "hold the passwords"
        ),
    ),
    user(
        {"name": "app", "nopass": True, "passwordSecret": {"name": "app"}},
        "passwordSecret: Forbidden: with nopass any password is right: remove one of the two",
    ),
    user(
        {"name": "app", "nopass": True, "resetpass": True},
        "resetpass: Forbidden: takes away what nopass gives: remove one of the two",
    ),
    user(
        {"name": "app", "permissions": "+get >hunter2"},
        (
            "permissions: Forbidden: has a password in plain text, which everybody who may read this object sees: put it into the Secret of "
            "passwordSecret"
        ),
    ),
    user(
        {"name": "app", "permissions": "+get\nuser intruder on nopass ~* +@all"},
        "permissions: Forbidden: has a line break or another control character: write all rules on one line",
    ),
    user(
        {"name": "app", "commands": {"allow": ["+get"]}},
        ("commands.allow: Invalid value: an entry is no command: write a name, command|subcommand or @category, without + and -"),
    ),
    user(
        {"name": "app", "keys": {"readWrite": ["a b"]}, "channels": {"patterns": ["a\nb"]}},
        (
            "keys.readWrite: Invalid value: a pattern has a space or a control character, which an ACL cannot express: use ? in "
            "its place"
        ),
        (
            "channels.patterns: Invalid value: a pattern has a space or a control character, which an ACL cannot express: use ? in "
            "its place"
        ),
    ),
    user(
        {"name": "app", "passwordSecret": {"keys": ["pass word"]}},
        "passwordSecret.keys: Invalid value: an entry is no key of a Secret: use letters, digits, '-', '_' and '.'",
    ),
    Refused(
        "one user twice",
        {"shards": 3, "users": [{"name": "app"}, {"name": "app"}]},
        ('spec.users[1]: Duplicate value: {"name":"app"}',),
    ),
    # scheduling
    scheduling(
        "two required spreads over nodes",
        spreads("node", primaries="Required", pods="Required"),
        (
            "node.spread: Invalid value: at most one of primaries, pods may be Required, since a pod may have only one such spread "
            "constraint: choose another mode for the others"
        ),
    ),
    scheduling(
        "two preferred spreads over zones",
        spreads("zone", shard="Preferred", pods="Preferred"),
        (
            "zone.spread: Invalid value: at most one of shard, primaries, pods may be Preferred, since a pod may have only one such spread "
            "constraint: choose another mode for the others"
        ),
    ),
    scheduling(
        "a constraint beside the same by spread",
        {**spreads("node", pods="Required"), "topologySpreadConstraints": [constraint("kubernetes.io/hostname", "DoNotSchedule")]},
        (
            "topologySpreadConstraints: Invalid value: a constraint on kubernetes.io/hostname with DoNotSchedule collides with node.spread "
            "set to Required: remove one of the two"
        ),
    ),
    scheduling(
        "a zone constraint beside the same by spread",
        {
            **spreads("zone", shard="Preferred"),
            "topologySpreadConstraints": [constraint("topology.kubernetes.io/zone", "ScheduleAnyway")],
        },
        (
            "topologySpreadConstraints: Invalid value: a constraint on topology.kubernetes.io/zone with ScheduleAnyway collides with "
            "zone.spread set to Preferred: remove one of the two"
        ),
    ),
    scheduling(
        "pinned and spread",
        {"zone": {"pinning": {"zones": ["a", "b"]}, "spread": {"shard": {"mode": "Required"}}}},
        (
            "zone.pinning: Forbidden: pods that are pinned to zones cannot be spread over them as well: remove pinning, or set every "
            "zone.spread mode to Disabled"
        ),
    ),
    scheduling(
        "pinned and selected",
        {"zone": {"pinning": {"zones": ["a"]}}, "nodeSelector": {"topology.kubernetes.io/zone": "a"}},
        "nodeSelector: Forbidden: topology.kubernetes.io/zone is set by zone.pinning: remove it here, or remove pinning",
    ),
    scheduling(
        "one zone twice",
        {"zone": {"pinning": {"zones": ["a", "a"]}}},
        "zone.pinning.zones: Invalid value: names a zone twice: list each once",
    ),
    # TLS
    Refused("TLS without a certificate", {"shards": 3, "tls": {}}, ("spec.tls.certificate: Required value", UNCHECKED)),
    Refused(
        "a certificate without a name",
        {"shards": 3, "tls": {"certificate": {"secretName": ""}}},
        (
            (
                'spec.tls.certificate.secretName: Invalid value: "": spec.tls.certificate.secretName in body should be at least 1 chars '
                "long"
            ),
        ),
    ),
    # pods
    Refused(
        "memory that is no quantity",
        {"shards": 3, "resources": {"requests": {"memory": "lots"}}},
        (
            (
                'spec.resources.requests.memory: Invalid value: "lots": spec.resources.requests.memory in body should match '
                f"'{QUANTITY}'"
            ),
        ),
    ),
    Refused(
        "a container without a name",
        {"shards": 3, "containers": [{"image": "sidecar:1"}]},
        ("spec.containers[0].name: Required value", UNCHECKED),
    ),
    Refused(
        "a constraint without a key",
        {"shards": 3, "scheduling": {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}},
        ("spec.scheduling.topologySpreadConstraints[0].topologyKey: Required value", UNCHECKED),
    ),
)

ACCEPTED: dict[str, dict[str, Any]] = {
    "the least": {"shards": 1},
    "three shards with a replica": {"shards": 3, "replicas": 1},
    "TLS": {"shards": 3, "tls": {"certificate": {"secretName": "orders-cert"}}},
    "a thousand nodes": {"shards": 500, "replicas": 1},
    **NODE_PORT_ACCEPTED,
    **EXPOSURE_ACCEPTED,
    **ROUTE_ACCEPTED,
    "settings": {
        "shards": 3,
        "config": {"maxmemory": "1gb", "MAXCLIENTS": "100", "save": "", "json.max-document-size": "1", "portability": "x"},
    },
    "settings that the operator changes for a while": {
        "shards": 3,
        "config": {"cluster-node-timeout": "5000", "repl-diskless-sync-delay": "5", "tracking-table-max-keys": "1"},
    },
    "users": {
        "shards": 3,
        "users": [
            {"name": "default", "enabled": False},
            {
                "name": "app",
                "passwordSecret": {"name": "app-passwords", "keys": ["old", "new"]},
                "commands": {"allow": ["@all", "config|get"], "deny": ["@dangerous"]},
                "keys": {"readWrite": ["app:*"], "readOnly": ["shared:*"], "writeOnly": ["log:ü*"]},
                "channels": {"patterns": ["news:*"]},
                "permissions": "~cache:* (+get ~other:*)",
            },
            {"name": "svc:app@example", "passwordSecret": {"keys": ["svc"]}},
            {"name": "reader", "nopass": True, "commands": {"allow": ["@read"]}},
            {"name": "gone", "resetpass": True},
        ],
    },
    "scheduling": {
        "shards": 3,
        "scheduling": {
            "tolerations": [
                {"key": "dedicated", "operator": "Equal", "value": "valkey", "effect": "NoExecute", "tolerationSeconds": 60}
            ],
            "nodeSelector": {"disktype": "ssd"},
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
            "topologySpreadConstraints": [
                {
                    **constraint("kubernetes.io/hostname", "ScheduleAnyway"),
                    "minDomains": 2,
                    "labelSelector": {"matchLabels": {"a": "b"}},
                }
            ],
            "priorityClassName": "high",
            **spreads("node", shard="Required", primaries="Required"),
            **spreads("zone", primaries="Required", pods="Preferred"),
        },
    },
    "pinned to zones": {
        "shards": 3,
        "scheduling": {"zone": {"pinning": {"zones": ["eu-1a", "eu-1b"]}, "spread": {"pods": {"mode": "Disabled"}}}},
    },
    "pods": {
        "shards": 3,
        "image": "docker.io/valkey/valkey:8.1.8",
        "imagePullSecrets": [{"name": "registry"}],
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "1.5Gi", "hugepages-2Mi": "4Mi"}},
        "containers": [
            {
                "name": "server",
                "args": ["--loadmodule", "/json.so"],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "b"}}}],
            },
            {"name": "sidecar", "image": "sidecar:1", "securityContext": {"readOnlyRootFilesystem": True}},
        ],
        "podSecurityContext": {"runAsUser": 1000, "fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "terminationGracePeriodSeconds": 60,
    },
}
