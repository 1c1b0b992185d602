import json
import tomllib
from ipaddress import IPv4Address

import yaml

from sandbox import addresses, node_files


def test_configuration_for_kubernetes_is_block_style_since_a_brace_would_make_it_json():
    for text in (node_files.kubelet(), node_files.kube_proxy("node-1", IPv4Address("198.18.0.11"))):
        assert text.startswith("apiVersion: ")


def test_the_kubelet_takes_an_old_machine_as_it_is():
    content = yaml.safe_load(node_files.kubelet())

    assert content["failCgroupV1"] is False
    assert content["failSwapOn"] is False
    assert content["cgroupDriver"] == "cgroupfs"
    assert content["authentication"]["anonymous"] == {"enabled": False}
    assert content["authorization"] == {"mode": "Webhook"}


def test_kube_proxy_knows_its_node():
    content = yaml.safe_load(node_files.kube_proxy("node-2", IPv4Address("198.18.0.12")))

    assert (content["mode"], content["hostnameOverride"], content["bindAddress"]) == ("nftables", "node-2", "198.18.0.12")
    assert content["clusterCIDR"] == "10.245.0.0/16,fd00:10:245::/48"


def test_containerd_leaves_oom_scores_alone_and_knows_the_pause_image():
    cri = tomllib.loads(node_files.containerd())["plugins"]["io.containerd.grpc.v1.cri"]

    assert cri["restrict_oom_score_adj"] is True
    assert cri["sandbox_image"] == "registry.k8s.io/pause:3.10"
    assert cri["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is False


def test_pods_are_routed_and_not_hidden():
    (bridge,) = json.loads(node_files.cni(addresses.pods_of(2)))["plugins"]

    assert bridge["ipMasq"] is False
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.245.2.0/24"}], [{"subnet": "fd00:10:245:2::/64"}]]
    assert bridge["ipam"]["routes"] == [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]
