"""The `sandbox` command."""

import os
import sys

import click

from sandbox import cluster, kubectl
from sandbox.errors import SandboxError
from sandbox.home import Home
from sandbox.ownership import Mode
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
@click.option("--nodes", type=click.IntRange(1, 9), default=3, show_default=True, help="How many nodes.")
@click.option("--control-plane-only", is_flag=True, help="etcd and the API server alone, on 127.0.0.1, in a few seconds.")
@click.pass_obj
def up(home: Home, *, nodes: int, control_plane_only: bool) -> None:
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
def kubeconfig(home: Home) -> None:
    """Print the path of the kubeconfig."""
    if not home.kubeconfig.exists():
        raise SandboxError("the sandbox is not running: `sandbox up` starts it")
    click.echo(home.kubeconfig)


@main.command(name="kubectl", context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def kubectl_command(home: Home, arguments: tuple[str, ...]) -> None:
    """Run kubectl (one that fits) on it; all arguments are kubectl's."""
    kubectl.replace_this_process(home, arguments)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise SandboxError(f"this needs root, since it makes network namespaces and mounts: try `sudo {' '.join(sys.argv)}`")
