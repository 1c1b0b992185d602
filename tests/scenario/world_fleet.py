"""All Valkey processes of the world: who listens where, who is alive, and which acknowledged writes still exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenario.timeline import Timeline
    from scenario.world_server import Process


class Fleet:
    """The network between servers. Addresses are the pods'; a bus port is never reached from outside."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.everybody: dict[str, Process] = {}
        self.written: set[tuple[int, int]] = set()
        """Acknowledged writes (slot, number) of which a copy is alive somewhere."""
        self.given: list[tuple[str, str]] = []
        """Every gift of slots to a server: its id, the slots."""
        self._listening: dict[str, Process] = {}

    def new_id(self) -> str:
        """A node id as servers draw it."""
        return f"{self.timeline.chance.getrandbits(160):040x}"

    def add(self, process: Process) -> None:
        """A process listens at its pod's address."""
        self.everybody[process.id] = process
        self._listening[process.ip] = process

    def at(self, ip: str) -> Process | None:
        """Who listens at a pod's address."""
        return self._listening.get(ip)

    def alive(self) -> Iterator[Process]:
        """All processes that run."""
        return iter(list(self._listening.values()))

    def kill(self, process: Process) -> None:
        """The process is gone with all its data; its sockets are closed, so that the others see their links break."""
        process.alive = False
        self._listening.pop(process.ip, None)
        for other in self.alive():
            peer = other.view.get(process.id)
            if peer is not None:
                peer.linked = False
            if other.me.primary_id == process.id:
                other.link_up = False
        self.written &= {write for other in self.alive() for write in other.data}

    def owner(self, slot: int) -> Process | None:
        """Who serves a slot: of those that say they own it the one with the newest configuration."""
        claims = [process for process in self.alive() if process.me.primary_id is None and slot in process.me.slots]
        return max(claims, key=lambda process: process.me.epoch, default=None)

    def write(self, slot: int) -> bool:
        """A client writes a key of that slot; whether it was acknowledged."""
        owner = self.owner(slot)
        if owner is None or not owner.state_ok:
            return False
        written = (slot, len(owner.data) + self.timeline.chance.getrandbits(40))
        owner.offset += 100
        owner.data.add(written)
        for other in self.alive():
            if other.me.primary_id == owner.id and other.link_up:
                other.data.add(written)
                other.offset = owner.offset
        self.written.add(written)
        return True

    def unreadable(self) -> set[tuple[int, int]]:
        """Writes of which a copy exists, but not where clients look for it."""
        return {written for written in self.written if (owner := self.owner(written[0])) is None or written not in owner.data}
