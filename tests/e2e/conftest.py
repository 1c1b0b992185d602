import time
from contextlib import contextmanager

import pytest

import cluster
from e2e import api as kinds
from e2e import clusters, gateway_api, operators, plugin
from e2e.traefik import ADDRESS, Traefik

CLUSTERS = pytest.StashKey()
OPERATOR = pytest.StashKey()


@pytest.fixture(scope="session")
def kubernetes() -> cluster.Kubernetes:
    """A real Kubernetes of three nodes, shared by all tests and left running: each test uses a namespace of its own."""
    return cluster.full()


@pytest.fixture(scope="session")
def api(kubernetes):
    """Its API server."""
    opened = kinds.Api(kubernetes.kubeconfig)
    yield opened
    opened.close()


@pytest.fixture
def cordon(kubernetes):
    """Closes Kubernetes nodes for pods, and opens them again in the end."""
    closed = []

    def close(node):
        closed.append(node)
        kubernetes.kubectl("cordon", node)

    yield close
    for node in closed:
        kubernetes.kubectl("uncordon", node)


@pytest.fixture
def valkey(kubernetes, tmp_path):
    """`kubectl valkey`, run where clients outside are."""
    return plugin.Plugin.made(tmp_path / "plugin", kubernetes.kubeconfig)


@pytest.fixture(scope="session")
def operator(request, kubernetes, api):
    """The operator, deployed as its users deploy it, with its real rights. One that was there before stays."""
    for node in api.list(kinds.NODE):
        if node["spec"].get("unschedulable"):  # a run that was killed has left it closed
            kubernetes.kubectl("uncordon", node["metadata"]["name"])
    deployed, was_there = operators.deploy(kubernetes, api)
    request.session.stash[OPERATOR] = deployed
    yield deployed
    if not was_there:
        cluster.sandbox("operator", "--down")


@pytest.fixture
def process(kubernetes, operator, tmp_path):
    """The operator as a process instead of its Deployment."""
    operator.scale(0)
    made = operators.Process(kubernetes, tmp_path)
    yield made
    made.stop()
    operator.scale(1)


@contextmanager
def _without(api, operator, *resources):
    """The operator without its rules for these resources."""
    rules = api.get(kinds.CLUSTER_ROLE, operators.NAME)["rules"]
    less = [rule for rule in rules if not set(resources) & set(rule["resources"])]
    assert len(less) == len(rules) - len(resources)
    api.patch(kinds.CLUSTER_ROLE, operators.NAME, None, {"rules": less})
    operator.restart()
    yield
    api.patch(kinds.CLUSTER_ROLE, operators.NAME, None, {"rules": rules})
    operator.restart()


@pytest.fixture
def without_nodes(api, operator):
    """The operator without the right to read Kubernetes nodes."""
    with _without(api, operator, "nodes"):
        yield


@pytest.fixture
def without_definitions(api, operator):
    """The operator without the right to see which kinds of routes there are."""
    with _without(api, operator, "customresourcedefinitions", "apiservices"):
        yield


@pytest.fixture(scope="module")
def gateway_kinds(api):
    """The kinds of the Gateway API's current release, gone with all their objects after the module's last test."""
    gateway_api.install(api)
    yield
    gateway_api.uninstall(api)


@pytest.fixture(scope="module")
def edge(kubernetes, api, gateway_kinds, tmp_path_factory):  # noqa: ARG001 -- the kinds have to be there
    """A Traefik for Gateways and Ingresses."""
    with Traefik(kubernetes, api, tmp_path_factory.mktemp("traefik"), tells={"ip": ADDRESS}) as running:
        yield running


class Factory:
    """Makes ValkeyClusters in one namespace that enforces the Pod Security Standard `restricted`."""

    def __init__(self, api, namespace):
        self.api = api
        self.namespace = namespace
        self.made = []

    def __enter__(self):
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self.api.create(kinds.NAMESPACE, {"metadata": {"name": self.namespace, "labels": labels}})
        return self

    def __exit__(self, *_):
        self.api.delete(kinds.NAMESPACE, self.namespace)

    def __call__(self, name="web", *, external=None, trust=None, **spec):
        """A new ValkeyCluster; `external` adds to a spec.externalAccess of type NodePort, `trust` is, with TLS, a file with authorities."""
        access = {"externalAccess": clusters.NODE_PORT | external} if external is not None else {}
        self.api.create(kinds.CLUSTER, clusters.manifest(name, self.namespace, **access, **spec))
        made = clusters.ValkeyCluster(self.api, self.namespace, name, trust)
        self.made.append(made)
        return made


def _namespace(words):
    """A namespace of a test's own, also after an earlier one of the same test that is still being deleted."""
    return f"e2e-{words.lower().replace('_', '-')[:40].strip('-')}-{time.time_ns() // 10**6 % 10**8}"


@pytest.fixture
def new_cluster(request, api, operator):  # noqa: ARG001 -- it has to run
    """Makes ValkeyClusters in a namespace of the test's own, gone afterwards."""
    with Factory(api, _namespace(request.node.originalname.removeprefix("test_"))) as factory:
        request.node.stash[CLUSTERS] = factory.made
        yield factory


@pytest.fixture(scope="session")
def standing(api, operator):  # noqa: ARG001 -- it has to run
    """One ValkeyCluster of 3 × (1+1) with node ports for all tests that leave it as it was."""
    with Factory(api, _namespace("standing")) as factory:
        yield factory("standing", external={"drainSeconds": 2})


@pytest.fixture
def steady(request, standing):
    """The shared cluster, all well."""
    request.node.stash[CLUSTERS] = [standing]
    standing.wait_until_ready()
    return standing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):  # noqa: ARG001 -- the hook's signature
    report = yield
    if report.when == "call" and report.failed:
        for made in item.stash.get(CLUSTERS, []):
            report.sections.append((f"ValkeyCluster {made.name}", _told_of(item, made)))
        if (deployed := item.session.stash.get(OPERATOR, None)) is not None:
            report.sections.append(("the operator's log", deployed.log()))
    return report


def _told_of(item, made):
    kubernetes = item.funcargs["kubernetes"] if "kubernetes" in item.funcargs else cluster.full()
    asked = (
        ("describe", "valkeyclusters", made.name),
        ("get", "valkeynodes,pods,services", "-o", "wide"),
        ("get", "events", "--sort-by=.lastTimestamp"),
    )
    return "\n".join(kubernetes.try_kubectl("-n", made.namespace, *words).stdout for words in asked)
