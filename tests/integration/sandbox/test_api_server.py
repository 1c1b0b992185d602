"""What tests may expect of the API server, with nodes or without."""

import time

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta, OwnerReference
from lightkube.resources.authentication_v1 import SelfSubjectReview
from lightkube.resources.core_v1 import ConfigMap, Namespace, Service


@pytest.fixture(scope="module")
def client(api_server):
    with Client(config=KubeConfig.from_file(api_server), field_manager="test", trust_env=False) as made:
        yield made


@pytest.fixture
def namespace(client):
    name = f"api-server-{time.monotonic_ns()}"
    client.create(Namespace(metadata=ObjectMeta(name=name)))
    yield name
    client.delete(Namespace, name)


def is_gone(client, kind, name, namespace=None):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            client.get(kind, name, **({"namespace": namespace} if namespace else {}))
        except ApiError as error:
            return error.status.code == 404
        time.sleep(0.1)
    return False


def test_people_have_all_rights_by_a_binding_and_not_by_being_masters(client):
    groups = client.create(SelfSubjectReview()).status.userInfo.groups

    assert "kubeadm:cluster-admins" in groups
    assert "system:masters" not in groups


def test_a_watch_without_a_version_answers_at_once_though_other_kinds_have_changed(client, namespace):
    """Which an etcd that cannot tell its progress would make impossible."""
    for number in range(5):
        client.create(ConfigMap(metadata=ObjectMeta(name=f"some-{number}", namespace=namespace)))

    began = time.monotonic()
    event, service = next(client.watch(Service, namespace="default", server_timeout=10))

    assert (event, service.metadata.name) == ("ADDED", "kubernetes")
    assert time.monotonic() - began < 2


def test_objects_go_with_their_owner(client, namespace):
    owner = client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=namespace)))
    reference = OwnerReference(apiVersion="v1", kind="ConfigMap", name="owner", uid=owner.metadata.uid)
    client.create(ConfigMap(metadata=ObjectMeta(name="owned", namespace=namespace, ownerReferences=[reference])))

    client.delete(ConfigMap, "owner", namespace=namespace)

    assert is_gone(client, ConfigMap, "owned", namespace)


def test_a_namespace_goes_away_with_all_that_is_in_it(client):
    name = f"api-server-{time.monotonic_ns()}"
    client.create(Namespace(metadata=ObjectMeta(name=name)))
    client.create(ConfigMap(metadata=ObjectMeta(name="some", namespace=name)))

    client.delete(Namespace, name)

    assert is_gone(client, Namespace, name)
