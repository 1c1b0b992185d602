"""Kinds that the real API server begins to serve, serves in another version, and serves no more."""

import asyncio
import uuid
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
import yaml

from valkey_operator.kube.client import Kube
from valkey_operator.kube.errors import Forbidden, NotFound, NotServed
from valkey_operator.kube.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from valkey_operator.kube.optional import OptionalReflector

SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
BINDING = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)


class Served:
    """A kind of the test's own, in a group of its own."""

    def __init__(self, kube):
        self._kube = kube
        self.group = f"optional-{uuid.uuid4().hex[:8]}.engine.test"
        self.name = f"gadgets.{self.group}"
        self.new, self.old = (Kind(f"{self.group}/{version}", "Gadget", "gadgets") for version in ("v1", "v1alpha1"))

    async def serve(self, *versions):
        """Only these of v1 and v1alpha1."""
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        spec = {
            "group": self.group,
            "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "versions": [
                {"name": version, "served": version in versions, "storage": version == "v1", "schema": schema}
                for version in ("v1", "v1alpha1")
            ],
        }
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": self.name}}
        try:
            live = await self._kube.get(CUSTOM_RESOURCE_DEFINITION, self.name)
        except NotFound:
            await self._kube.create(CUSTOM_RESOURCE_DEFINITION, {**body, "spec": spec})
        else:
            await self._kube.replace(CUSTOM_RESOURCE_DEFINITION, {**live, "spec": spec})

    async def end(self):
        """Not served, and the definition gone."""
        with suppress(NotFound):
            await self._kube.delete(CUSTOM_RESOURCE_DEFINITION, self.name)
            async with asyncio.timeout(20):
                while True:
                    await self._kube.get(CUSTOM_RESOURCE_DEFINITION, self.name)
                    await asyncio.sleep(0.02)

    async def make(self, kind, name, namespace, **labels):
        """An object, as soon as its kind is served."""
        metadata = {"name": name, "namespace": namespace, "labels": labels}
        async with asyncio.timeout(20):
            while True:
                with suppress(NotServed, NotFound):
                    return await self._kube.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata})
                await asyncio.sleep(0.05)

    def reflector(self, kube, namespace, **given):
        return OptionalReflector(kube, (self.new, self.old), shown, namespace=namespace, **given)


def shown(item):
    return item["apiVersion"].rpartition("/")[2], item["metadata"]["name"]


@pytest.fixture
async def gadgets(kube):
    served = Served(kube)
    yield served
    await served.end()


@pytest.fixture
def mirroring():
    """Runs an optional reflector, and what it looks at."""

    @asynccontextmanager
    async def run(reflector):
        tasks = [asyncio.create_task(each.run()) for each in (reflector, reflector.definition)]
        async with AsyncExitStack() as stack:
            for task in tasks:
                stack.push_async_callback(ended, task)
            yield

    return run


async def ended(task):
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_kind_that_is_not_served_has_no_objects_and_holds_nobody_up(kube, namespace, gadgets, mirroring):
    reflector = gadgets.reflector(kube, namespace)
    async with mirroring(reflector):
        await asyncio.wait_for(reflector.store.synced.wait(), 10)
        assert (reflector.served, reflector.store.all()) == (None, ())


async def test_a_kind_that_is_served_from_the_start_is_mirrored(kube, namespace, gadgets, mirroring):
    await gadgets.serve("v1")
    await gadgets.make(gadgets.new, "early", namespace)
    reflector = gadgets.reflector(kube, namespace)
    async with mirroring(reflector):
        await asyncio.wait_for(reflector.store.synced.wait(), 10)
        assert (reflector.served, reflector.store.all()) == (gadgets.new, (("v1", "early"),))


async def test_a_kind_comes_changes_its_version_and_goes(kube, namespace, gadgets, mirroring, eventually):
    reflector = gadgets.reflector(kube, namespace)
    async with mirroring(reflector):
        await asyncio.wait_for(reflector.store.synced.wait(), 10)

        await gadgets.serve("v1alpha1")
        await eventually(lambda: reflector.served == gadgets.old)
        await gadgets.make(gadgets.old, "one", namespace)
        await eventually(lambda: reflector.store.all() == (("v1alpha1", "one"),))
        assert reflector.store.synced.is_set()

        await gadgets.serve("v1", "v1alpha1")
        await eventually(lambda: reflector.served == gadgets.new)
        await eventually(lambda: reflector.store.all() == (("v1", "one"),))
        await eventually(reflector.store.synced.is_set)
        await gadgets.make(gadgets.new, "two", namespace)
        await eventually(lambda: set(reflector.store.all()) == {("v1", "one"), ("v1", "two")})
        await kube.delete(gadgets.new, "one", namespace)
        await eventually(lambda: reflector.store.all() == (("v1", "two"),))

        await gadgets.serve("v1alpha1")
        await eventually(lambda: reflector.served == gadgets.old)
        await eventually(lambda: reflector.store.all() == (("v1alpha1", "two"),))

        await gadgets.end()
        await eventually(lambda: reflector.served is None)
        await eventually(lambda: reflector.store.all() == ())
        assert reflector.store.synced.is_set()

        await gadgets.serve("v1")
        await eventually(lambda: reflector.served == gadgets.new)
        await gadgets.make(gadgets.new, "again", namespace)
        await eventually(lambda: reflector.store.all() == (("v1", "again"),))


