from golden.orders import orders
from valkey_operator.core.names import NodeIndex
from valkey_operator.core.plan import PodLabels
from valkey_operator.manifests.pod import pod_labels


def labels(**changed):
    wanted = {"index": NodeIndex(0, 0), "pod": "valkey-orders-0-0-0", "uid": "u", "role": "primary", "serving": True}
    return pod_labels(orders(), PodLabels(**(wanted | changed)))["metadata"]["labels"]


def test_a_pod_that_serves_says_so_with_its_role():
    assert labels() == {"valkey.io/role": "primary", "valkey.io/serving": "true"}


def test_what_is_not_so_is_not_said():
    assert labels(role=None, serving=False) == {}


def test_nothing_else_of_a_pod_is_ours():
    body = pod_labels(orders(), PodLabels(index=NodeIndex(0, 0), pod="p", uid="u", role=None, serving=False))
    assert body == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "u", "labels": {}}}


def test_what_calls_the_kubelet_is_an_annotation():
    wanted = PodLabels(index=NodeIndex(0, 0), pod="p", uid="u", role=None, serving=False, certificate="0123456789abcdef")
    assert pod_labels(orders(), wanted)["metadata"]["annotations"] == {"valkey.io/certificate": "0123456789abcdef"}
