"""`valkey-operator probe`: what the pod of `kubectl valkey check --from-pod` runs."""

from __future__ import annotations

import asyncio
import json
import os

import click

from valkey_operator.outside import pod, seen
from valkey_operator.outside.probe import probe
from valkey_operator.outside.wire import Login


@click.command(name="probe", hidden=True)
def command() -> None:
    """Dial what the environment says and print what was seen, as JSON."""
    login = Login(os.environ[pod.USER], os.environ[pod.PASSWORD], os.environ.get(pod.AUTHORITIES))
    click.echo(json.dumps(seen.written(asyncio.run(probe(pod.read(os.environ[pod.ORDER]), login)))))
