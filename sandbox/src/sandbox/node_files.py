"""The configuration files of one node, as text.

Inside a node, all programs find their files at the customary paths: /run and /var are its own, its configuration is in /run/node
and Kubernetes' programs are in /run/programs.
"""

import json
from ipaddress import IPv4Address
from typing import Any

import yaml

from sandbox.addresses import DNS_SERVICE, POD_NETWORK, Networks, both

CONFIGURATION = "/run/node"
PROGRAMS = "/run/programs"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "registry.k8s.io/pause:3.10"


def containerd() -> str:
    """The configuration of containerd 1.6 and later 1.x (TOML)."""
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
  address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE nothing may lower its score; containers then keep their parent's.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{CONFIGURATION}/cni"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def cni(pods: Networks) -> str:
    """Pods hang on a bridge of their node; they are routed, not hidden behind it (JSON)."""
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": str(network)}] for network in pods],
            "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}],
        },
    }
    return json.dumps({"cniVersion": "0.4.0", "name": "sandbox", "plugins": [bridge]}, indent=2) + "\n"


def kubelet() -> str:
    """The kubelet's configuration, for a machine that may have cgroup v1, swap and little room on its disk."""
    return _yaml(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{CONFIGURATION}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{CONFIGURATION}/kubelet.crt",
            "tlsPrivateKeyFile": f"{CONFIGURATION}/kubelet.key",
            "failCgroupV1": False,
            "failSwapOn": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": True,
            "enforceNodeAllocatable": ["pods"],
            "oomScoreAdj": 0,
            "maxPods": 200,
            "clusterDomain": "cluster.local",
            "clusterDNS": [str(DNS_SERVICE)],
            # There is no other DNS server: who asks for a name without that one learns at once that there is none.
            "resolvConf": "",
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "configMapAndSecretChangeDetectionStrategy": "Watch",
            "nodeLeaseDurationSeconds": 12,
            "shutdownGracePeriod": "0s",
        }
    )


def kube_proxy(name: str, address: IPv4Address) -> str:
    """The configuration of kube-proxy, by nftables."""
    return _yaml(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "clusterCIDR": both(POD_NETWORK),
            "hostnameOverride": name,
            "bindAddress": str(address),
            "clientConnection": {"kubeconfig": f"{CONFIGURATION}/kube-proxy.kubeconfig"},
            "conntrack": {"maxPerCore": 0},
            "oomScoreAdj": 0,
            "healthzBindAddress": "127.0.0.1:10256",
            "metricsBindAddress": "127.0.0.1:10249",
        }
    )


def _yaml(content: dict[str, Any]) -> str:
    """Block style: the components take a file that begins with a brace for strict JSON."""
    return yaml.safe_dump(content, default_flow_style=False, sort_keys=False)
