"""`kubectl valkey endpoints`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from valkey_operator.cli import kubectl_valkey
from valkey_operator.outside import gather, report
from valkey_operator.outside.clients import CLIENTS, code

if TYPE_CHECKING:
    from pathlib import Path

    from valkey_operator.outside.target import Target


@click.command(name="endpoints")
@kubectl_valkey.options
@click.option("--client", type=click.Choice(list(CLIENTS)), help="Print ready code for that client library.")
@click.option("--output", "-o", type=click.Choice(["json"]), help="Instead of a table for people.")
def command(
    *, cluster: str, namespace: str | None, context: str | None, kubeconfig: Path | None, client: str | None, output: str | None
) -> None:
    """Print where clients outside reach CLUSTER."""
    if client and output:
        raise click.UsageError("--client prints code: leave --output out")
    kubectl = kubectl_valkey.kubectl(kubeconfig, context)

    async def ask() -> Target:
        return await gather.endpoints(kubectl, namespace or await kubectl.namespace(), cluster)

    target = kubectl_valkey.done(ask())
    if client:
        click.echo(code(CLIENTS[client], target), nl=False)
    elif output == "json":
        click.echo(json.dumps(report.endpoints_json(target), indent=2, ensure_ascii=False))
    else:
        for line in report.endpoint_rows(target):
            click.echo(line)
