"""A load on a cluster, by a client library, until told to stop: what was asked, what failed, what was lost.

Reads its settings as one line of JSON, says "working" once requests to all shards have succeeded, ends with its input and prints its report as JSON.
A long-lived client writes and reads some hundred times a second; new ones come every `fresh_every` seconds, write and read on every shard and go.
"""

import asyncio
import contextlib
import json
import logging
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from glide import (
    AdvancedGlideClusterClientConfiguration,
    GlideClusterClient,
    GlideClusterClientConfiguration,
    Logger,
    LogLevel,
    NodeAddress,
    ServerCredentials,
    TlsAdvancedConfiguration,
)
from valkey.cluster import ClusterNode, ValkeyCluster
from valkey.crc import key_slot

SLOTS = 16384
KEYS = 400
TIMEOUT = 5.0  # seconds
PAUSE = 0.005  # seconds
SHOWN = 20


class ValkeyPy:
    """valkey-py's synchronous cluster client."""

    @classmethod
    async def connect(cls, settings):
        return cls(await asyncio.to_thread(cls._client, settings))

    @staticmethod
    def _client(settings):
        nodes = [ClusterNode(host, port) for host, port in settings["seeds"]]
        return ValkeyCluster(
            startup_nodes=nodes,
            username=settings["username"],
            password=settings["password"],
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            decode_responses=True,
            **({"ssl": True, "ssl_ca_certs": settings["trust"]} if settings["trust"] else {}),
        )

    def __init__(self, client):
        self._sync = client

    async def set(self, key, value):
        await asyncio.to_thread(self._sync.set, key, value)

    async def get(self, key):
        return await asyncio.to_thread(self._sync.get, key)

    async def close(self):
        await asyncio.to_thread(self._sync.close)


class Glide:
    """valkey-glide's client."""

    @classmethod
    async def connect(cls, settings):
        configuration = GlideClusterClientConfiguration(
            [NodeAddress(host, port) for host, port in settings["seeds"]],
            credentials=ServerCredentials(settings["password"], settings["username"]),
            request_timeout=int(TIMEOUT * 1000),
            **Glide._secured(settings["trust"]),
        )
        return cls(await GlideClusterClient.create(configuration))

    @staticmethod
    def _secured(trust):
        """It verifies chain and name."""
        if not trust:
            return {}
        secured = TlsAdvancedConfiguration(root_pem_cacerts=Path(trust).read_bytes())
        return {"use_tls": True, "advanced_config": AdvancedGlideClusterClientConfiguration(tls_config=secured)}

    def __init__(self, client):
        self._client = client

    async def set(self, key, value):
        await self._client.set(key, value)

    async def get(self, key):
        value = await self._client.get(key)
        return value.decode() if value is not None else None

    async def close(self):
        await self._client.close()


LIBRARIES = {"valkey-py": ValkeyPy, "glide": Glide}


@dataclass(slots=True)
class Load:
    """What was done and how it went."""

    settings: dict
    requests: int = 0
    failures: int = 0
    complaints: list = field(default_factory=list)
    lost: list = field(default_factory=list)
    worst_gap: float = 0.0
    clients: int = 0
    may_be: dict = field(default_factory=dict)  # for each key the values that it may have: one, unless a write of it failed
    working: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def library(self):
        return LIBRARIES[self.settings["library"]]

    async def steady(self):
        """One client for all the time."""
        client = None
        last_success = None
        for number in self._numbers():
            key = f"{self.settings['prefix']}:steady:{number % KEYS}"
            if client is None and (client := await self._attempt(self.library().connect(self.settings), "connect")) is None:
                continue
            done = await self._write_and_read(client, key, str(number))
            now = time.monotonic()
            if done:
                if last_success is not None:
                    self.worst_gap = max(self.worst_gap, now - last_success)
                last_success = now
            if number >= 20:
                self.working.set()
            await asyncio.sleep(PAUSE)
        if last_success is not None:
            self.worst_gap = max(self.worst_gap, time.monotonic() - last_success)
        if client is not None:
            await self._check_all(client)
            await client.close()

    async def _check_all(self, client):
        """Every key has its value in the end."""
        for key in list(self.may_be):
            await self._attempt(self._read(client, key), f"get {key}")

    async def fresh(self, every):
        """A new client each time."""
        for number in self._numbers():
            began = time.monotonic()
            client = await self._attempt(self.library().connect(self.settings), "connect")
            if client is not None:
                self.clients += 1
                for key in self._keys_of_all_parts(number):
                    await self._write_and_read(client, key, str(number))
                await client.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopping.wait(), max(0.0, every - (time.monotonic() - began)))

    def _numbers(self):
        number = 0
        while not self.stopping.is_set():
            yield number
            number += 1

    def _keys_of_all_parts(self, number):
        """For each of three equal parts of the slots a key that lies in it."""
        for part in range(3):
            start = random.randrange(10**6)
            yield next(
                key
                for count in range(10**6)
                if key_slot((key := f"{self.settings['prefix']}:fresh:{number}:{start + count}").encode()) * 3 // SLOTS == part
            )

    async def _write_and_read(self, client, key, value):
        self.may_be.setdefault(key, [None]).append(value)
        if await self._attempt(client.set(key, value), f"set {key}") is not None:
            self.may_be[key] = [value]
        other = random.choice(list(self.may_be)) if random.random() < 0.5 else key
        found = await self._attempt(self._read(client, other), f"get {other}")
        return found is not None

    async def _read(self, client, key):
        before = self.may_be[key]
        value = await client.get(key)
        if self.may_be[key] is before and value not in before:  # nobody wrote it meanwhile
            self.lost.append(f"{key}: {value} instead of {before}")
        return True

    async def _attempt(self, request, what):
        """The answer, or True where it is none; None where it failed."""
        self.requests += 1
        try:
            answer = await request
        except Exception as error:  # noqa: BLE001 -- of whatever kind: it is what an application would see
            self.failures += 1
            if len(self.complaints) < SHOWN:
                self.complaints.append(f"{time.time():.3f} {what}: {type(error).__name__}: {error}")
            await asyncio.sleep(0.02)
            return None
        return True if answer is None else answer

    async def run(self):
        work = [asyncio.create_task(self.steady())]
        if self.settings["fresh_every"]:
            work.append(asyncio.create_task(self.fresh(self.settings["fresh_every"])))
        lines = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        telling = asyncio.create_task(self._tell_working())
        await lines
        self.stopping.set()
        await asyncio.gather(*work)
        telling.cancel()

    async def _tell_working(self):
        await self.working.wait()
        print("working", flush=True)  # noqa: T201

    def report(self):
        names = ("requests", "failures", "complaints", "lost", "worst_gap", "clients")
        return {name: getattr(self, name) for name in names} | {"keys": len(self.may_be)}


async def main():
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(16))
    load = Load(json.loads(sys.stdin.readline()))
    await load.run()
    print(json.dumps(load.report()), flush=True)  # noqa: T201


logging.disable(logging.CRITICAL)  # libraries log what they repair by themselves
Logger.set_logger_config(LogLevel.OFF)
asyncio.run(main())
