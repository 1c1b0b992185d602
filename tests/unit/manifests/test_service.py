from golden.orders import orders
from valkey_operator.core.observed import Balancing
from valkey_operator.core.plan import ExternalService, HeadlessService, ServicePort, ServiceRole
from valkey_operator.manifests.service import external_service, headless_service


def shard_service(**changed):
    wanted = {
        "name": "orders-0",
        "role": ServiceRole.SHARD,
        "shard": 0,
        "type": "NodePort",
        "selector": {"valkey.io/shard-index": "0"},
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
    selector = {"valkey.io/serving": "true"}
    spec = shard_service(name="orders", role=ServiceRole.BOOTSTRAP, shard=None, selector=selector, publish_not_ready=False)["spec"]
    assert spec["selector"] == {"valkey.io/cluster": "orders", "valkey.io/serving": "true"}
    assert spec["publishNotReadyAddresses"] is False


def test_what_is_asked_of_a_balancer_is_asked_only_while_there_is_one():
    balancing = Balancing(load_balancer_class="example.com/balancer", source_ranges=("203.0.113.0/24",), allocate_node_ports=False)
    spec = shard_service(type="LoadBalancer", balancing=balancing)["spec"]
    assert spec["loadBalancerClass"] == "example.com/balancer"
    assert spec["loadBalancerSourceRanges"] == ["203.0.113.0/24"]
    assert spec["allocateLoadBalancerNodePorts"] is False
    assert "loadBalancerClass" not in shard_service(type="NodePort", balancing=balancing)["spec"]


def test_two_families_are_asked_for_as_dual_stack():
    spec = shard_service(ip_families=("IPv4", "IPv6"))["spec"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_annotations_and_traffic_policy_are_there_only_when_wanted():
    assert "annotations" not in shard_service()["metadata"]
    assert "externalTrafficPolicy" not in shard_service()["spec"]
    service = shard_service(annotations={"example.com/a": "b"}, traffic_policy="Local")
    assert service["metadata"]["annotations"] == {"example.com/a": "b"}
    assert service["spec"]["externalTrafficPolicy"] == "Local"
