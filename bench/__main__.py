"""`python -m bench`: measures, prints a table and writes it as JSON."""

from __future__ import annotations

import os
import subprocess

import click

from bench import access, by_shard, check, cost, failover, figures, routes
from bench.bench import Bench
from bench.clusters import BenchError
from demo.kubernetes import DemoError
from demo.providers import CHECKOUT, Sandbox
from sandbox import client
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.steps import Steps

MEASUREMENTS = {
    "create": cost.creation,
    "enable": access.enabling,
    "balance": access.balancing,
    "change": access.changing,
    "crowd": cost.crowd,
    "failover": failover.failover,
    "by-shard": by_shard.by_shard,
    "check": check.checking,
    "routes": routes.routes,
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", type=click.IntRange(1, 99), default=3, show_default=True, help="Of each; the median is told.")
@click.argument("which", nargs=-1, type=click.Choice(list(MEASUREMENTS)))
def main(*, runs: int, which: tuple[str, ...]) -> None:
    """Measure the operator on the sandbox: all, or what is named. No test asserts these figures."""
    measured: list[figures.Figure] = []
    try:
        provider, steps = Sandbox(), Steps()
        provider.up(steps)
        provider.deploy(steps)
        bench = Bench(client=client.connect(Home.of(os.environ)), outside=provider.outside(), runs=runs, steps=steps)
        for name in which or MEASUREMENTS:
            measured += MEASUREMENTS[name](bench)
    except (BenchError, DemoError, SandboxError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        _tell(measured)


def _tell(measured: list[figures.Figure]) -> None:
    """Print and keep what was measured, even if what came next failed."""
    if not measured:
        return
    click.echo()
    for line in figures.lines(measured):
        click.echo(line)
    path = figures.save(measured, facts={"cores": os.cpu_count(), "commit": _commit()})
    click.echo(f"\nwritten to {path.relative_to(CHECKOUT)}; the sandbox and the operator run on (`make sandbox-down` ends them)")


def _commit() -> str:
    told = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return told.stdout.strip()


if __name__ == "__main__":
    main(prog_name="python -m bench")
