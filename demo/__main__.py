"""`python -m demo`: what the project is for, shown step by step with the time that each takes."""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from pathlib import Path

import click

from demo.kubernetes import DemoError, Endpoint, Kubernetes, View
from demo.outside import Outside, once
from demo.providers import PROVIDERS, Provider
from demo.table import table
from sandbox.errors import SandboxError
from sandbox.steps import Steps

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
    view = _create(kubernetes, steps)
    _title(4, f"A client outside, which reaches Kubernetes nodes but no pods, works with {KEYS:,} keys through a failover")
    _work(provider, kubernetes, view, steps=steps)
    _title(5, "The cluster keeps running. Try next")
    width = max(len(command) for command, _ in provider.hints)
    for command, purpose in provider.hints:
        click.echo(f"{INDENT}{command.ljust(width)}   # {purpose}")


def _create(kubernetes: Kubernetes, steps: Steps) -> View:
    """The cluster, ready inside and outside; its endpoints are printed."""
    with steps.step("applied"):
        kubernetes.run("apply", "--filename", str(MANIFEST))
    for condition in ("Ready", "ExternalAccessReady"):
        with steps.step(f"{condition} is True"):
            kubernetes.await_condition(CLUSTER, condition, seconds=120)
    view = kubernetes.view(CLUSTER)
    steps.say(f"{view.message('Ready')}; {view.message('ExternalAccessReady')}")
    click.echo()
    rows = [(e.shard, e.role, e.address, e.pod, e.machine) for e in view.endpoints]
    for line in table(("shard", "role", "endpoint", "pod", "Kubernetes node"), rows, indent=INDENT):
        click.echo(line)
    return view


def _work(provider: Provider, kubernetes: Kubernetes, view: View, *, steps: Steps) -> None:
    """Nothing is lost while a primary's pod is deleted under the client."""
    login = kubernetes.login(CLUSTER)
    victim = max((endpoint for endpoint in view.endpoints if endpoint.role == "primary"), key=lambda endpoint: endpoint.shard)
    _show_wall(provider, f"{victim.ip}:{VALKEY_PORT}", steps)
    with Outside(provider.outside(), {"keys": KEYS, "prefix": f"demo-{int(time.time())}", **login}) as client:
        connected = client.until("connected")
        steps.say(f"the client began at {login['addresses'][0]} and was told {len(connected['nodes'])} endpoints")
        half = client.until("half")
        steps.say(f"wrote and read {half['done']} keys, errors {half['errors']} ({half['seconds']:.1f} s)")
        deleted = time.monotonic()
        deletion = threading.Thread(target=kubernetes.run, args=("delete", "pod", victim.pod, "--wait=false"))
        deletion.start()
        steps.say(f"deleting pod {victim.pod}, the primary of shard {victim.shard}, while the client goes on")
        worked = client.until("worked")
        deletion.join()
        steps.say(f"wrote and read {KEYS - half['done']} more ({worked['seconds'] - half['seconds']:.1f} s)")
        checked = client.until("checked")
    lost = checked["missing"] + worked["lost"]
    steps.say(f"read all {checked['keys']:,} again: {lost} lost ({checked['seconds']:.1f} s)")
    click.echo()
    for line in table(("keys written to", "keys"), sorted(worked["spread"].items()), indent=INDENT):
        click.echo(line)
    click.echo()
    repeated = " (each repeated until it succeeded)" if worked["errors"] else ""
    steps.say(f"longest wait for an answer {worked['worst_gap']:.2f} s, errors {worked['errors']}{repeated}, keys lost {lost}")
    for words, count in worked["words"].items():
        click.echo(f"{INDENT}{count} × {words}")
    if lost:
        raise DemoError(f"{lost} keys were lost")
    _await_return(kubernetes, victim)
    steps.say(f"{victim.pod} is back as a replica, the cluster is whole ({time.monotonic() - deleted:.1f} s after the deletion)")


def _show_wall(provider: Provider, address: str, steps: Steps) -> None:
    """That the client is really outside: a pod's own address does not answer it."""
    dialled = once(provider.outside(), {"do": "dial", "address": address})
    if dialled["open"]:
        raise DemoError(f"the client reaches the pod at {address}: it is not outside, so this would prove nothing")
    steps.say(f"a pod's own address, {address}: {dialled['why']}, as it should be outside ({dialled['seconds']:.1f} s)")


def _await_return(kubernetes: Kubernetes, victim: Endpoint) -> None:
    """The pod was replaced, its server follows the new primary, and the cluster is whole inside and outside."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        view = kubernetes.view(CLUSTER)
        now = view.endpoint(victim.shard, victim.node)
        if now.uid not in ("", victim.uid) and now.role == "replica" and all(map(view.is_true, ("Ready", "ExternalAccessReady"))):
            return
        time.sleep(0.2)
    raise DemoError(f"{victim.pod} did not come back as a replica within 2 minutes: see `kubectl describe vkc {CLUSTER}`")


def _title(number: int, text: str) -> None:
    click.echo()
    click.secho(f"{number}  {text}", bold=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main(prog_name="python -m demo")
