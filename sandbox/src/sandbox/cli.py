"""The `sandbox` command."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from sandbox import addresses, cluster, faults, kubectl, network, operator, ownership
from sandbox import images as catalogue
from sandbox import status as status_of
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.ownership import Mode, Owner
from sandbox.steps import Steps


class Commands(click.Group):
    """Shows the sandbox's own errors as plain sentences."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except SandboxError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.pass_context
def main(context: click.Context) -> None:
    """A real Kubernetes of several nodes on this machine."""
    context.obj = Home.of(os.environ)


@main.command()
@click.option("--nodes", type=click.IntRange(1, addresses.MOST_NODES), help="How many nodes; 3, or as many as run already.")
@click.option("--control-plane-only", is_flag=True, help="etcd and the API server alone, on 127.0.0.1, in a few seconds.")
@click.pass_obj
def up(home: Home, *, nodes: int | None, control_plane_only: bool) -> None:
    """Start it, or complete what runs already."""
    _require_root()
    mode = Mode.CONTROL_PLANE_ONLY if control_plane_only else Mode.FULL
    cluster.up(home, mode=mode, nodes=nodes, steps=Steps())


@main.command()
@click.pass_obj
def down(home: Home) -> None:
    """End it and leave nothing running; programs and images stay cached."""
    _require_root()
    cluster.down(home, steps=Steps())


@main.command()
@click.pass_obj
def build(home: Home) -> None:
    """Install and build everything that `up` needs, and start nothing."""
    _require_root()
    steps = Steps()
    cluster.build(home, steps=steps)
    steps.say("all that `sandbox up` needs is here")


@main.command()
@click.pass_obj
def status(home: Home) -> None:
    """Show what of it runs; exit status 3 if that is not everything."""
    record = _running(home)
    for line in status_of.lines(home, record):
        click.echo(line)
    if not status_of.is_whole(home, record):
        sys.exit(3)


@main.command()
@click.pass_obj
def kubeconfig(home: Home) -> None:
    """Print the path of the kubeconfig."""
    _running(home)
    click.echo(home.kubeconfig)


# All words from the first on are the other program's, a `--` among them too.
PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@main.command(name="kubectl", context_settings=PASSED_ON, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def kubectl_command(home: Home, arguments: tuple[str, ...]) -> None:
    """Run kubectl (one that fits) on it; all arguments are kubectl's."""
    _running(home)
    kubectl.replace_this_process(home, arguments)


@main.command(context_settings=PASSED_ON, add_help_option=False)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_obj
def outside(home: Home, command: tuple[str, ...]) -> None:
    """Run a command where clients outside are: `sandbox outside -- COMMAND …`.

    It reaches the addresses of nodes and of load balancers and nothing else, neither pods nor Services.
    """
    _require_root()
    _require_nodes(_running(home))
    words = [*network.enter(network.OUTSIDE_NAMESPACE), *command]
    os.execvp(words[0], words)  # noqa: S606 -- to become it is the point


@main.command(name="load-image")
@click.argument("images", nargs=-1, required=True)
@click.pass_obj
def load_image(home: Home, images: tuple[str, ...]) -> None:
    """Bring images into all nodes: docker-archives (files), or valkey:9.1.2, valkey:9.0.0, valkey:8.1.8, valkey-operator:dev."""
    _require_root()
    steps = Steps()
    with ownership.exclusive(steps):
        record = _running(home)
        _require_nodes(record)
        found = [catalogue.named(home, name, steps=steps) for name in images]
        with steps.step(f"loaded {', '.join(images)}"):
            catalogue.load(found, home=home, nodes=[node for node in cluster.nodes_of(home, record) if node.process()])


@main.command(name="operator")
@click.option("--down", is_flag=True, help="Take it away instead; ValkeyClusters stay as they are.")
@click.pass_obj
def operator_command(home: Home, *, down: bool) -> None:
    """Deploy the operator of this checkout, or replace an earlier one."""
    _require_root()
    steps = Steps()
    with ownership.exclusive(steps):
        record = _running(home)
        _require_nodes(record)
        if down:
            operator.remove(home, steps=steps)
        else:
            operator.deploy(home, record, steps=steps)


@main.group()
def fault() -> None:
    """Break something on purpose, and mend it."""


@fault.command(name="node-down")
@click.argument("number", type=int)
@click.pass_obj
def node_down(home: Home, number: int) -> None:
    """Pull a node's plug and cable."""
    with _faulting(home) as (record, steps):
        faults.node_down(home, record, number=number, steps=steps)


@fault.command(name="node-up")
@click.argument("number", type=int)
@click.pass_obj
def node_up(home: Home, number: int) -> None:
    """Start a node again."""
    with _faulting(home) as (record, steps):
        faults.node_up(home, record, number=number, steps=steps)


@fault.command()
@click.argument("one", type=int)
@click.argument("other", type=int)
@click.pass_obj
def partition(home: Home, one: int, other: int) -> None:
    """Part two nodes and their pods from each other."""
    with _faulting(home) as (record, steps):
        faults.partition(home, record, numbers=(one, other), steps=steps)


@fault.command()
@click.pass_obj
def heal(home: Home) -> None:
    """End all partitions; nodes that are down stay down."""
    with _faulting(home) as (record, steps):
        faults.heal(home, record, steps=steps)


@contextmanager
def _faulting(home: Home) -> Iterator[tuple[Owner, Steps]]:
    _require_root()
    steps = Steps()
    with ownership.exclusive(steps):
        record = _running(home)
        _require_nodes(record)
        yield record, steps


def _running(home: Home) -> Owner:
    ownership.refuse_another(home)
    record = ownership.owner()
    if record is None or not home.kubeconfig.exists():
        raise SandboxError("the sandbox is not running: `sandbox up` starts it")
    return record


def _require_nodes(record: Owner) -> None:
    if record.mode is not Mode.FULL:
        raise SandboxError("only a control plane without nodes is running: `sandbox up` starts the whole")


def _require_root() -> None:
    if os.geteuid() != 0:
        raise SandboxError(f"this needs root, since it makes network namespaces and mounts: try `sudo {' '.join(sys.argv)}`")
