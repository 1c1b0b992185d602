"""What ready code for a client library is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from valkey_operator.outside.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One library: a whole program that connects and reads one key, with places for what differs between clusters.

    `<seeds>` is replaced by the addresses where clients begin, `<imports>` and `<options>` by lines that TLS needs, or by nothing,
    `<secured>` by true or false.
    """

    name: str
    file: str
    """What the program's file should be called."""
    install: str
    """How to get the library."""
    comment: str
    """What begins a line of comment."""
    seed: str
    """One address: `<host>` and `<port>` are replaced."""
    between: str
    """What stands between two of them."""
    program: str
    tls_seed: str = ""
    """One address with TLS, where that differs."""
    tls_imports: str = ""
    tls_options: str = ""


def code(client: Client, target: Target) -> str:
    """The program for that cluster; user, password and authorities come from the environment, never from the code."""
    pairs = target.bootstrap or tuple(dict.fromkeys(endpoint.pair for endpoint in target.endpoints if endpoint.role == "primary"))
    seed = (target.tls and client.tls_seed) or client.seed
    seeds = client.between.join(seed.replace("<host>", pair.host).replace("<port>", str(pair.port)) for pair in pairs)
    program = client.program.removeprefix("\n").replace("<seeds>", seeds)
    program = program.replace("<imports>", client.tls_imports.removeprefix("\n") if target.tls else "")
    program = program.replace("<options>", client.tls_options.removeprefix("\n") if target.tls else "").replace(
        "<secured>", str(target.tls).lower()
    )
    return "".join(f"{client.comment} {line}\n" for line in _header(client, target)) + "\n" + program


def _header(client: Client, target: Target) -> list[str]:
    def of_secret(key: str) -> str:
        escaped = key.replace(".", "\\.")
        secret = f"secret {target.cluster}-connection --namespace {target.namespace}"
        return f"kubectl get {secret} --output jsonpath='{{.data.{escaped}}}' | base64 --decode"

    lines = [
        f"{client.file}: {client.name} outside Kubernetes, for ValkeyCluster {target.namespace}/{target.cluster}. Before it runs:",
        f"  {client.install}",
        f'  export VALKEY_USERNAME="$({of_secret("username")})"',
        f'  export VALKEY_PASSWORD="$({of_secret("password")})"',
    ]
    if target.tls:
        lines += [f"  {of_secret('ca.crt')} > ca.crt", "  export VALKEY_CA_FILE=ca.crt"]
    return lines
