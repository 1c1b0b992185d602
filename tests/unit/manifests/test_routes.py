from golden.orders import orders
from valkey_operator.core.observed import ListenerRef
from valkey_operator.core.plan import ExternalRoute, ServicePort, ServiceRole
from valkey_operator.manifests.routes import external_route


def made(**changed):
    wanted = {
        "kind": "Ingress",
        "api_version": "networking.k8s.io/v1",
        "name": "orders-0-1",
        "role": ServiceRole.NODE,
        "shard": 0,
        "hosts": ("orders-0-1.example.com",),
        "port": ServicePort("sni-1", 443, 6379),
    }
    return external_route(orders(), ExternalRoute(**(wanted | changed)))


def test_an_ingress_without_a_class_is_of_the_default_one():
    assert "ingressClassName" not in made()["spec"]


def test_controllers_of_ingresses_are_asked_to_pass_tls_on():
    assert made()["metadata"]["annotations"] == {
        "nginx.ingress.kubernetes.io/ssl-passthrough": "true",
        "haproxy.org/ssl-passthrough": "true",
        "haproxy-ingress.github.io/ssl-passthrough": "true",
    }
    assert (
        made(annotations={"haproxy.org/ssl-passthrough": "false"})["metadata"]["annotations"]["haproxy.org/ssl-passthrough"]
        == "false"
    )
    assert "annotations" not in made(kind="Route")["metadata"]


def test_a_route_of_the_version_that_is_served_has_that_version():
    route = made(kind="TLSRoute", api_version="gateway.networking.k8s.io/v1alpha3")
    assert (route["apiVersion"], route["kind"]) == ("gateway.networking.k8s.io/v1alpha3", "TLSRoute")


def test_a_route_by_port_names_no_host():
    parents = (ListenerRef("gateways", "public", port=6382),)
    assert made(kind="TCPRoute", hosts=(), parents=parents)["spec"] == {
        "parentRefs": [{"name": "public", "namespace": "gateways", "port": 6382}],
        "rules": [{"backendRefs": [{"name": "orders-0-1", "port": 443}]}],
    }


def test_the_route_to_all_shards_is_of_no_shard():
    labels = made(name="orders", role=ServiceRole.BOOTSTRAP, shard=None)["metadata"]["labels"]
    assert labels["valkey.io/external-access"] == "bootstrap"
    assert "valkey.io/shard-index" not in labels
