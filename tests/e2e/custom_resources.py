"""Other projects' CustomResourceDefinitions, as their Go modules carry them: served by the API server, and gone again."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import yaml

from sandbox import build, home

from . import api as kinds
from .waiting import eventually


@dataclass(frozen=True, slots=True)
class Module:
    """One version of a Go module, with the checksum that Go has of its files."""

    path: str
    version: str
    checksum: str

    def definitions(self, folder, *names):
        """The CustomResourceDefinitions in these of its files. Go fetches the module into its own cache, once."""
        go = build.compiler(home.SOURCES, what=f"what needs {self.path}")
        command = [go, "mod", "download", "-json", f"{self.path}@{self.version}"]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{self.path} {self.version} cannot be fetched: {done.stdout}{done.stderr}"
        told = json.loads(done.stdout)
        assert told["Sum"] == self.checksum, f"{self.path} {self.version} is another one: {told['Sum']}"
        return [yaml.safe_load((Path(told["Dir"]) / folder / name).read_text()) for name in names]


def install(api, definitions):
    """Afterwards the API server serves just these versions of these kinds, whichever it served before."""
    for definition in definitions:
        api.apply(kinds.DEFINITION, definition)
    for definition in definitions:
        for kind, is_served in _versions(definition):
            eventually(lambda kind=kind, wanted=is_served: api.serves(kind) == wanted, what=f"{kind.path(None)} as installed")


def uninstall(api, definitions):
    """Afterwards there is no object of these kinds, and the API server knows none of them."""
    for definition in definitions:
        api.delete(kinds.DEFINITION, definition["metadata"]["name"])
    for definition in definitions:
        for kind, _ in _versions(definition):
            eventually(lambda kind=kind: not api.serves(kind), what=f"{kind.path(None)} gone")


def _versions(definition):
    """Each version of a kind, and whether it is to be served."""
    spec = definition["spec"]
    for version in spec["versions"]:
        yield kinds.Kind(f"{spec['group']}/{version['name']}", spec["names"]["plural"]), version["served"]