async def test_everybody_who_listens_hears_of_objects_that_go_with_their_kind(kube, namespace, gadgets, mirroring, eventually):
    await gadgets.serve("v1")
    await gadgets.make(gadgets.new, "one", namespace)
    reflector, told = gadgets.reflector(kube, namespace), []
    reflector.store.subscribe(lambda old, new: told.append((old, new)))
    async with mirroring(reflector):
        await eventually(lambda: told == [(None, ("v1", "one"))])
        await gadgets.end()
        await eventually(lambda: told == [(None, ("v1", "one")), (("v1", "one"), None)])


async def test_only_what_was_selected_is_mirrored(kube, namespace, gadgets, mirroring, eventually):
    await gadgets.serve("v1")
    await gadgets.make(gadgets.new, "theirs", namespace)
    await gadgets.make(gadgets.new, "ours", namespace, made="here")
    reflector = gadgets.reflector(kube, namespace, label_selector="made=here", index=lambda view: (view[1],))
    async with mirroring(reflector):
        await eventually(lambda: reflector.store.all() == (("v1", "ours"),))
        assert reflector.store.by("ours") == (("v1", "ours"),)


async def test_an_aggregated_kind_is_found_by_its_api_service(kube, namespace, gadgets, mirroring, eventually):
    """The API server has an APIService for the group of every CustomResourceDefinition as well."""
    reflector = gadgets.reflector(kube, namespace, aggregated=True)
    async with mirroring(reflector):
        await asyncio.wait_for(reflector.store.synced.wait(), 10)
        assert reflector.served is None
        await gadgets.serve("v1")
        await eventually(lambda: reflector.served == gadgets.new)
        await gadgets.make(gadgets.new, "one", namespace)
        await eventually(lambda: reflector.store.all() == (("v1", "one"),))
        await gadgets.end()
        await eventually(lambda: (reflector.served, reflector.store.all()) == (None, ()))


@pytest.fixture
async def reader(kube, api_server, namespace, tmp_path):
    """A client that may see which kinds there are, and no object of them."""
    name, group = f"definitions-{namespace}", "rbac.authorization.k8s.io"
    rules = [{"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["list", "watch"]}]
    binding = {
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    await kube.create(SERVICE_ACCOUNT, body(SERVICE_ACCOUNT, "reader", namespace=namespace))
    await kube.create(CLUSTER_ROLE, {**body(CLUSTER_ROLE, name), "rules": rules})
    await kube.create(BINDING, {**body(BINDING, name), **binding})
    path = SERVICE_ACCOUNT.path(namespace, "reader", "token")
    answer = await kube._call("POST", SERVICE_ACCOUNT, path, body={"spec": {"expirationSeconds": 600}}, what="make a token")
    config = yaml.safe_load(api_server.read_text())
    config["users"][0]["user"] = {"token": answer["status"]["token"]}
    kubeconfig = tmp_path / "reader"
    kubeconfig.write_text(yaml.safe_dump(config))
    async with Kube(kubeconfig=kubeconfig) as client:
        yield client
    await kube.delete(BINDING, name)
    await kube.delete(CLUSTER_ROLE, name)


def body(kind, name, **metadata):
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name, **metadata}}


async def test_objects_that_may_not_be_listed_hold_nobody_up(reader, namespace, gadgets, mirroring):
    await gadgets.serve("v1")
    await gadgets.make(gadgets.new, "one", namespace)
    with pytest.raises(Forbidden):
        await reader.list_all(gadgets.new, namespace)
    reflector = gadgets.reflector(reader, namespace)
    async with mirroring(reflector):
        await asyncio.wait_for(reflector.store.synced.wait(), 10)
        assert (reflector.served, reflector.store.all()) == (gadgets.new, ())
