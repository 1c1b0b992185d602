"""Doing: writes objects that differ, sends commands, and says of everything that failed what and why."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from valkey_operator.api.conditions import Reason
from valkey_operator.controllers import views
from valkey_operator.core import names
from valkey_operator.core import plan as want
from valkey_operator.core.status import Failure
from valkey_operator.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound
from valkey_operator.kube.fields import is_current, stamped
from valkey_operator.manifests.render import manifest
from valkey_operator.valkey import commands
from valkey_operator.valkey.errors import ServerError, ValkeyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
    from typing import Any

    from valkey_operator.controllers.mirror import Mirror
    from valkey_operator.controllers.observe import Eyes
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed
    from valkey_operator.kube.client import Kube, Object
    from valkey_operator.valkey.connection import Servers

log = logging.getLogger(__name__)

_REASONS = {
    "Service": Reason.SERVICE_ERROR,
    "ConfigMap": Reason.CONFIG_MAP_ERROR,
    "Secret": Reason.SECRET_ERROR,
    "StatefulSet": Reason.STATEFUL_SET_ERROR,
    "ValkeyNode": Reason.VALKEY_NODE_ERROR,
}

_TRIES = 5
_PAUSE = 0.1
"""How often node ports are asked for before a refusal is believed, and seconds between: the API server frees the ports of a deleted Service, and of
one whose creation was cut off, a moment after it has told of that."""


class Hands:
    """Carries out the actions of a plan, all at once, those to one server in order."""

    def __init__(self, kube: Kube, mirror: Mirror, servers: Servers, eyes: Eyes) -> None:
        self._kube = kube
        self._mirror = mirror
        self._servers = servers
        self._eyes = eyes

    async def perform(self, actions: Sequence[want.Action], observed: Observed) -> tuple[Failure, ...]:
        """What failed for a reason that a person can act on. An error that may pass by itself is raised once all else is done."""
        work: list[Coroutine[Any, Any, tuple[Failure, ...]]] = []
        told: dict[NodeIndex, list[want.Command]] = {}
        for action in actions:
            match action:
                case want.Ensure(wanted):
                    work.append(self._ensured(observed.cluster, wanted))
                case want.Remove(kind, name, uid):
                    work.append(self._removed(observed.cluster, kind, name, uid=uid))
                case want.Announce():
                    work.append(self._announced(observed, action))
                case want.Tell(index, command):
                    told.setdefault(index, []).append(command)
        work.extend(self._told(observed, index, listed) for index, listed in told.items())
        return await _together(work)

    async def _ensured(self, cluster: Cluster, wanted: want.Wanted) -> tuple[Failure, ...]:
        kind, _ = manifest(cluster, wanted)
        external = isinstance(wanted, want.ExternalService | want.ExternalRoute | want.DnsSnippet)
        try:
            await self._ensure(cluster, wanted)
        except AlreadyExists as error:
            reason = Reason.SERVICE_CONFLICT if isinstance(wanted, want.ExternalService) else Reason.OBJECT_CONFLICT
            return (Failure(reason, error.message, external=external),)
        except KubeError as error:
            if error.retryable:
                raise
            reason = Reason.ROUTE_NOT_ACCEPTED if isinstance(wanted, want.ExternalRoute) else _REASONS.get(kind, Reason.RECONCILING)
            return (Failure(reason, f"{kind} could not be written: {error.message}", external=external),)
        return ()

    async def _ensure(self, cluster: Cluster, wanted: want.Wanted) -> None:
        """Create what is absent, apply what differs. AlreadyExists, with the owner named, where the name is somebody else's."""
        kind, body = manifest(cluster, wanted)
        if isinstance(wanted, want.PodLabels):
            await self._kube.apply(self._mirror.kind(kind), body)
            log.info("labelled Pod %s %s", wanted.pod, body["metadata"]["labels"])
            return
        body = stamped(body)
        name = body["metadata"]["name"]
        child = self._mirror.child(kind, cluster.namespace, name)
        owner = body["metadata"]["ownerReferences"][0]["uid"]
        if child is None:
            await self._write(cluster, wanted, body, lambda body: self._create(cluster, kind, body, owner=owner))
        elif not child.is_owned_by(owner):
            raise AlreadyExists(_conflict(kind, name, await self._kube.get(self._mirror.kind(kind), name, cluster.namespace)))
        elif not child.deleting and not is_current(child.owned, body):
            uid = child.uid
            await self._write(cluster, wanted, body, lambda body: self._change(kind, body, uid=uid))

    async def _write(
        self,
        cluster: Cluster,
        wanted: want.Wanted,
        body: Object,
        write: Callable[[Object], Awaitable[None]],
        *,
        tries: int = _TRIES,
    ) -> None:
        """Write it; of a Service, preferred node ports that are refused are left to Kubernetes, one refusal at a time."""
        try:
            await write(body)
        except Invalid as error:
            less = without_refused_ports(wanted, [cause.field for cause in error.causes])
            if less is None:
                raise
            if tries > 1:
                await asyncio.sleep(_PAUSE)
                await self._write(cluster, wanted, body, write, tries=tries - 1)
            else:
                _, body = manifest(cluster, less)
                await self._write(cluster, less, stamped(body), write, tries=tries)

    async def _create(self, cluster: Cluster, kind: str, body: Object, *, owner: str) -> None:
        """Make it. One of ours that lost its labels is not seen, and found only by its name: it gets them back, and is seen again."""
        name, labels = body["metadata"]["name"], body["metadata"]["labels"]
        try:
            await self._kube.create(self._mirror.kind(kind), body)
            log.info("created %s %s", kind, name)
        except AlreadyExists:
            live = await self._kube.get(self._mirror.kind(kind), name, cluster.namespace)
            child = views.child(live)
            if not child.is_owned_by(owner):
                raise AlreadyExists(_conflict(kind, name, live)) from None
            if not labels.items() <= child.labels.items():
                await self._kube.label(self._mirror.kind(kind), name, cluster.namespace, labels, uid=child.uid)
                log.info("labelled %s %s again", kind, name)

    async def _change(self, kind: str, body: Object, *, uid: str) -> None:
        body["metadata"]["uid"] = uid
        await self._kube.apply(self._mirror.kind(kind), body)
        log.info("changed %s %s", kind, body["metadata"]["name"])

    async def _removed(self, cluster: Cluster, kind: str, name: str, *, uid: str) -> tuple[Failure, ...]:
        try:
            await self._kube.delete(self._mirror.kind(kind), name, cluster.namespace, uid=uid)
            log.info("deleted %s %s", kind, name)
        except (NotFound, Conflict):
            return ()  # it is gone, or another one has its name: either way this one is no more
        except KubeError as error:
            if error.retryable:
                raise
            reason = _REASONS.get(kind, Reason.RECONCILING)
            return (Failure(reason, f"{kind} {name} could not be deleted: {error.message}", external=kind != "Pod"),)
        return ()

    async def _announced(self, observed: Observed, action: want.Announce) -> tuple[Failure, ...]:
        """Record and file, then the server: one that restarts after it was told comes up with the new pair, never with an older one."""
        written = (wanted for wanted in (action.record, action.file) if wanted is not None)
        failures = await _together([self._ensured(observed.cluster, wanted) for wanted in written])
        if failures:
            return tuple(replace(failure, external=True) for failure in failures)
        if action.values is not None:
            return await self._told(observed, action.index, [want.SetConfig(action.values)])
        return ()

    async def _told(self, observed: Observed, index: NodeIndex, told: Sequence[want.Command]) -> tuple[Failure, ...]:
        """All commands for one server in one round trip; what the server refuses is told, and asked again at the next look."""
        address = await self._eyes.address(observed, index)
        if address is None:
            return ()
        sent = tuple(_command(command) for command in told)
        try:
            replies = await self._servers.ask_each(address, *sent)
        except ValkeyError as error:
            return (Failure(Reason.COMMAND_FAILED, f"node {index} could not be told {sent[0].name}: {error}", passing=True),)
        log.info("told node %s %s", index, ", ".join(_shown(command) for command in told))
        return tuple(
            Failure(Reason.COMMAND_FAILED, f"node {index} answered {command.name} with: {reply}", passing=True)
            for command, reply in zip(sent, replies, strict=True)
            if isinstance(reply, ServerError)
        )


