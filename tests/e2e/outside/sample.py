"""Asks every server for CLUSTER SLOTS all the time and dials each pair of host and port that any of them tells, at once and as a new connection.

Reads its settings as one line of JSON, says "working" after its first round, ends with its input and prints its report as JSON. It runs on the machine,
which reaches pods; what is no pod's address it has dialled from outside, by `dial.py` there.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path

from valkey.asyncio import Valkey

sys.path.insert(0, str(Path(__file__).parent))
from dial import node_id

PAUSE = 0.03  # seconds between rounds
CLIENT_PORT = 6379
SHOWN = 30


@dataclass(slots=True)
class Sampler:
    """What was told, and what of it was wrong."""

    settings: dict
    rounds: int = 0
    wrong: list = field(default_factory=list)
    told: dict = field(default_factory=dict)  # pair -> how often

    async def run(self):
        servers = [_client(ip, self.settings) for ip in self.settings["servers"]]
        outside = await asyncio.create_subprocess_exec(
            *self.settings["dial"], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        outside.stdin.write((json.dumps(self._login()) + "\n").encode())
        end = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        while not end.done():
            await self._round(servers, outside)
            if self.rounds == 0:
                print("working", flush=True)  # noqa: T201
            self.rounds += 1
            await asyncio.sleep(PAUSE)
        outside.stdin.close()
        await outside.wait()
        for server in servers:
            await server.aclose()

    def _login(self):
        return {name: self.settings[name] for name in ("username", "password", "trust")}

    async def _round(self, servers, outside):
        replies = await asyncio.gather(*(server.execute_command("CLUSTER SLOTS") for server in servers))
        tellers = {}
        for teller, slots in zip(self.settings["servers"], replies, strict=True):
            for _, _, *nodes in slots:
                primary_id = nodes[0][2]
                for host, port, told_id, *_ in nodes:
                    right = {told_id, primary_id} if self.settings["by_shard"] else {told_id}
                    tellers.setdefault((host, port, frozenset(right)), teller)
        for host, port, _ in tellers:
            self.told[f"{host}:{port}"] = self.told.get(f"{host}:{port}", 0) + 1
        sound = []
        for (host, port, right), teller in tellers.items():
            if not host or host == "?":
                self._complain(teller, host, port, "there is no host")
            elif self._is_pod(host) and port != CLIENT_PORT:
                self._complain(teller, host, port, "a pod's address with a port of outside")
            else:
                sound.append((host, port, right, teller))
        inside = [pair for pair in sound if self._is_pod(pair[0])]
        beyond = [pair for pair in sound if not self._is_pod(pair[0])]
        answers, beyond_answers = await asyncio.gather(
            asyncio.gather(*(self._dial_inside(host, port) for host, port, *_ in inside)), self._dial(outside, beyond)
        )
        for (host, port, right, teller), answer in zip(inside + beyond, answers + beyond_answers, strict=True):
            if answer not in right:
                self._complain(teller, host, port, f"should be {' or '.join(sorted(right))}, dialled: {answer}")

    async def _dial_inside(self, host, port):
        return await node_id(host, port, address=self.settings["inside"].get(host), **self._login())

    async def _dial(self, outside, pairs):
        if not pairs:
            return []
        outside.stdin.write((json.dumps([pair[:2] for pair in pairs]) + "\n").encode())
        return json.loads(await outside.stdout.readline())

    def _is_pod(self, host):
        if host in self.settings["inside"]:
            return True
        try:
            return ip_address(host) in ip_network(self.settings["pods"])
        except ValueError:
            return False

    def _complain(self, teller, host, port, why):
        if len(self.wrong) < SHOWN:
            self.wrong.append(f"{time.time():.3f} {teller} told {host}:{port}: {why}")

    def report(self):
        return {"rounds": self.rounds, "wrong": self.wrong, "told": self.told}


def _client(ip, settings):
    secured = {"ssl": True, "ssl_ca_certs": settings["trust"], "ssl_check_hostname": False} if settings["trust"] else {}
    client = Valkey(host=ip, username=settings["username"], password=settings["password"], decode_responses=True, **secured)
    client.set_response_callback("CLUSTER SLOTS", lambda reply, **_: reply)
    return client


async def main():
    sampler = Sampler(json.loads(sys.stdin.readline()))
    await sampler.run()
    print(json.dumps(sampler.report()), flush=True)  # noqa: T201


asyncio.run(main())
