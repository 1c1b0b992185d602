from golden.orders import orders
from valkey_operator.core.plan import ExternalService, HeadlessService, ServicePort
from valkey_operator.manifests.service import external_service, headless_service


def shard_service(**changed):
    wanted = {
        "name": "orders-0",
        "shard": 0,
        "type": "NodePort",
        "ports": (ServicePort(name="np-0", port=6379, target="valkey-0-0"),),
    }
    return external_service(orders(), ExternalService(**(wanted | changed)))


def test_the_headless_service_names_pods_before_they_are_ready():
    spec = headless_service(orders(), HeadlessService())["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is True


def test_the_bus_is_on_no_external_service():
    assert "16379" not in str(shard_service())


def test_a_port_without_a_number_is_left_to_the_api_server():
    assert "nodePort" not in shard_service()["spec"]["ports"][0]


def test_a_port_with_a_number_asks_for_it():
    ports = (ServicePort(name="np-0", port=31200, target="valkey-0-0", node_port=31200, fallback=6379),)
    assert shard_service(ports=ports)["spec"]["ports"][0]["nodePort"] == 31200


def test_a_port_of_a_shard_reaches_the_pod_whose_container_port_it_names():
    service = shard_service()
    assert service["spec"]["ports"][0]["targetPort"] == "valkey-0-0"
    assert service["spec"]["selector"] == {"valkey.io/cluster": "orders", "valkey.io/shard-index": "0"}


def test_a_port_of_a_shard_leads_to_its_pod_as_long_as_the_server_answers_ready_or_not():
    assert shard_service()["spec"]["publishNotReadyAddresses"] is True


def test_the_service_of_all_shards_leads_only_to_ready_pods_that_serve():
    spec = shard_service(name="orders", shard=None)["spec"]
    assert spec["selector"] == {"valkey.io/cluster": "orders", "valkey.io/serving": "true"}
    assert spec["publishNotReadyAddresses"] is False


def test_annotations_and_traffic_policy_are_there_only_when_wanted():
    assert "annotations" not in shard_service()["metadata"]
    assert "externalTrafficPolicy" not in shard_service()["spec"]
    service = shard_service(annotations={"example.com/a": "b"}, traffic_policy="Local")
    assert service["metadata"]["annotations"] == {"example.com/a": "b"}
    assert service["spec"]["externalTrafficPolicy"] == "Local"
