"""Envoy as a user runs it in front of a cluster: on a Kubernetes node, passing TLS connections on by the name that they ask for."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from sandbox import network

NODE, ADDRESS, PORT = "node-3", "198.18.0.13", 6380
TYPES = "type.googleapis.com/envoy"


class Envoy:
    """Runs while `with` holds."""

    def __init__(self, directory: Path, *, port: int = PORT) -> None:
        self._directory = directory
        self._port = port
        self.lead({})

    def __enter__(self) -> Self:
        config = self._directory / "envoy.json"
        config.write_text(json.dumps(self._bootstrap()))
        program = Path(sys.executable).with_name("envoy")
        options = ["--config-path", str(config), "--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error"]
        with (self._directory / "envoy.log").open("w") as log:
            self._process = subprocess.Popen([*network.enter(NODE), str(program), *options], stdout=log, stderr=log)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)

    def lead(self, places: Mapping[str, tuple[str, int]]) -> None:
        """Each name to its place, an address with a port. Connections that are open stay."""
        clusters = [
            {
                "@type": f"{TYPES}.config.cluster.v3.Cluster",
                "name": name,
                "connect_timeout": "1s",
                "load_assignment": {
                    "cluster_name": name,
                    "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _address(host, port)}}]}],
                },
            }
            for name, (host, port) in places.items()
        ]
        listener = {
            "@type": f"{TYPES}.config.listener.v3.Listener",
            "name": "by-name",
            "address": _address(ADDRESS, self._port),
            "listener_filters": [
                {
                    "name": "tls_inspector",
                    "typed_config": {"@type": f"{TYPES}.extensions.filters.listener.tls_inspector.v3.TlsInspector"},
                }
            ],
            "filter_chains": [_chain(name) for name in places],
        }
        self._write("clusters.json", clusters)
        self._write("listeners.json", [listener] if places else [])

    def _write(self, name: str, resources: Iterable[Any]) -> None:
        """Envoy notices that another file has the name."""
        new = self._directory / f"{name}.new"
        new.write_text(json.dumps({"resources": list(resources)}))
        new.replace(self._directory / name)

    def _bootstrap(self) -> dict[str, Any]:
        def follow(name: str) -> dict[str, Any]:
            path = {"path": str(self._directory / name), "watched_directory": {"path": str(self._directory)}}
            return {"resource_api_version": "V3", "path_config_source": path}

        return {
            "node": {"id": "test", "cluster": "test"},
            "dynamic_resources": {"cds_config": follow("clusters.json"), "lds_config": follow("listeners.json")},
        }


def _chain(name: str) -> dict[str, Any]:
    proxy = {"@type": f"{TYPES}.extensions.filters.network.tcp_proxy.v3.TcpProxy", "stat_prefix": name, "cluster": name}
    return {
        "filter_chain_match": {"server_names": [name]},
        "filters": [{"name": "tcp_proxy", "typed_config": proxy}],
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}
