"""valkey-cli -c, fed with commands as a person types them."""

import asyncio
import itertools
import json
import os
import subprocess

CLI = json.loads(os.environ["VALKEY_CLI"])
"""The words that run it."""
PIPE = subprocess.PIPE
TIMEOUT = 5.0  # seconds


def words(seeds, username, ca):
    host, port = seeds[0]
    tls = ["--tls", "--cacert", ca, "--sni", host] if ca else []
    return [*CLI, "-c", "-h", host, "-p", str(port), "--user", username, *tls]


def version():
    said = subprocess.run([*CLI, "--version"], capture_output=True, text=True, check=True).stdout
    return said.split()[1]


class Client:
    """One process. An ECHO behind each command tells where its reply ends."""

    def __init__(self, process):
        self._process = process
        self._numbers = itertools.count()

    @classmethod
    async def connect(cls, seeds, username, password, ca):
        environment = {**os.environ, "VALKEYCLI_AUTH": password}
        process = await asyncio.create_subprocess_exec(
            *words(seeds, username, ca), env=environment, stdin=PIPE, stdout=PIPE, stderr=subprocess.STDOUT
        )
        return cls(process)

    async def set(self, key, value):
        said = await self._ask(f"SET {key} {value}")
        if said != "OK":
            raise RuntimeError(said)

    async def get(self, key):
        return await self._ask(f"GET {key}") or None

    async def close(self):
        if self._process.returncode is None:
            self._process.kill()  # it may be following redirects without end
        await self._process.wait()

    async def _ask(self, command):
        end = f"end-of-reply-{next(self._numbers)}"
        self._process.stdin.write(f"{command}\nECHO {end}\n".encode())
        lines = []
        async with asyncio.timeout(TIMEOUT):
            async for line in self._process.stdout:
                said = line.decode().strip()
                if said == end:
                    return "\n".join(lines)
                if not said.startswith("-> Redirected to slot"):
                    lines.append(said)
        raise RuntimeError("; ".join(lines) or "valkey-cli has ended")
