"""What is to be checked and as whom, from Kubernetes."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from valkey_operator.core import names
from valkey_operator.outside.errors import NotCheckedError
from valkey_operator.outside.kubectl import RefusedError
from valkey_operator.outside.target import target
from valkey_operator.outside.wire import Login

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from valkey_operator.outside.kubectl import Kubectl
    from valkey_operator.outside.target import Target

A = TypeVar("A")
B = TypeVar("B")

_API = "/apis/valkey.io/v1alpha1/namespaces"


async def endpoints(kubectl: Kubectl, namespace: str, name: str) -> Target:
    """The cluster as its status tells it, without its nodes."""
    return target(await _cluster(kubectl, namespace, name))


async def everything(kubectl: Kubectl, namespace: str, name: str) -> Target:
    """The cluster and its nodes."""
    path = f"{_API}/{namespace}/valkeynodes?labelSelector={quote(f'{names.CLUSTER}={name}')}"
    cluster, nodes = await together(
        _cluster(kubectl, namespace, name), kubectl.get(path, what=f"list of ValkeyNodes in {namespace}")
    )
    return target(cluster, nodes["items"])


async def login(kubectl: Kubectl, namespace: str, name: str) -> Login:
    """User, password and authorities of the connection Secret."""
    secret = names.connection_secret(name)
    instead = "log in by --user, --password-file and --ca-file instead"
    try:
        found = await kubectl.get(
            f"/api/v1/namespaces/{namespace}/secrets/{quote(secret, safe='')}", what=f"Secret {namespace}/{secret}"
        )
    except RefusedError as error:
        raise RefusedError(error.reason, f"{error}; or {instead}") from None
    return login_of(found, instead=instead)


def login_of(secret: Mapping[str, Any], *, instead: str) -> Login:
    """What the connection Secret holds; NotCheckedError names the keys that it lacks."""
    data = {key: b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
    missing = [key for key in ("username", "password") if not data.get(key)]
    if missing:
        meta = secret["metadata"]
        raise NotCheckedError(f"Secret {meta['namespace']}/{meta['name']} has no {' and no '.join(missing)}: {instead}")
    return Login(data["username"], data["password"], data.get("ca.crt"))


async def together(a: Coroutine[Any, Any, A], b: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Both results; where both fail, the first one's failure, since the other one's may follow from it."""
    first, second = await asyncio.gather(a, b, return_exceptions=True)
    if isinstance(first, BaseException):
        raise first
    if isinstance(second, BaseException):
        raise second
    return first, second


async def _cluster(kubectl: Kubectl, namespace: str, name: str) -> Mapping[str, Any]:
    return await kubectl.get(f"{_API}/{namespace}/valkeyclusters/{quote(name, safe='')}", what=f"ValkeyCluster {namespace}/{name}")
