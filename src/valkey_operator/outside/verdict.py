"""What is wrong, from what should be found and what was seen. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from valkey_operator.outside.seen import Failure, Told
from valkey_operator.outside.target import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from valkey_operator.core.names import NodeIndex
    from valkey_operator.outside.seen import Dial, Seen
    from valkey_operator.outside.target import Endpoint, Target


class Problem(StrEnum):
    """What can be wrong, for programs."""

    UNRESOLVED = "NameDoesNotResolve"
    NO_ROUTE = "NoRoute"
    UNANSWERED = "Unanswered"
    KEPT_AWAY = "AddressKeptAway"
    REFUSED = "PortClosed"
    CUT = "ConnectionCut"
    SILENT = "Silent"
    NO_TLS = "NoTLS"
    UNTRUSTED = "CertificateUntrusted"
    WRONG_NAME = "CertificateWrongName"
    EXPIRED = "CertificateExpired"
    LOGIN_REFUSED = "LoginRefused"
    NOT_VALKEY = "NotValkey"
    NOT_WORKING = "NotWorking"
    NOT_PERMITTED = "NotPermitted"
    WRONG_NODE = "WrongNode"
    HOST_UNKNOWN = "HostUnknown"
    INTERNAL_ADDRESS = "InternalAddress"
    OTHER_ADDRESS = "OtherAddress"
    NOT_TOLD = "NotTold"
    NOT_ANNOUNCED = "NotAnnounced"
    NO_ENDPOINT = "NoEndpoint"
    REDIRECT_FAILED = "RedirectFailed"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, said of the endpoint where it is."""

    problem: Problem
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One address that clients dial (or one node that has none), and all that is wrong there."""

    pair: Pair | None
    indexes: tuple[NodeIndex, ...]
    """The nodes that it stands for; none for one where clients begin."""
    role: str
    ips: tuple[str, ...] = ()
    milliseconds: int | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """All of it; well when no row has a finding."""

    rows: tuple[Row, ...]

    @property
    def is_well(self) -> bool:
        """Whether clients outside can work with every node."""
        return not any(row.findings for row in self.rows)


_PROBLEMS = {failure: Problem[failure.name] for failure in Failure}
_NEEDED = "CLUSTER SLOTS"
_WORDS = {
    Problem.UNRESOLVED: "{host} does not resolve",
    Problem.NO_ROUTE: "there is no route to {ip}",
    Problem.UNANSWERED: "{ip} does not answer",
    Problem.KEPT_AWAY: "{ip}{machine} answers at no port, while other addresses do",
    Problem.REFUSED: "{ip} refuses connections to port {port}",
    Problem.CUT: "the connection to {ip} is cut",
    Problem.SILENT: "{ip} accepts the connection and then says nothing",
    Problem.NO_TLS: "{ip} does not speak TLS",
    Problem.UNTRUSTED: "the certificate is signed by nobody who is trusted",
    Problem.WRONG_NAME: "the certificate does not cover {host}",
    Problem.EXPIRED: "the certificate is out of its time",
    Problem.LOGIN_REFUSED: "the login is refused",
    Problem.NOT_VALKEY: "what answers is no Valkey",
    Problem.NOT_WORKING: "the server does not work",
}


def verdict(target: Target, seen: Sequence[Seen]) -> Verdict:
    """A row for each address that is dialled, nodes first, and one for each node that has none."""
    said, misled = _said(target, seen), _misled(target, seen)
    by_pair = {Pair(each.host, each.port): each for each in seen}
    rows = [_row(target, by_pair[pair], said, _dialled(target, by_pair[pair], seen, misled)) for pair in target.pairs]
    known = {endpoint.index for endpoint in target.endpoints}
    rows += [
        Row(pair=None, indexes=(node.index,), role="", findings=(Finding(Problem.NO_ENDPOINT, "it has no endpoint"),))
        for node in target.nodes
        if node.index not in known
    ]
    return Verdict(tuple(rows))


def _row(target: Target, seen: Seen, said: dict[NodeIndex, list[Finding]], dialled: Iterable[Finding]) -> Row:
    pair, here = Pair(seen.host, seen.port), target.at(Pair(seen.host, seen.port))
    findings = list(dialled)
    for endpoint in here:
        if not endpoint.announced:
            findings.append(Finding(Problem.NOT_ANNOUNCED, f"the operator has not announced node {endpoint.index} to all clients"))
        findings += said.get(endpoint.index, ())
    answered = [dial.milliseconds for dial in seen.dials if dial.failure is None]
    return Row(
        pair=pair,
        indexes=tuple(endpoint.index for endpoint in here),
        role=_role(here),
        ips=tuple(dial.ip for dial in seen.dials),
        milliseconds=max(answered, default=None),
        findings=tuple(dict.fromkeys(findings)),
    )


def _role(here: Sequence[Endpoint]) -> str:
    if not here:
        return "start"
    return here[0].role if len(here) == 1 else "shard"


def _dialled(target: Target, seen: Seen, all_seen: Sequence[Seen], misled: frozenset[Pair]) -> Iterator[Finding]:
    """What is wrong at this pair itself."""
    if not seen.dials:
        yield Finding(Problem.UNRESOLVED, _sentence(_WORDS[Problem.UNRESOLVED].format(host=seen.host), seen.detail))
    for dial in seen.dials:
        if dial.failure is Failure.NO_ROUTE and any(other.failure is None for other in seen.dials):
            continue  # an address of the family that this client does not have
        if dial.failure is not None:
            problem = _PROBLEMS[dial.failure]
            if problem is Problem.UNANSWERED and _is_kept_away(dial.ip, all_seen):
                problem = Problem.KEPT_AWAY
            words = _WORDS[problem].format(ip=dial.ip, host=seen.host, port=seen.port, machine=_machine(target, dial.ip))
            yield Finding(problem, _sentence(words, dial.detail))
            continue
        yield from _answered(target, Pair(seen.host, seen.port), dial, misled)


def _answered(target: Target, pair: Pair, dial: Dial, misled: frozenset[Pair]) -> Iterator[Finding]:
    expected = target.expected(pair)
    if _NEEDED in dial.refused:
        yield Finding(Problem.NOT_PERMITTED, f"the user may not call {', '.join(dial.refused)}")
    elif not dial.id:
        yield Finding(
            Problem.NOT_PERMITTED, "the user may call neither CLUSTER MYID nor CLUSTER NODES, so it is unknown which node answers"
        )
    elif _is_wrong(dial, expected):
        who = next(
            (f"node {node.index}" for node in target.nodes if node.id == dial.id),
            f"a server that no ValkeyNode knows (id {dial.id[:8]}…)",
        )
        yield Finding(Problem.WRONG_NODE, f"{who} answers here")
    if dial.redirect is not None and dial.redirect.outcome and Pair(dial.redirect.host, dial.redirect.port) not in misled:
        sent = f"slot {dial.redirect.slot} to {Pair(dial.redirect.host, dial.redirect.port)}"
        yield Finding(Problem.REDIRECT_FAILED, f"it sends clients on for {sent}, which answers {dial.redirect.outcome}")


def _is_wrong(dial: Dial, expected: frozenset[str]) -> bool:
    return dial.failure is None and bool(dial.id and expected) and dial.id not in expected


def _misled(target: Target, all_seen: Iterable[Seen]) -> frozenset[Pair]:
    """Addresses that lead to another node: that those who are sent there get no answer follows from it."""
    pairs = ((Pair(seen.host, seen.port), dial) for seen in all_seen for dial in seen.dials)
    return frozenset(pair for pair, dial in pairs if _is_wrong(dial, target.expected(pair)))


def _is_kept_away(ip: str, all_seen: Iterable[Seen]) -> bool:
    """Whether nothing at all came back from an address, and something did from another one."""
    dials = [dial for seen in all_seen for dial in seen.dials]
    silent = all(dial.failure is Failure.UNANSWERED for dial in dials if dial.ip == ip)
    return silent and any(dial.failure not in (Failure.UNANSWERED, Failure.NO_ROUTE) for dial in dials if dial.ip != ip)


def _machine(target: Target, ip: str) -> str:
    """The Kubernetes node that has an address, where that is known: it is what a node port's pod advertises."""
    if target.type != "NodePort":
        return ""
    machines = {node.machine for endpoint in target.endpoints if endpoint.pair.host == ip if (node := target.node(endpoint.index))}
    return f" (Kubernetes node {machines.pop()})" if len(machines) == 1 and "" not in machines else ""


