"""The client programs, built once for each version of their sources, outside the checkout."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sandbox import build
from sandbox.home import Home

from . import libraries

SOURCES = Path(__file__).with_name("outside")
TOOLS: Mapping[str, tuple[str, ...]] = {"Node.js": ("node", "npm"), "Java": ("java", "javac", "mvn")}
"""What has to be on the PATH for a language. Go and Python are there: the sandbox needs them."""
MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
JAVA = ("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx96m", "-cp")


def missing(language: str) -> tuple[str, ...]:
    """The tools of a language that are not on the PATH."""
    return tuple(tool for tool in TOOLS.get(language, ()) if shutil.which(tool) is None)


def command(library: str) -> list[str]:
    """The words that run the program of a library, built if need be."""
    match libraries.named(library).language:
        case "Go":
            return [str(_built("go", _build_go) / "load")]
        case "Node.js":
            return ["node", str(_built("node", _build_node) / "load.js")]
        case "Java":
            place = _built("java", _build_java)
            return [*JAVA, f"{place}/classes:{place}/lib/*", "Load"]
        case _:
            return [sys.executable, "-W", "ignore", str(SOURCES / "python" / "load.py")]


def alone(library: str, code: str, at: Path) -> list[str]:
    """The words that run a program which is one file, put into a folder, with the packages that the programs of its language have."""
    match libraries.named(library).language:
        case "Go":
            (at / "main.go").write_text(code)
            for name in ("go.mod", "go.sum"):
                shutil.copy(SOURCES / "go" / name, at)
            go(at, at / "client")
            return [str(at / "client")]
        case "Node.js":
            (at / "client.mjs").write_text(code)
            (at / "node_modules").symlink_to(_built("node", _build_node) / "node_modules")
            return ["node", str(at / "client.mjs")]
        case "Java":
            (at / "Client.java").write_text(code)
            return [*JAVA, f"{_built('java', _build_java)}/lib/*", str(at / "Client.java")]
        case _:
            (at / "client.py").write_text(code)
            return [sys.executable, str(at / "client.py")]


@cache
def _built(language: str, make: Callable[[Path], None]) -> Path:
    """The folder with the program; whole or not at all, however many build it at once."""
    sources = SOURCES / language
    place = Home.of(os.environ).path / "test-clients" / language / _key(sources)
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place.parent) as scratch:
            made = Path(scratch) / "made"
            shutil.copytree(sources, made)
            make(made)
            try:
                made.rename(place)
            except OSError:
                if not place.exists():  # else another run was faster
                    raise
    return place


def _key(sources: Path) -> str:
    """Names one version of all files in a folder."""
    digest = hashlib.sha256()
    for file in sorted(path for path in sources.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(sources)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def go(sources: Path, made: Path) -> None:
    """Compile the program of a directory with a go.mod."""
    compiler = build.compiler(sources, what="the clients in Go")
    _run([compiler, "build", "-trimpath", "-ldflags", "-s -w", "-o", str(made), "."], sources, CGO_ENABLED="0")


def _build_go(at: Path) -> None:
    go(at, at / "load")


def _build_node(at: Path) -> None:
    # By the lock, checksums included; no package runs a script of its own.
    _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--cache", str(_packages("npm"))], at)


def _build_java(at: Path) -> None:
    own = f"-Dmaven.repo.local={_packages('maven')}"
    _run(["mvn", "--quiet", "--batch-mode", own, MAVEN, "-DoutputDirectory=lib"], at)
    _verify(at / "lib", at / "lib.sha256")
    _run(["javac", "-cp", "lib/*", "-d", "classes", *(path.name for path in at.glob("*.java"))], at)


def _verify(jars: Path, checksums: Path) -> None:
    """Maven has no lock file: these are the files that were fetched when the checksums were written."""
    wanted = {name: checksum for checksum, name in (line.split() for line in checksums.read_text().splitlines())}
    fetched = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in jars.glob("*.jar")}
    assert fetched == wanted, f"not what {checksums.name} says: {set(fetched.items()) ^ set(wanted.items())}"


def _packages(kind: str) -> Path:
    return Home.of(os.environ).path / "test-clients" / "packages" / kind


def _run(words: Sequence[str], at: Path, **environment: str) -> None:
    done = subprocess.run(words, cwd=at, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"`{' '.join(words)}` failed: {done.stdout}{done.stderr}"
