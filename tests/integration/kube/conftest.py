import asyncio
import uuid
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import pytest

from valkey_operator.kube.client import Kube
from valkey_operator.kube.errors import NotFound, NotServed
from valkey_operator.kube.kinds import (
    CONFIG_MAP,
    EVENT,
    LEASE,
    NAMESPACE,
    POD_DISRUPTION_BUDGET,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    Kind,
)

CRD = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)
THINGS = "things.engine.test"
THING = Kind("engine.test/v1", "Thing", "things")


class Door:
    """A TCP proxy before the API server: connections can be cut, stalled and refused."""

    def __init__(self, kubeconfig, target, directory):
        self._text, self._target, self._directory = kubeconfig.read_text(), target, directory
        self.refuses = False
        self._pairs = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.kubeconfig = self._directory / f"through-{port}"
        self.kubeconfig.write_text(self._text.replace(self._target.netloc, f"127.0.0.1:{port}"))
        return self

    async def __aexit__(self, *_):
        self.refuses = True
        self._server.close()
        self.cut()
        await asyncio.gather(*(task for tasks, _ in self._pairs for task in tasks), return_exceptions=True)
        await asyncio.sleep(0.01)  # aborted connections are closed by the loop's next turn

    def cut(self):
        """End all connections, hard."""
        for tasks, writers in self._pairs:
            for task in tasks:
                task.cancel()
            for writer in writers:
                writer.transport.abort()

    def stall(self):
        """Let nothing more through on the connections that there are; they stay open."""
        for tasks, _ in self._pairs:
            for task in tasks:
                task.cancel()

    async def _accept(self, reader, writer):
        if self.refuses:
            writer.transport.abort()
            return
        inner_reader, inner_writer = await asyncio.open_connection(self._target.hostname, self._target.port)
        if self.refuses:
            writer.transport.abort()
            inner_writer.transport.abort()
            return
        tasks = [asyncio.create_task(_pump(reader, inner_writer)), asyncio.create_task(_pump(inner_reader, writer))]
        self._pairs.append((tasks, (writer, inner_writer)))


async def _pump(reader, writer):
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


@pytest.fixture
async def somebody(api_server):
    """Another client that changes objects, as `kubectl edit` does."""
    async with Kube(kubeconfig=api_server, field_manager="kubectl-edit") as client:
        yield client


@pytest.fixture
async def door(api_server, kube, tmp_path):
    """Opens a Door before the API server; give its kubeconfig to who is to go through it."""
    target = urlsplit(kube.server)
    doors = []

    async def opened():
        doors.append(await Door(api_server, target, tmp_path).__aenter__())
        return doors[-1]

    yield opened
    for each in doors:
        await each.__aexit__()


@pytest.fixture
async def namespace(kube):
    """A namespace of the test's own."""
    name = f"engine-{uuid.uuid4().hex[:8]}"
    await kube.create(NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    for kind in (SERVICE, CONFIG_MAP, SECRET, STATEFUL_SET, POD_DISRUPTION_BUDGET, LEASE, EVENT):
        for item in await kube.list_all(kind, name):
            with suppress(NotFound):
                await kube.delete(kind, item["metadata"]["name"], name)
    has_controllers = await kube.list_all(CONFIG_MAP, name, field_selector="metadata.name=kube-root-ca.crt")
    await kube.delete(NAMESPACE, name)
    if not has_controllers:  # an API server alone ends no namespace
        ended = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
        with suppress(NotFound):
            await kube._call("PUT", NAMESPACE, NAMESPACE.path(None, name, "finalize"), body=ended, what="end the namespace")


@pytest.fixture
async def serve_things(kube, namespace):
    """Has a kind of the test's own served, Thing, with a status; the API server remembers no version of it from before."""
    await gone(kube)

    async def serve():
        schema = {
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string"}}},
                "status": {"type": "object", "properties": {"phase": {"type": "string"}, "note": {"type": "string"}}},
            },
        }
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        names = {"kind": "Thing", "plural": "things"}
        spec = {"group": "engine.test", "scope": "Namespaced", "names": names, "versions": [version]}
        await kube.create(CRD, {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": {"name": THINGS}, "spec": spec})
        async with asyncio.timeout(30):
            while not await _is_served(kube, namespace):  # noqa: ASYNC110 - only the API server knows
                await asyncio.sleep(0.05)

    yield serve
    await gone(kube)


@pytest.fixture
def thing_kind():
    return THING


@pytest.fixture
async def things(serve_things):
    """The kind Thing, served."""
    await serve_things()
    return THING


async def _is_served(kube, namespace):
    conditions = (await kube.get(CRD, THINGS)).get("status", {}).get("conditions") or []
    if not any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions):
        return False
    with suppress(NotServed):
        return await kube.list_all(THING, namespace) == []
    return False


async def gone(kube):
    with suppress(NotFound):
        await kube.delete(CRD, THINGS)
        async with asyncio.timeout(30):
            while True:
                await kube.get(CRD, THINGS)
                await asyncio.sleep(0.05)


@pytest.fixture
def eventually():
    """Waits until a question, which may be asked of the API server, is answered by yes."""

    async def until(question, *, seconds=20):
        async with asyncio.timeout(seconds):
            while True:
                answer = question()
                if await answer if asyncio.iscoroutine(answer) else answer:
                    return
                await asyncio.sleep(0.02)

    return until


@pytest.fixture
def running():
    """Runs a coroutine for as long as the block lasts."""

    @asynccontextmanager
    async def run(coroutine):
        task = asyncio.create_task(coroutine)
        try:
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    return run