def _said(target: Target, seen: Iterable[Seen]) -> dict[NodeIndex, list[Finding]]:
    """What servers tell clients of each node and should not, or do not tell and should."""
    right = {node.id: endpoint for endpoint in target.endpoints if (node := target.node(endpoint.index)) and node.id}
    dials = [dial for each in seen for dial in each.dials if dial.failure is None]
    asked = len({dial.id for dial in dials})
    wrong: dict[tuple[str, str, int], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    quiet: dict[str, set[str]] = defaultdict(set)
    for dial in dials:
        for told in _all_told(dial):
            if told.id in right and (told.host, told.port) != right[told.id].pair:
                tellers, commands = wrong[told.id, told.host, told.port]
                tellers.add(dial.id)
                commands.add(told.by)
        if "CLUSTER NODES" not in dial.refused:
            for node_id in right.keys() - {told.id for told in dial.told}:
                quiet[node_id].add(dial.id)
    found: dict[NodeIndex, list[Finding]] = defaultdict(list)
    for (node_id, host, port), (tellers, commands) in wrong.items():
        index = right[node_id].index
        problem, what = _wrong(target, host, port)
        words = f"{len(tellers)} of {asked} servers tell clients {what} for node {index} ({', '.join(sorted(commands))})"
        found[index].append(Finding(problem, words))
    for node_id, tellers in quiet.items():
        index = right[node_id].index
        found[index].append(Finding(Problem.NOT_TOLD, f"{len(tellers)} of {asked} servers do not tell clients of node {index}"))
    return found


def _all_told(dial: Dial) -> Iterator[Told]:
    yield from dial.told
    if dial.redirect is not None:
        yield Told("MOVED", dial.redirect.id, dial.redirect.host, dial.redirect.port)


def _wrong(target: Target, host: str, port: int) -> tuple[Problem, str]:
    if host in ("", "?"):
        return Problem.HOST_UNKNOWN, f"?:{port}"
    pair = Pair(host, port)
    inside = f".valkey-{target.cluster}.{target.namespace}.svc"
    if host in {node.pod_ip for node in target.nodes} or inside in host:
        return Problem.INTERNAL_ADDRESS, f"the internal address {pair}"
    return Problem.OTHER_ADDRESS, f"another address, {pair},"


def _sentence(words: str, detail: str) -> str:
    return f"{words}: {detail}" if detail else words
