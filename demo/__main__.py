"""`python -m demo`: what the project is for, shown step by step with the time that each takes."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from demo.kubernetes import DemoError, Endpoint, Kubernetes
from demo.outside import Outside, once
from demo.providers import PROVIDERS, Provider
from demo.table import table
from sandbox.errors import SandboxError
from sandbox.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLUSTER = "demo"
MANIFEST = Path(__file__).with_name("cluster.yaml")
KEYS = 1000
VALKEY_PORT = 6379
INDENT = " " * 11  # under the words that stand beside the time


class Commands(click.Group):
    """Shows the demo's own errors as plain sentences."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except (DemoError, SandboxError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--provider", type=click.Choice(list(PROVIDERS)), default="sandbox", show_default=True, help="Whose Kubernetes.")
@click.pass_context
def main(context: click.Context, *, provider: str) -> None:
    """Show a ValkeyCluster that a client outside Kubernetes works with, through a failover."""
    context.obj = PROVIDERS[provider]()
    if context.invoked_subcommand is None:
        show(context.obj)


@main.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def outside(provider: Provider, *, command: tuple[str, ...]) -> None:
    """Run one Valkey command as a client outside: `python -m demo outside SET greeting hello`."""
    login = provider.up(Steps(io.StringIO())).login(CLUSTER)
    told = once(provider.outside(), {"do": "ask", "command": command, **login})
    if told["event"] == "failed":
        raise DemoError(told["why"])
    answer = told["answer"] if isinstance(told["answer"], str) else json.dumps(told["answer"])
    click.echo(f"{answer}" + (f"   (answered at {told['by']})" if told["by"] else ""))


def show(provider: Provider) -> None:
    """The whole story."""
    steps = Steps()
    _title(1, provider.title)
    kubernetes = provider.up(steps)
    _title(2, "The operator, from this checkout")
    provider.deploy(steps)
    _title(
        3, f"A ValkeyCluster of 3 shards with 1 replica each, reachable through node ports ({MANIFEST.parent.name}/{MANIFEST.name})"
    )
    endpoints = _create(kubernetes, steps)
    _title(4, f"A client outside, which reaches Kubernetes nodes but no pods, works with {KEYS:,} keys through a failover")
    _work(provider, kubernetes, endpoints, steps=steps)
    _title(5, "The cluster keeps running. Try next")
    width = max(len(command) for command, _ in provider.hints)
    for command, purpose in provider.hints:
        click.echo(f"{INDENT}{command.ljust(width)}   # {purpose}")


def _create(kubernetes: Kubernetes, steps: Steps) -> list[Endpoint]:
    """The cluster, ready inside and outside; its endpoints are printed."""
    with steps.step("applied"):
        kubernetes.run("apply", "--filename", str(MANIFEST))
    for condition in ("Ready", "ExternalAccessReady"):
        with _finishing(steps, condition) as told:
            told(f"{condition}: {kubernetes.await_condition(CLUSTER, condition, seconds=120)}")
    endpoints = kubernetes.endpoints(CLUSTER)
    click.echo()
    rows = [(e.shard, e.role, e.address, e.pod, e.machine) for e in endpoints]
    for line in table(("shard", "role", "endpoint", "pod", "Kubernetes node"), rows, indent=INDENT):
        click.echo(line)
    click.echo()
    steps.say(f"clients begin at {', '.join(kubernetes.login(CLUSTER)['addresses'])}")
    return endpoints


