"""`kubectl valkey check`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from valkey_operator.cli import kubectl_valkey
from valkey_operator.outside import gather, inside, report
from valkey_operator.outside.probe import Order, probe
from valkey_operator.outside.target import require_ids
from valkey_operator.outside.verdict import verdict
from valkey_operator.outside.wire import Login

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from valkey_operator.outside.kubectl import Kubectl
    from valkey_operator.outside.seen import Seen
    from valkey_operator.outside.target import Target


@click.command(name="check")
@kubectl_valkey.options
@click.option("--from-pod", is_flag=True, help="Look from a short-lived pod in the cluster's namespace instead of from here.")
@click.option("--image", help="Of that pod; the deployed operator's by default.")
@click.option("--user", help="Instead of the one in Secret CLUSTER-connection; needs --password-file.")
@click.option("--password-file", type=click.File(), help="Its password, `-` for standard input. The Secret is not read then.")
@click.option("--ca-file", type=click.File(), help="Authorities to trust, in PEM, instead of ca.crt in the Secret.")
@click.option("--timeout", type=click.FloatRange(0.1, 600), default=3.0, show_default=True, help="Seconds to wait for each answer.")
@click.option("--output", "-o", type=click.Choice(["json"]), help="Instead of a table for people.")
def command(
    *,
    cluster: str,
    namespace: str | None,
    context: str | None,
    kubeconfig: Path | None,
    from_pod: bool,
    image: str | None,
    user: str | None,
    password_file: TextIO | None,
    ca_file: TextIO | None,
    timeout: float,
    output: str | None,
) -> None:
    """Look at CLUSTER as clients do: every endpoint is resolved, dialled, verified and asked.

    Exit code 0: all is well; 1: something is wrong at an endpoint; 2: it could not be checked.
    """
    if user and not password_file:
        raise click.UsageError("--user needs --password-file")
    if from_pod and (password_file or ca_file):
        raise click.UsageError(
            "a pod logs in as Secret CLUSTER-connection says: leave --user, --password-file and --ca-file out, or --from-pod"
        )
    if image and not from_pod:
        raise click.UsageError("--image goes with --from-pod")
    given = Login(user or "default", password_file.read().rstrip("\r\n")) if password_file else None
    authorities = ca_file.read() if ca_file else None
    kubectl = kubectl_valkey.kubectl(kubeconfig, context)

    async def look() -> tuple[Target, Login, tuple[Seen, ...]]:
        place = namespace or await kubectl.namespace()
        target, login = await gather.together(gather.everything(kubectl, place, cluster), _login(kubectl, place, cluster, given))
        require_ids(target)
        if authorities is not None:
            login = replace(login, authorities=authorities)
        order = Order(pairs=target.pairs, tls=target.tls, timeout=timeout)
        if not from_pod:
            return target, login, await probe(order, login)
        return target, login, await inside.look(kubectl, target, order, image=image or await inside.operator_image(kubectl))

    target, login, seen = kubectl_valkey.done(look())
    found, place = verdict(target, seen), "a pod" if from_pod else "here"
    if output == "json":
        click.echo(json.dumps(report.as_json(target, found, seen_from=place, user=login.user), indent=2, ensure_ascii=False))
    else:
        for line in report.lines(target, found, seen_from=place, user=login.user):
            click.echo(line)
    sys.exit(0 if found.is_well else 1)


async def _login(kubectl: Kubectl, namespace: str, cluster: str, given: Login | None) -> Login:
    return given or await gather.login(kubectl, namespace, cluster)
