"""How a verdict is told: lines for people, values for programs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from valkey_operator.outside.advice import advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from valkey_operator.outside.target import Target
    from valkey_operator.outside.verdict import Row, Verdict

    Objects = dict[str, Any]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lines with columns as wide as they need, as kubectl prints them."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return ("   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)


def lines(target: Target, found: Verdict, *, seen_from: str, user: str) -> Iterator[str]:
    """The table, then for each address with something wrong what it is and what to do."""
    secured = "TLS" if target.tls else "no TLS"
    yield f"{target.namespace}/{target.cluster}: {target.type}, {secured}, seen from {seen_from} as user {user}"
    yield ""
    yield from table(
        ("ADDRESS", "NODE", "ROLE", "STATE"), [(_address(row), _nodes(row), row.role, _state(row)) for row in found.rows]
    )
    bad = [row for row in found.rows if row.findings]
    yield ""
    if not bad:
        yield f"all well: {len(found.rows)} addresses lead where they should, and servers tell clients the same"
        return
    yield f"{len(bad)} of {len(found.rows)} addresses {'is' if len(bad) == 1 else 'are'} not well:"
    for row in bad:
        yield ""
        yield " ".join(
            filter(None, (_address(row) if row.pair else "", f"(node {_nodes(row)})" if row.indexes else "(where clients start)"))
        )
        for finding in row.findings:
            yield f"  {finding.message}"
            yield f"    → {advice(target, row, finding)}"
    if target.lack:
        yield ""
        yield f"the operator says of external access: {target.lack}"


def as_json(target: Target, found: Verdict, *, seen_from: str, user: str) -> Objects:
    """The same for programs."""
    return {
        "namespace": target.namespace,
        "cluster": target.cluster,
        "type": target.type,
        "tls": target.tls,
        "from": seen_from,
        "user": user,
        "ok": found.is_well,
        "operator": target.lack,
        "addresses": [
            {
                "address": str(row.pair) if row.pair else "",
                "nodes": [{"shard": index.shard, "node": index.node} for index in row.indexes],
                "role": row.role,
                "ips": list(row.ips),
                "milliseconds": row.milliseconds,
                "problems": [
                    {"problem": finding.problem.value, "message": finding.message, "advice": advice(target, row, finding)}
                    for finding in row.findings
                ],
            }
            for row in found.rows
        ],
    }


def endpoint_rows(target: Target) -> Iterator[str]:
    """The endpoints of the status, and where clients begin."""
    rows = [
        (str(endpoint.pair), str(endpoint.index), endpoint.role, "yes" if endpoint.announced else "no")
        for endpoint in target.endpoints
    ]
    rows += [(str(pair), "", "start", "") for pair in target.bootstrap]
    return table(("ADDRESS", "NODE", "ROLE", "ANNOUNCED"), rows)


def endpoints_json(target: Target) -> Objects:
    """The same for programs."""
    return {
        "namespace": target.namespace,
        "cluster": target.cluster,
        "type": target.type,
        "tls": target.tls,
        "bootstrap": [{"address": str(pair), "host": pair.host, "port": pair.port} for pair in target.bootstrap],
        "endpoints": [
            {
                "address": str(endpoint.pair),
                "host": endpoint.pair.host,
                "port": endpoint.pair.port,
                "shard": endpoint.index.shard,
                "node": endpoint.index.node,
                "role": endpoint.role,
                "announced": endpoint.announced,
            }
            for endpoint in target.endpoints
        ],
    }


def _address(row: Row) -> str:
    return str(row.pair) if row.pair else "–"


def _nodes(row: Row) -> str:
    return ", ".join(map(str, row.indexes))


def _state(row: Row) -> str:
    if row.findings:
        return ", ".join(dict.fromkeys(finding.problem.value for finding in row.findings))
    return f"ok, {row.milliseconds} ms"
