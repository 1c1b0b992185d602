"""`kubectl valkey`: a plugin of kubectl that sees a cluster as its clients do."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from valkey_operator.outside.kubectl import Kubectl

T = TypeVar("T")

_COMMANDS = {
    "check": "Look at a cluster as clients do, and say what is wrong and what to do.",
    "endpoints": "Print where clients reach a cluster, or configuration for a client library.",
}


class Commands(click.Group):
    """Imports a sub-command when it is asked for."""

    def list_commands(self, _context: click.Context) -> list[str]:
        """All of them."""
        return list(_COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """The one of that name."""
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"valkey_operator.cli.{name}").command
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="valkey-operator")
def main() -> None:
    """Valkey clusters as clients outside Kubernetes see them."""


class CannotCheck(click.ClickException):
    """Exit code 2: nothing could be found out."""

    exit_code = 2


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every sub-command has, as kubectl has them."""
    for option in (
        click.option("--kubeconfig", type=click.Path(path_type=Path), help="As kubectl's."),
        click.option("--context", help="As kubectl's."),
        click.option("--namespace", "-n", help="Of the ValkeyCluster; the context's by default."),
        click.argument("cluster"),
    ):
        command = option(command)
    return command


def done(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; what it could not do is told in a sentence."""
    from valkey_operator.outside.errors import NotCheckedError  # noqa: PLC0415 - --help needs none of this

    try:
        return asyncio.run(work)
    except NotCheckedError as error:
        raise CannotCheck(str(error)) from None


def kubectl(kubeconfig: Path | None, context: str | None) -> Kubectl:
    """The way to the API server with these options."""
    from valkey_operator.outside.kubectl import Kubectl  # noqa: PLC0415 - --help needs none of this

    return Kubectl(kubeconfig=kubeconfig, context=context)
