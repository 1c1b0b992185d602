"""`valkey-operator`: runs the operator, prints its CRDs."""

from __future__ import annotations

import click


class Commands(click.Group):
    """With one more command, which no person types and which imports what the others do not."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The one of that name."""
        if name != "probe":
            return super().get_command(context, name)
        from valkey_operator.cli.probe import command  # noqa: PLC0415  # the others need none of this

        return command


@click.group(cls=Commands, context_settings={"auto_envvar_prefix": "VALKEY_OPERATOR", "help_option_names": ["-h", "--help"]})
@click.version_option(package_name="valkey-operator")
def main() -> None:
    """A Kubernetes operator for Valkey clusters whose clients live outside Kubernetes.

    Every option can be given as VALKEY_OPERATOR_<COMMAND>_<OPTION> in the environment.
    """


@main.command()
@click.option(
    "--kubeconfig", type=click.Path(exists=True, dir_okay=False), help="Instead of the pod's service account or $KUBECONFIG."
)
@click.option("--namespace", help="Serve this namespace only. All of them by default.")
@click.option(
    "--leader-elect/--no-leader-elect", default=True, show_default=True, help="Whether replicas agree on which one works."
)
@click.option("--lease-namespace", help="Where the Lease lies. The operator's own namespace by default.")
@click.option(
    "--http-port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="/metrics, /healthz, /readyz; 0: none."
)
@click.option("--workers", type=click.IntRange(1, 256), default=16, show_default=True, help="Clusters worked at the same time.")
@click.option(
    "--cluster-domain",
    default="cluster.local",
    show_default=True,
    help="The domain of Kubernetes' own names, of Services and pods.",
)
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json", show_default=True)
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True)
def run(  # one parameter per option
    *,
    kubeconfig: str | None,
    namespace: str | None,
    leader_elect: bool,
    lease_namespace: str | None,
    http_port: int,
    workers: int,
    cluster_domain: str,
    log_format: str,
    log_level: str,
) -> None:
    """Run the operator until it is told to stop."""
    from valkey_operator.app import logs  # noqa: PLC0415  # --help needs none of this
    from valkey_operator.app.run import run as run_operator  # noqa: PLC0415
    from valkey_operator.app.settings import Settings  # noqa: PLC0415

    logs.configure(level=log_level, json_lines=log_format == "json")
    run_operator(
        Settings(
            kubeconfig=kubeconfig,
            namespace=namespace,
            leader_elect=leader_elect,
            lease_namespace=lease_namespace,
            http_port=http_port,
            workers=workers,
            cluster_domain=cluster_domain,
        )
    )


@main.command()
def crds() -> None:
    """Print the CRDs, for `kubectl apply --server-side -f -`."""
    from valkey_operator.api.schema import files  # noqa: PLC0415

    click.echo("---\n".join(text for path, text in files().items() if path.startswith("deploy/crds/")), nl=False)