def _work(provider: Provider, kubernetes: Kubernetes, endpoints: list[Endpoint], *, steps: Steps) -> None:
    """Nothing is lost while a primary's pod is deleted under the client."""
    victim = max((endpoint for endpoint in endpoints if endpoint.role == "primary"), key=lambda endpoint: endpoint.shard)
    before = kubernetes.get(f"pod/{victim.pod}")
    _show_wall(provider, f"{before['status']['podIP']}:{VALKEY_PORT}", steps)
    order = {"keys": KEYS, "prefix": f"demo-{int(time.time())}", **kubernetes.login(CLUSTER)}
    with Outside(provider.outside(), order) as client:
        connected = client.until("connected")
        steps.say(f"the client is connected and was told {len(connected['nodes'])} endpoints ({connected['seconds']:.1f} s)")
        half = client.until("half")
        steps.say(f"wrote and read {half['done']} keys, errors {half['errors']} ({half['seconds']:.1f} s)")
        deleted = time.monotonic()
        deletion = threading.Thread(target=kubernetes.run, args=("delete", "pod", victim.pod, "--wait=false"))
        deletion.start()
        steps.say(f"deleted pod {victim.pod}, the primary of shard {victim.shard}, while the client goes on")
        worked = client.until("worked")
        deletion.join()
        steps.say(f"wrote and read {KEYS - half['done']} more ({worked['seconds'] - half['seconds']:.1f} s)")
        checked = client.until("checked")
    steps.say(f"read all {checked['keys']} again: {checked['missing']} lost ({checked['seconds']:.1f} s)")
    _await_return(kubernetes, victim, uid=before["metadata"]["uid"])
    steps.say(
        f"{victim.pod} is back as a replica at its endpoint, the cluster whole ({time.monotonic() - deleted:.1f} s after the deletion)"
    )
    click.echo()
    rows = [(shard, keys) for shard, keys in sorted(worked["spread"].items())]
    for line in table(("written to", "keys"), rows, indent=INDENT):
        click.echo(line)
    click.echo()
    lost = checked["missing"] + worked["lost"]
    steps.say(f"longest wait for an answer {worked['worst_gap']:.2f} s, errors {worked['errors']}, keys lost {lost}")
    for words, count in worked["words"].items():
        click.echo(f"{INDENT}{count} × {words}")
    if lost:
        raise DemoError(f"{lost} keys were lost")


def _show_wall(provider: Provider, address: str, steps: Steps) -> None:
    """That the client is really outside: a pod's own address does not answer it."""
    dialled = once(provider.outside(), {"do": "dial", "address": address})
    if dialled["open"]:
        raise DemoError(f"the client reaches the pod at {address}: it is not outside, so this would prove nothing")
    steps.say(f"a pod's own address, {address}: {dialled['why']}, as it should be outside ({dialled['seconds']:.1f} s)")


def _await_return(kubernetes: Kubernetes, victim: Endpoint, *, uid: str) -> None:
    """The pod was replaced, its server follows the new primary, and the cluster is whole in and outside."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        pods = [pod for pod in kubernetes.get("pod")["items"] if pod["metadata"]["name"] == victim.pod]
        replaced = any(pod["metadata"]["uid"] != uid for pod in pods)
        status = kubernetes.get(f"vkc/{CLUSTER}")["status"]
        whole = all(_is_true(status, condition) for condition in ("Ready", "ExternalAccessReady"))
        now = next(e for e in kubernetes.endpoints(CLUSTER) if (e.shard, e.node) == (victim.shard, victim.node))
        if replaced and whole and now.role == "replica":
            return
        time.sleep(0.2)
    raise DemoError(f"{victim.pod} did not come back as a replica within 2 minutes: see `kubectl describe vkc {CLUSTER}`")


def _is_true(status: dict[str, Any], condition: str) -> bool:
    return any(found["type"] == condition and found["status"] == "True" for found in status.get("conditions", ()))


@contextmanager
def _finishing(steps: Steps, waiting_for: str) -> Iterator[Callable[[str], None]]:
    """A step whose words are known only at its end."""
    said: list[str] = [waiting_for]
    began = time.monotonic()
    yield said.append
    steps.say(f"{said[-1]} ({time.monotonic() - began:.1f} s)")


def _title(number: int, text: str) -> None:
    click.echo()
    click.secho(f"{number}  {text}", bold=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main(prog_name="python -m demo")
