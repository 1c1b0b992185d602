"""The one door to the API server: dicts in, dicts out, `KubeError` on failure, every request bounded in time.

lightkube finds the configuration (kubeconfig or service account) and does authentication, TLS and the requests themselves. Paths are made
here rather than by its resource classes, since it knows neither bookmarks nor the precondition of a delete, and since dicts need no classes.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import httpx2
import msgspec
import yaml
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError
from lightkube.core.generic_client import BasicRequest, GenericAsyncClient
from lightkube.types import PatchType

from valkey_operator.kube.errors import FAILURES, IDLE, Conflict, NotFound, Unavailable, from_answer, from_status, translated
from valkey_operator.kube.fields import adopted
from valkey_operator.kube.kinds import LEASE
from valkey_operator.kube.observer import SILENT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping
    from pathlib import Path

    from valkey_operator.kube.kinds import Kind
    from valkey_operator.kube.observer import Observer

Object = dict[str, Any]
Propagation = Literal["Background", "Foreground", "Orphan"]

FIELD_MANAGER = "valkey-operator"
_ADOPTIONS = 5
_AT_ONCE = 16
_UNUSABLE = (ConfigError, yaml.YAMLError, msgspec.MsgspecError, AttributeError, LookupError, OSError, TypeError, ValueError)
"""What lightkube raises for a kubeconfig that is none."""


@dataclass
class _Connections(ConnectionParams):
    """What lightkube hands to httpx2, and how long idle connections are kept.

    By default they are closed after 5 s, so that nearly every burst of writes began with as many TLS handshakes, which cost more than the
    writes: a dozen creates took 160 ms, and 40 ms over connections that were open. The API server closes idle ones after 90 s.
    """

    limits: httpx2.Limits = field(
        default_factory=lambda: httpx2.Limits(max_connections=100, max_keepalive_connections=32, keepalive_expiry=60)
    )


class Kube:
    """The API server, for as long as `async with` holds (or until `close`)."""

    def __init__(
        self,
        *,
        kubeconfig: str | Path | None = None,
        field_manager: str = FIELD_MANAGER,
        timeout: float = 10.0,
        observer: Observer = SILENT,
    ) -> None:
        """Use that kubeconfig, else the pod's service account, else $KUBECONFIG, else ~/.kube/config. Connects to nothing yet."""
        try:
            config = KubeConfig.from_file(kubeconfig) if kubeconfig else None
            self._client = GenericAsyncClient(_Connections(timeout=httpx2.Timeout(timeout)), config, field_manager=field_manager)
        except _UNUSABLE as error:
            raise translated(ConfigError(f"no usable configuration for Kubernetes: {error}"), "configuration") from error
        self.field_manager = field_manager
        self.observer = observer
        self._timeout = timeout
        # No more than the pool keeps connections for; who waits here does not yet count his time.
        self._turns = asyncio.Semaphore(_AT_ONCE)

    @property
    def namespace(self) -> str:
        """The namespace that the configuration names: the pod's own inside a cluster."""
        return str(self._client.namespace)

    @property
    def server(self) -> str:
        """The API server's address."""
        return str(self._client._client.base_url)  # noqa: SLF001

    async def close(self) -> None:
        """Give all connections back."""
        await self._client._client.aclose()  # noqa: SLF001 - lightkube's own close() is this line without types

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """The object as it is now (a quorum read). NotFound if there is none."""
        return await self._call("GET", kind, kind.path(namespace, name), what=f"get {_named(kind, namespace, name)}")

    async def list_pages(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
        page: int = 500,
    ) -> AsyncGenerator[tuple[list[Object], str]]:
        """All objects of a kind, `page` at a time, each with the resource version that a watch of the whole list starts from.

        Every item carries apiVersion and kind (the API server leaves them out in lists). Gone if the list took too long to read.
        """
        params = {"limit": str(page), "labelSelector": label_selector, "fieldSelector": field_selector}
        while True:
            answer = await self._call("GET", kind, kind.path(namespace), params=params, what=f"list {kind.plural}")
            items = answer.get("items") or []
            for item in items:
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
            yield items, answer["metadata"]["resourceVersion"]
            token = answer["metadata"].get("continue")
            if not token:
                return
            params["continue"] = token

    async def list_all(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> list[Object]:
        """All objects of a kind at once: for small lists."""
        pages = self.list_pages(kind, namespace, label_selector=label_selector, field_selector=field_selector)
        return [item async for items, _ in pages for item in items]

    async def watch(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
        server_timeout: float = 300.0,
        idle_timeout: float = 75.0,
    ) -> AsyncGenerator[tuple[str, Object]]:
        """What happened after `resource_version`: ("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK", object), until the server ends it.

        Gone when the resource version is too old. Unavailable when the connection breaks, or (reason IDLE) when nothing, neither an event
        nor a bookmark, was heard for `idle_timeout` seconds: with etcd 3.5 or later a bookmark comes each minute, with an older one perhaps never.
        """
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(max(1, int(server_timeout))),
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
        }
        what = f"watch {kind.plural}"
        request = self._request(
            "GET", kind.path(namespace), params=params, timeout=httpx2.Timeout(self._timeout, read=idle_timeout)
        )
        async with self._answer(request, kind, "watch", what=what) as answer:
            try:
                async for line in answer.aiter_lines():
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise from_status(event["object"])
                    yield event["type"], event["object"]
            except httpx2.ReadTimeout as error:
                raise Unavailable(f"{what}: nothing heard for {idle_timeout:g} s", reason=IDLE) from error

    async def create(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """The object, newly made. AlreadyExists if there is one of that name: it is never taken over, whoever made it."""
        meta = body["metadata"]
        what = f"create {_named(kind, meta.get('namespace'), meta['name'])}"
        made = await self._call("POST", kind, kind.path(meta.get("namespace")), body=body, manager=True, what=what)
        self.observer.wrote(kind, "create")
        return made

    async def apply(self, kind: Kind, body: Mapping[str, Any], *, subresource: str | None = None, force: bool = True) -> Object:
        """The object after a server-side apply of `body`: what it names is ours, what we owned and it no longer names is removed.

        `body` carries the uid that was observed: another object that took the name is not touched, and one that has gone is not made
        again (Conflict; NotFound with a subresource). A field that another manager owns is taken over, or with `force=False` answered by
        Conflict.
        """
        meta = body["metadata"]
        name, namespace, uid = meta["name"], meta.get("namespace"), meta.get("uid")
        what = f"apply {_named(kind, namespace, name)}{f' {subresource}' if subresource else ''}"
        if not uid:
            raise ValueError(f"{what}: the body needs metadata.uid (objects are made by create)")
        with suppress(NotFound):  # the API server says what it says of an object that has gone
            live = await self.get(kind, name, namespace)
            if live["metadata"]["uid"] != uid:
                raise Conflict(f"{what}: another object has that name now (uid {live['metadata']['uid']}, not {uid})", code=409)
            if subresource is None:
                await self._adopt(kind, live)
            else:
                # A status is written whatever the uid says; the version makes sure that it is still the same object.
                body = {**body, "metadata": {**meta, "resourceVersion": live["metadata"]["resourceVersion"]}}
        params = {"force": "true" if force else None}
        path = kind.path(namespace, name, *([subresource] if subresource else []))
        applied = await self._call("PATCH", kind, path, body=body, patch=PatchType.APPLY, params=params, what=what)
        self.observer.wrote(kind, "apply-status" if subresource == "status" else "apply")
        return applied

    async def label(self, kind: Kind, name: str, namespace: str, labels: Mapping[str, str], *, uid: str) -> Object:
        """The object of that uid with these labels beside its others. NotFound if there is none, Conflict if it is another one."""
        body = {"metadata": {"uid": uid, "labels": dict(labels)}}
        what = f"label {_named(kind, namespace, name)}"
        labelled = await self._call("PATCH", kind, kind.path(namespace, name), body=body, patch=PatchType.MERGE, what=what)
        self.observer.wrote(kind, "patch")
        return labelled

    async def replace(self, kind: Kind, body: Mapping[str, Any]) -> Object:
        """The object after it was replaced as a whole. Conflict unless its `metadata.resourceVersion` is still the current one."""
        meta = body["metadata"]
        path = kind.path(meta.get("namespace"), meta["name"])
        what = f"replace {_named(kind, meta.get('namespace'), meta['name'])}"
        replaced = await self._call("PUT", kind, path, body=body, manager=True, what=what)
        self.observer.wrote(kind, "replace")
        return replaced

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Ask for the deletion of the object with that uid. NotFound if there is none, Conflict if it is another one."""
        body: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            body["preconditions"] = {"uid": uid}
        await self._call("DELETE", kind, kind.path(namespace, name), body=body, what=f"delete {_named(kind, namespace, name)}")
        self.observer.wrote(kind, "delete")

    async def _adopt(self, kind: Kind, live: Object) -> None:
        """Make fields that we own by a create ours by apply, so that the apply that follows can remove them.

        After a POST our manager owns its fields with operation Update, and an apply never removes what an Update owns. client-go's
        csaupgrade does the same: rewrite metadata.managedFields, guarded by the resource version.
        """
        name, namespace = live["metadata"]["name"], live["metadata"].get("namespace")
        for attempt in range(_ADOPTIONS):
            entries = adopted(live, self.field_manager)
            if entries is None:
                return
            patch = [
                {"op": "replace", "path": "/metadata/managedFields", "value": entries},
                {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
            ]
            what = f"adopt fields of {_named(kind, namespace, name)}"
            try:
                await self._call("PATCH", kind, kind.path(namespace, name), body=patch, patch=PatchType.JSON, what=what)
            except Conflict:
                if attempt == _ADOPTIONS - 1:
                    raise
                live = await self.get(kind, name, namespace)
            else:
                self.observer.wrote(kind, "patch")
                return

    async def _call(
        self,
        method: str,
        kind: Kind,
        path: str,
        *,
        what: str,
        body: Mapping[str, Any] | list[Object] | None = None,
        params: Mapping[str, str | None] | None = None,
        patch: PatchType | None = None,
        manager: bool = False,
    ) -> Object:
        fields = {"fieldManager": self.field_manager} if manager or patch else {}
        request = self._request(method, path, params={**(params or {}), **fields}, body=body, patch=patch)
        # A crowd must not cost the leadership: whoever renews a Lease does not wait.
        turn = nullcontext() if kind == LEASE else self._turns
        async with (
            turn,
            self._answer(request, kind, method.lower(), what=what) as answer,
            asyncio.timeout(self._timeout),
        ):
            read: Object = json.loads(await answer.aread())
            return read

    def _request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | None],
        body: object = None,
        patch: PatchType | None = None,
        timeout: httpx2.Timeout | None = None,
    ) -> httpx2.Request:
        given = {key: value for key, value in params.items() if value is not None}
        headers = {"Content-Type": patch.value} if patch else None
        return self._client.build_adapter_request(
            BasicRequest(method=method, url=path, params=given, data=body, headers=headers, timeout=timeout)
        )

    @asynccontextmanager
    async def _answer(self, request: httpx2.Request, kind: Kind, verb: str, *, what: str) -> AsyncIterator[httpx2.Response]:
        """The answer to a request, its body still to be read: within, too, whatever fails is a KubeError."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        answer: httpx2.Response | None = None
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._client._client.send(request, stream=True)  # noqa: SLF001 - lightkube's own send() without types
                self.observer.answered(kind, verb, answer.status_code, loop.time() - begun)
                if answer.is_error:
                    raise from_answer(answer.status_code, await answer.aread(), retry_after=answer.headers.get("Retry-After", ""))
            yield answer
        except FAILURES as error:
            if answer is None:
                self.observer.answered(kind, verb, 0, loop.time() - begun)
            raise translated(error, what) from error
        finally:
            if answer is not None:
                await answer.aclose()


def _named(kind: Kind, namespace: str | None, name: str) -> str:
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"
