"""etcd, API server, controller manager and scheduler."""

import http.client
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from sandbox import kubeconfig, network, pki, processes
from sandbox.addresses import (
    API_SERVER_PORT,
    ETCD_PEER_PORT,
    ETCD_PORT,
    KUBERNETES_SERVICE,
    POD_NETWORK,
    ROUTER,
    SERVICE_NETWORK,
    both,
)
from sandbox.commands import attempt
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.steps import Steps

CONTROLLER_MANAGER_PORT = 10257
SCHEDULER_PORT = 10259
NODE_GRACE = 20  # seconds until a silent node counts as lost: half of what is usual, since tests wait for it
# Without nodes, these make namespaces and owner references behave; the others would only wait for pods.
CONTROLLERS_WITHOUT_NODES = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the control plane lives: on this machine's loopback, or in the router's network namespace."""

    address: IPv4Address
    namespace: str | None = None

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return f"https://{self.address}:{API_SERVER_PORT}"

    def enter(self) -> list[str]:
        """The beginning of a command that runs there."""
        return network.enter(self.namespace) if self.namespace else []


LOOPBACK = Place(IPv4Address("127.0.0.1"))
BEHIND_ROUTER = Place(ROUTER.ipv4, network.ROUTER_NAMESPACE)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The files that the components identify themselves with."""

    authority: pki.Pair
    api_server: pki.Pair
    kubelet_client: pki.Pair
    token_signer: Path
    token_verifier: Path
    controller_manager: Path
    scheduler: Path
    proxy: Path


def names(with_nodes: bool) -> list[str]:
    """The names of its processes."""
    return ["etcd", "kube-apiserver", "kube-controller-manager", *(["kube-scheduler"] if with_nodes else [])]


def issue(home: Home, *, authority: pki.Authority, place: Place) -> Credentials:
    """Make the control plane's credentials, and the kubeconfig for people."""

    def user(file: str, *, name: str, groups: Sequence[str] = ()) -> Path:
        client = authority.issue(file, name=name, groups=groups)
        return kubeconfig.write(home.pki / f"{file}.kubeconfig", server=place.server, authority=authority.pair, client=client)

    hosts = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "127.0.0.1",
        str(KUBERNETES_SERVICE),
        str(ROUTER.ipv4),
    ]
    root = authority.issue("root", name="sandbox", groups=["system:masters"])
    kubeconfig.write(home.root_kubeconfig, server=place.server, authority=authority.pair, client=root)
    admin = authority.issue("admin", name="kubernetes-admin", groups=["kubeadm:cluster-admins"])
    kubeconfig.write(home.kubeconfig, server=place.server, authority=authority.pair, client=admin)
    signer, verifier = pki.service_account_keys(home.pki)
    return Credentials(
        authority=authority.pair,
        api_server=authority.issue("kube-apiserver", name="kube-apiserver", hosts=hosts),
        kubelet_client=authority.issue("kubelet-client", name="kube-apiserver-kubelet-client", groups=["kubeadm:cluster-admins"]),
        token_signer=signer,
        token_verifier=verifier,
        controller_manager=user("kube-controller-manager", name="system:kube-controller-manager"),
        scheduler=user("kube-scheduler", name="system:kube-scheduler"),
        proxy=user("kube-proxy", name="system:kube-proxy"),
    )


def etcd_command(programs: Path, *, data: Path) -> list[str | Path]:
    """An etcd that does not wait for the disk: what it holds ends with the sandbox anyway."""
    client, peer = f"http://127.0.0.1:{ETCD_PORT}", f"http://127.0.0.1:{ETCD_PEER_PORT}"
    return [
        programs / "etcd",
        f"--data-dir={data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=warn",
        "--unsafe-no-fsync",
        "--watch-progress-notify-interval=5s",  # keeps the API server's watches fresh
    ]


