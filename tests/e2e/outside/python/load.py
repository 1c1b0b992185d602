"""A load on a cluster, by a client library, until told to stop: what was asked, what failed, what was lost.

Reads its settings as one line of JSON, says "working" once `warm` pairs in a row have succeeded, ends with its input and prints its report as JSON.
Another line of input has it measure gaps anew. A long-lived client writes and reads one key after the other with a `pause` between them; new ones come
every `fresh_every` seconds, write and read on every shard and go. With `last_round` it ends when every key has been written and read once more without a failure.
"""

import asyncio
import contextlib
import importlib
import json
import logging
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version

from valkey.crc import key_slot

SLOTS = 16384
SHOWN = 20
LAST_ROUND = 30.0  # seconds


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
    writes: int = 0
    reads: int = 0
    recovered: bool | None = None
    last_success: float | None = None
    may_be: dict = field(default_factory=dict)  # for each key the values that it may have: one, unless a write of it failed
    working: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def library(self):
        return importlib.import_module(f"libraries.{self.settings['library'].replace('-', '_')}")

    def connect(self):
        told = self.settings
        return self.library().Client.connect(told["seeds"], told["username"], told["password"], told["trust"])

    async def steady(self):
        """One client for all the time."""
        client, in_a_row = None, 0
        for number in self._numbers():
            if client is None and (client := await self._attempt(self.connect(), "connect")) is None:
                continue
            in_a_row = in_a_row + 1 if await self._steady_step(client, number) else 0
            if in_a_row == self.settings["warm"]:
                self.working.set()
        if client is not None:
            if self.settings["last_round"]:
                self.recovered = await self._last_round(client)
            self._note_gap()
            await self._check_all(client)
            await client.close()

    async def _steady_step(self, client, number):
        done = await self._write_and_read(client, f"{self.settings['prefix']}:steady:{number % self.settings['keys']}", str(number))
        if done:
            self._note_gap()
            self.last_success = time.monotonic()
        await asyncio.sleep(self.settings["pause"])
        return done

    def _note_gap(self):
        if self.last_success is not None:
            self.worst_gap = max(self.worst_gap, time.monotonic() - self.last_success)

    def measure_anew(self):
        self.worst_gap, self.last_success = 0.0, time.monotonic()

    async def _last_round(self, client):
        """Whether every key was written and read in a row."""
        deadline = time.monotonic() + LAST_ROUND
        in_a_row = 0
        while in_a_row < self.settings["keys"] and time.monotonic() < deadline:
            in_a_row = in_a_row + 1 if await self._steady_step(client, in_a_row) else 0
        return in_a_row == self.settings["keys"]

    async def _check_all(self, client):
        """Every key has its value in the end."""
        for key in list(self.may_be):
            await self._attempt(self._read(client, key), f"get {key}")

    async def fresh(self, every):
        """A new client each time."""
        for number in self._numbers():
            began = time.monotonic()
            client = await self._attempt(self.connect(), "connect")
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
        written = False
        if await self._attempt(client.set(key, value), f"set {key}") is not None:
            self.may_be[key] = [value]
            self.writes += 1
            written = True
        other = random.choice(list(self.may_be)) if random.random() < 0.5 else key
        found = await self._attempt(self._read(client, other), f"get {other}")
        return written and found is not None

    async def _read(self, client, key):
        before = self.may_be[key]
        value = await client.get(key)
        self.reads += 1
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
        telling = asyncio.create_task(self._tell_working())
        while await asyncio.to_thread(sys.stdin.readline):
            self.measure_anew()
        self.stopping.set()
        await asyncio.gather(*work)
        telling.cancel()

    async def _tell_working(self):
        await self.working.wait()
        print("working", flush=True)  # noqa: T201

    def report(self):
        names = ("requests", "failures", "complaints", "lost", "worst_gap", "clients", "writes", "reads", "recovered")
        return {name: getattr(self, name) for name in names} | {"keys": len(self.may_be), "version": self._version()}

    def _version(self):
        library = self.library()
        return library.version() if hasattr(library, "version") else version(library.PACKAGE)


async def main():
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(16))
    load = Load(json.loads(sys.stdin.readline()))
    await load.run()
    print(json.dumps(load.report()), flush=True)  # noqa: T201


logging.disable(logging.CRITICAL)  # libraries log what they repair by themselves
asyncio.run(main())
