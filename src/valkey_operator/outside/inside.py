"""The same look from a pod inside: made, awaited, read and deleted."""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from valkey_operator.outside import pod, seen
from valkey_operator.outside.errors import NotCheckedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from valkey_operator.outside.kubectl import Kubectl
    from valkey_operator.outside.probe import Order
    from valkey_operator.outside.seen import Seen
    from valkey_operator.outside.target import Target

_START = 60
"""Seconds that a pod may take to start."""
_OPERATOR = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io/name%3Dvalkey-operator"


async def operator_image(kubectl: Kubectl) -> str:
    """The image of the operator that is deployed, which has the same program."""
    instead = "give --image, the operator's image"
    try:
        found = (await kubectl.get(_OPERATOR, what="list of Deployments, to find the operator's image"))["items"]
    except NotCheckedError as error:
        raise NotCheckedError(f"{error}; or {instead}") from None
    if not found:
        raise NotCheckedError(
            f"no Deployment is labelled app.kubernetes.io/name=valkey-operator, so its image is unknown: {instead}"
        )
    return str(found[0]["spec"]["template"]["spec"]["containers"][0]["image"])


async def look(kubectl: Kubectl, target: Target, order: Order, *, image: str) -> tuple[Seen, ...]:
    """What a pod of that image sees, in the cluster's namespace. The pod is deleted whatever happens."""
    name = f"valkey-check-{secrets.token_hex(4)}"
    what = f"pod {target.namespace}/{name} of image {image}"
    await kubectl.create(pod.manifest(target, order, name=name, image=image), what=what)
    try:
        why = await _end(kubectl, target.namespace, name, within=_START + 10 * order.timeout)
        words = "logs", name, "--namespace", target.namespace, "--container", pod.CONTAINER
        if why:
            said = ""
            with suppress(NotCheckedError):  # it may not have started
                said = (await kubectl.run(*words, "--tail=1", what=what)).strip()
            raise NotCheckedError(f"{what} could not look: {why}{'; it said: ' if said else ''}{said}")
        said = await kubectl.run(*words, what=what)
        try:
            return seen.read(json.loads(said))
        except (ValueError, LookupError, TypeError):
            raise NotCheckedError(
                f"{what} said what cannot be read: give --image, of the operator of this plugin's version"
            ) from None
    finally:
        await asyncio.shield(_delete(kubectl, target.namespace, name))


async def _end(kubectl: Kubectl, namespace: str, name: str, *, within: float) -> str:
    """Why the pod failed, once it has ended; empty when it succeeded."""
    watch = (
        "get",
        "pod",
        name,
        "--namespace",
        namespace,
        "--watch",
        "--request-timeout=0",
        "--output",
        "jsonpath={.status}{'\\n'}",
    )
    try:
        async with asyncio.timeout(within), kubectl.lines(*watch) as lines:
            return await _ended(lines)
    except TimeoutError:
        return f"it did not end within {within:g} s: see whether pods start in that namespace"


async def _ended(lines: AsyncIterator[str]) -> str:
    async for line in lines:
        if (ended := pod.progress(json.loads(line))) is not None:
            return ended.why
    return "it was deleted, or the API server ended the watch"


async def _delete(kubectl: Kubectl, namespace: str, name: str) -> None:
    with suppress(NotCheckedError):  # whoever deleted it before saved the work
        await kubectl.run("delete", "pod", name, "--namespace", namespace, "--wait=false", what=name)
