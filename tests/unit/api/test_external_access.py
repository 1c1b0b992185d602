import pytest

from valkey_operator.api.external_access import AddressType, AnnounceWhen, ExternalAccess, ExternalAccessType
from valkey_operator.api.model import SpecInvalid


def read(**fields):
    return ExternalAccess.read(fields, path="spec.externalAccess")


def test_it_is_off_unless_somebody_turns_it_on():
    assert not read().enabled
    assert not ExternalAccess().enabled


def test_what_is_not_written_has_its_default():
    access = read(enabled=True, type="NodePort")
    assert access.type is ExternalAccessType.NODE_PORT
    assert access.bootstrap_service
    assert access.drain_seconds == 60
    assert access.announce_when is AnnounceWhen.RESOLVABLE
    assert access.external_traffic_policy is None
    assert access.advertised_host is None
    assert access.node_port.start_port is None
    assert access.node_port.stride == 100
    assert access.node_port.bootstrap_port is None
    assert access.node_port.address_type == (AddressType.EXTERNAL_IP, AddressType.INTERNAL_IP)
    assert access.service_annotations == {}


def test_what_is_written_is_read():
    access = read(
        enabled=True,
        type="NodePort",
        advertisedHost="{name}-{shard}-{node}.example.com",
        bootstrapHost="{name}.example.com",
        nodePort={"startPort": 31200, "stride": 10, "bootstrapPort": 31199, "addressType": ["Hostname"]},
        serviceAnnotations={"note": "{name}"},
        externalTrafficPolicy="Local",
    )
    assert access.advertised_host == "{name}-{shard}-{node}.example.com"
    assert access.bootstrap_host == "{name}.example.com"
    assert access.node_port.start_port == 31200
    assert access.node_port.stride == 10
    assert access.node_port.bootstrap_port == 31199
    assert access.node_port.address_type == ("Hostname",)
    assert access.service_annotations == {"note": "{name}"}
    assert access.external_traffic_policy == "Local"


def test_the_type_must_be_said_once_it_is_on():
    with pytest.raises(SpecInvalid) as caught:
        read(enabled=True)
    assert caught.value.mistakes == (
        "spec.externalAccess.type: say how clients outside reach the cluster: set type to Ingress, LoadBalancer or NodePort",
    )


def test_fields_may_stay_while_it_is_off():
    assert read(enabled=False, advertisedHost="{name}.example.com", nodePort={"startPort": 31200}).node_port.start_port == 31200


def test_an_access_built_in_code_keeps_the_same_rules():
    with pytest.raises(
        ValueError, match=r"\.advertisedPort: with type NodePort the ports that Kubernetes allocates are advertised"
    ):
        ExternalAccess(enabled=True, type=ExternalAccessType.NODE_PORT, advertised_port=6380)
