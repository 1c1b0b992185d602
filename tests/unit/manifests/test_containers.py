from valkey_operator.manifests.containers import merged, with_users_containers


def test_maps_are_merged_and_other_values_replaced():
    base = {"securityContext": {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}, "command": ["a", "b"]}
    patch = {"securityContext": {"capabilities": {"add": ["SYS_NICE"]}}, "command": ["c"]}
    assert merged(base, patch) == {
        "securityContext": {"readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"], "add": ["SYS_NICE"]}},
        "command": ["c"],
    }


def test_keyed_lists_are_merged_item_by_item():
    base = {"volumeMounts": [{"name": "data", "mountPath": "/data"}], "ports": [{"name": "bus", "containerPort": 16379}]}
    patch = {
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}, {"name": "data", "mountPath": "/more"}],
        "ports": [{"containerPort": 8080}],
    }
    assert merged(base, patch) == {
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}, {"name": "data", "mountPath": "/more"}],
        "ports": [{"name": "bus", "containerPort": 16379}, {"containerPort": 8080}],
    }


def test_another_kind_of_probe_takes_the_place_of_ours():
    base = {"readinessProbe": {"tcpSocket": {"port": 6379}, "periodSeconds": 5}}
    patch = {"readinessProbe": {"exec": {"command": ["true"]}}}
    assert merged(base, patch) == {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5}}


def test_a_value_takes_the_place_of_a_reference():
    base = {"env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}
    assert merged(base, {"env": [{"name": "POD_IP", "value": "127.0.0.1"}]}) == {"env": [{"name": "POD_IP", "value": "127.0.0.1"}]}


def test_null_removes():
    assert merged({"livenessProbe": {"periodSeconds": 10}, "name": "server"}, {"livenessProbe": None}) == {"name": "server"}


def test_neither_side_is_changed_by_merging():
    base, patch = {"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]}
    merged(base, patch)
    assert (base, patch) == ({"env": [{"name": "A", "value": "1"}]}, {"env": [{"name": "A", "value": "2"}]})


def test_unknown_names_are_further_containers_in_their_order():
    theirs = [{"name": "b"}, {"name": "server", "image": "other"}, {"name": "a"}]
    assert with_users_containers([{"name": "server", "image": "ours"}], theirs) == [
        {"name": "server", "image": "other"},
        {"name": "b"},
        {"name": "a"},
    ]