def api_server_command(programs: Path, *, credentials: Credentials, place: Place) -> list[str | Path]:
    """The API server, with the admission and authorization that a kubeadm cluster has."""
    alone = place.namespace is None
    bind = place.address if alone else "0.0.0.0"  # noqa: S104 -- inside a network namespace of its own
    return [
        programs / "kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{ETCD_PORT}",
        f"--bind-address={bind}",
        f"--advertise-address={place.address}",
        f"--secure-port={API_SERVER_PORT}",
        # A loopback address can be nobody's endpoint: without nodes the `kubernetes` Service has none.
        *(["--endpoint-reconciler-type=none"] if alone else []),
        f"--service-cluster-ip-range={both(SERVICE_NETWORK)}",
        f"--tls-cert-file={credentials.api_server.certificate}",
        f"--tls-private-key-file={credentials.api_server.key}",
        f"--client-ca-file={credentials.authority.certificate}",
        f"--kubelet-client-certificate={credentials.kubelet_client.certificate}",
        f"--kubelet-client-key={credentials.kubelet_client.key}",
        f"--kubelet-certificate-authority={credentials.authority.certificate}",
        "--kubelet-preferred-address-types=InternalIP",  # node names are in no DNS
        f"--service-account-key-file={credentials.token_verifier}",
        f"--service-account-signing-key-file={credentials.token_signer}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-aggregator-routing=true",  # no kube-proxy here: webhooks are reached by pod addresses
        "--allow-privileged=true",
        "--profiling=false",
    ]


def controller_manager_command(programs: Path, *, credentials: Credentials, place: Place) -> list[str | Path]:
    """The controller manager: all controllers with nodes, a few without."""
    controllers = ["--controllers=*"] if place.namespace else [f"--controllers={','.join(CONTROLLERS_WITHOUT_NODES)}"]
    return [
        programs / "kube-controller-manager",
        *_client_flags(credentials.controller_manager),
        *controllers,
        f"--secure-port={CONTROLLER_MANAGER_PORT}",
        "--use-service-account-credentials=true",
        # With what is usual, it would need seconds for asking for its own controllers' accounts.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        f"--service-account-private-key-file={credentials.token_signer}",
        f"--root-ca-file={credentials.authority.certificate}",
        f"--cluster-signing-cert-file={credentials.authority.certificate}",
        f"--cluster-signing-key-file={credentials.authority.key}",
        f"--cluster-cidr={both(POD_NETWORK)}",
        f"--node-monitor-grace-period={NODE_GRACE}s",
    ]


def scheduler_command(programs: Path, *, credentials: Credentials) -> list[str | Path]:
    """The scheduler."""
    return [programs / "kube-scheduler", *_client_flags(credentials.scheduler), f"--secure-port={SCHEDULER_PORT}"]


def start(home: Home, *, programs: Path, place: Place, credentials: Credentials, steps: Steps) -> None:
    """Start all of it; returns once the API server is ready, while the controllers may still be starting."""
    if place.namespace is None:
        refuse_taken_ports()
    with steps.step("API server is ready"):
        etcd = processes.start("etcd", [*place.enter(), *etcd_command(programs, data=home.state / "etcd")], log=home.log("etcd"))
        server = processes.start(
            "kube-apiserver",
            [*place.enter(), *api_server_command(programs, credentials=credentials, place=place)],
            log=home.log("kube-apiserver"),
        )
        context = ssl.create_default_context(cafile=str(credentials.authority.certificate))
        processes.wait_until(lambda: _is_ready(place, context), needs=(etcd, server), what="the API server's readiness", timeout=90)
    commands = {"kube-controller-manager": controller_manager_command(programs, credentials=credentials, place=place)}
    if place.namespace:
        commands["kube-scheduler"] = scheduler_command(programs, credentials=credentials)
    for name, command in commands.items():
        processes.start(name, [*place.enter(), *command], log=home.log(name))


def refuse_taken_ports() -> None:
    """Raise if another program holds a port that the control plane needs on this machine's loopback."""
    for port in (API_SERVER_PORT, ETCD_PORT, ETCD_PEER_PORT, CONTROLLER_MANAGER_PORT):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                listening = attempt("ss", "-Hltnp", f"sport = :{port}").stdout.strip()
                by = listening.partition("users:")[2] or "a process that `ss -ltnp` does not show"
                raise SandboxError(f"port {port} is in use by {by}; end that program and try again") from error


def _client_flags(path: Path) -> list[str]:
    return [
        f"--kubeconfig={path}",
        f"--authorization-kubeconfig={path}",
        "--authentication-skip-lookup=true",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
    ]


def _is_ready(place: Place, context: ssl.SSLContext) -> bool:
    connection = http.client.HTTPSConnection(str(place.address), API_SERVER_PORT, timeout=5, context=context)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