async def _together(work: Iterable[Coroutine[Any, Any, tuple[Failure, ...]]]) -> tuple[Failure, ...]:
    """Everything that failed of what is done at the same time; an error is raised once all else is done."""
    results = await asyncio.gather(*work, return_exceptions=True)
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors:
        raise _worst(errors)
    return tuple(failure for result in results if not isinstance(result, BaseException) for failure in result)


def without_refused_ports(wanted: want.Wanted, fields: Iterable[str]) -> want.ExternalService | None:
    """The Service without the preference for node ports that the API server refused (`spec.ports[1].nodePort`); None if it is not about that."""
    refused = (
        {f"spec.ports[{place}].nodePort" for place in range(len(wanted.ports))}
        if isinstance(wanted, want.ExternalService)
        else set()
    )
    named = refused & set(fields)
    if not named or not isinstance(wanted, want.ExternalService):
        return None
    ports = tuple(
        replace(port, port=port.fallback, node_port=None, fallback=None)
        if f"spec.ports[{place}].nodePort" in named and port.fallback is not None
        else port
        for place, port in enumerate(wanted.ports)
    )
    return replace(wanted, ports=ports) if ports != wanted.ports else None


def _conflict(kind: str, name: str, live: Object) -> str:
    owners = live["metadata"].get("ownerReferences") or ()
    whose = ", ".join(f"{owner['kind']} {owner['name']}" for owner in owners) or "somebody else"
    return f"{kind} {name} exists and belongs to {whose}: rename it or this ValkeyCluster; it is not touched"


def _worst(errors: Sequence[BaseException]) -> BaseException:
    """The error to raise for several: one that is no passing error of the API server before one that is."""
    return next((error for error in errors if not isinstance(error, KubeError)), errors[0])


def _shown(command: want.Command) -> str:
    """A command in a log line: which options are set, since none of them is a secret, and to what."""
    if isinstance(command, want.SetConfig):
        return "CONFIG SET " + " ".join(f"{key}={value}" for key, value in command.values.items())
    return _command(command).name


def _command(command: want.Command) -> commands.Command[Any]:  # noqa: PLR0911  # one line per command
    match command:
        case want.SetConfig(values):
            return commands.config_set(values)
        case want.AddSlots(slots):
            return commands.add_slots(slots)
        case want.Meet(ip):
            return commands.meet(ip, port=names.CLIENT_PORT, bus_port=names.BUS_PORT)
        case want.Replicate(primary_id):
            return commands.replicate(primary_id)
        case want.Forget(id=node_id):
            return commands.forget(node_id)
        case want.TakeOver(vote):
            return commands.failover("FORCE" if vote else "TAKEOVER")
        case want.BumpEpoch():
            return commands.BUMP_EPOCH
        case want.KillClients(kind):
            return commands.kill_clients(kind)
