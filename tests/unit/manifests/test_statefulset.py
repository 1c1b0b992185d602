import pytest

from golden.orders import NODE, NODE_UID, orders
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import ServerWorkload
from valkey_operator.manifests.statefulset import workload


def template(*, index=NODE, digest="0123456789abcdef", **spec):
    return workload(orders(**spec), ServerWorkload(index=index, owner_uid=NODE_UID, digest=digest))["spec"]["template"]


def pod(**spec):
    return template(**spec)["spec"]


def server(**spec):
    return pod(**spec)["containers"][0]


@pytest.mark.parametrize(
    "external_access",
    [
        {"enabled": False},
        {"enabled": True, "type": "NodePort"},
        {"enabled": True, "type": "NodePort", "advertisedHost": "{name}.example.com", "nodePort": {"startPort": 31200}},
        {"enabled": True, "type": "NodePort", "serviceAnnotations": {"example.com/a": "b"}, "drainSeconds": 5},
    ],
)
def test_external_access_changes_nothing_in_a_pod(external_access):
    assert template(externalAccess=external_access) == template()


def test_replicas_and_shards_change_nothing_in_a_pod():
    assert template(replicas=0) == template(replicas=2) == template(shards=5)


def test_another_digest_makes_another_template():
    assert template(digest="fedcba9876543210") != template()


def test_labels_that_follow_the_role_are_not_in_the_template():
    assert template()["metadata"]["labels"].keys().isdisjoint({"valkey.io/role", "valkey.io/serving"})


def test_a_pod_is_replaced_only_when_the_operator_deletes_it():
    body = workload(orders(), ServerWorkload(index=NodeIndex(0, 0), owner_uid=NODE_UID, digest=""))
    assert body["spec"]["updateStrategy"] == {"type": "OnDelete"}


def test_the_client_port_has_a_name_that_is_unique_in_the_cluster():
    client, bus = server(index=NodeIndex(999, 5))["ports"]
    assert client == {"name": "valkey-999-5", "containerPort": 6379, "protocol": "TCP"}
    assert bus["containerPort"] == 16379


def test_no_password_is_in_the_pods_specification():
    assert "primaryauth" not in str(template())
    assert "secretKeyRef" not in str(template())


def test_the_announce_file_comes_last_and_may_be_missing():
    assert server()["command"][-2:] == ["--include", "/etc/valkey/announce/*.conf"]
    volume = next(volume for volume in pod()["volumes"] if volume["name"] == "announce")
    assert volume == {"name": "announce", "configMap": {"name": "valkey-orders-1-0-announce", "optional": True}}


def test_every_volume_is_mounted_as_a_directory_of_its_own():
    mounts = server()["volumeMounts"]
    assert not any("subPath" in mount for mount in mounts)
    paths = [mount["mountPath"] + "/" for mount in mounts]
    assert not any(one != other and one.startswith(other) for one in paths for other in paths)


def test_the_users_security_context_is_merged_over_the_restricted_one():
    context = pod(
        podSecurityContext={"runAsUser": 1000, "seccompProfile": {"type": "Localhost", "localhostProfile": "valkey.json"}}
    )
    assert context["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 999,
        "fsGroup": 999,
        "seccompProfile": {"type": "Localhost", "localhostProfile": "valkey.json"},
    }


def test_what_the_user_says_of_image_resources_secrets_and_grace_is_passed_on():
    spec = pod(
        image="registry.example.com/valkey:9.1.2",
        imagePullSecrets=[{"name": "registry"}],
        resources={"requests": {"cpu": "500m", "memory": "1Gi"}},
        terminationGracePeriodSeconds=90,
    )
    container = spec["containers"][0]
    assert container["image"] == "registry.example.com/valkey:9.1.2"
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "1Gi"}}
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["terminationGracePeriodSeconds"] == 90


def test_a_patch_of_the_server_is_merged_and_another_container_is_added():
    spec = pod(
        containers=[
            {"name": "server", "args": ["--loadmodule", "/modules/json.so"], "env": [{"name": "TZ", "value": "UTC"}]},
            {"name": "sidecar", "image": "example.com/sidecar:1"},
        ]
    )
    first, second = spec["containers"]
    assert first["args"] == ["--loadmodule", "/modules/json.so"]
    assert [variable["name"] for variable in first["env"]] == ["POD_IP", "TZ"]
    assert first["command"][0] == "sh"
    assert second == {"name": "sidecar", "image": "example.com/sidecar:1"}


TLS = {"certificate": {"secretName": "orders-cert"}}


def test_with_tls_the_servers_own_secret_is_mounted_whole_and_the_users_secret_is_not():
    spec = pod(tls=TLS)
    volume = {"name": "tls", "secret": {"secretName": "valkey-orders-tls", "defaultMode": 0o440}}
    assert [each for each in spec["volumes"] if each["name"] == "tls"] == [volume]
    mounts = spec["containers"][0]["volumeMounts"]
    assert {"name": "tls", "mountPath": "/etc/valkey/tls", "readOnly": True} in mounts
    assert "orders-cert" not in str(template(tls=TLS))


def test_another_secret_of_the_users_makes_no_other_template():
    assert template(tls=TLS) == template(tls={"certificate": {"secretName": "other"}})


def test_external_access_changes_nothing_in_a_pod_with_tls():
    access = {"enabled": True, "type": "NodePort", "advertisedHost": "{name}.example.com"}
    assert template(tls=TLS, externalAccess=access) == template(tls=TLS)


def test_the_start_script_is_as_it_was_tried():
    begin = (
        'rm -rf /data/* && case "$POD_IP" in *:*) host=valkey-orders-1-0-0.valkey-orders.shop.svc ;; *) host=$POD_IP ;; esac '
        '&& conf=$1 && shift && exec "$0" "$conf" --cluster-announce-hostname "$host" "$@"'
    )
    files = (
        ' --tls-cert-file "$(echo /etc/valkey/tls/tls-*.crt)" --tls-key-file "$(echo /etc/valkey/tls/tls-*.key)"'
        ' --tls-ca-cert-file "$(echo /etc/valkey/tls/ca-*.crt)"'
    )
    assert server()["command"][:3] == ["sh", "-c", begin]
    assert server(tls=TLS)["command"][:3] == ["sh", "-c", begin + files]
    assert server(tls=TLS)["command"][3:] == server()["command"][3:]


def test_probes_are_the_same_with_tls():
    probes = ("startupProbe", "readinessProbe", "livenessProbe")
    assert [server(tls=TLS)[probe] for probe in probes] == [server()[probe] for probe in probes]
