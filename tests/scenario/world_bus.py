"""What servers do among themselves: they meet, gossip, suspect, elect and copy. Nothing of it is immediate.

A simplification of Valkey's own cluster bus, with its rules where decisions depend on them: knowledge travels in headers one by one,
slots go to the newest configuration, a majority of the primaries agrees on who failed and who follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from valkey_operator.valkey.slots import NO_SLOTS

if TYPE_CHECKING:
    from scenario.world_fleet import Fleet
    from scenario.world_server import Peer
    from valkey_operator.valkey.slots import Slots

CRON = 0.1
WRITABLE_DELAY = 2.0
ALL_SLOTS = 16384


class Bus:
    """The part of a server that talks to the others."""

    config: dict[str, str]

    def __init__(self, fleet: Fleet, *, ip: str, me: Peer) -> None:
        self.fleet = fleet
        self.timeline = fleet.timeline
        self.id = me.id
        self.ip = ip
        self.me = me
        self.view = {me.id: me}
        self.alive = True
        self.started = self.timeline.now
        self.data: set[tuple[int, int]] = set()
        self.offset = 0
        self.link_up = False
        self.state_ok = False
        self.current_epoch = 0
        self.banned: dict[str, float] = {}
        self._minority = self.timeline.now
        self._electing = False
        self._linking = False
        self.timeline.between(0, CRON, self._cron)
        self.timeline.between(0, CRON, self._beat)

    @property
    def node_timeout(self) -> float:
        """After so many seconds of silence somebody is suspected."""
        return int(self.config["cluster-node-timeout"]) / 1000

    def others(self) -> list[Peer]:
        """Everybody that it knows but itself."""
        return [peer for peer in self.view.values() if peer is not self.me and not peer.handshake]

    # --- gossip ---------------------------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        if not self.alive:
            return
        period = int(self.config["cluster-ping-interval"]) / 1000 or self.node_timeout / 2
        for peer in self.others():
            self.timeline.between(0, period, self._ping, peer.id)
        self.timeline.after(period, self._beat)

    def _ping(self, node_id: str) -> None:
        peer = self.view.get(node_id)
        if not self.alive or peer is None or peer.noaddr:
            return
        target = self.fleet.at(peer.ip)
        if target is None:
            return
        if target.id != node_id:  # another process answers at that address
            peer.noaddr, peer.linked = True, False
            return
        target.hear(self)
        self.hear(target)

    def broadcast(self) -> None:
        """Tell everybody soon."""
        for peer in self.others():
            self.timeline.between(0.001, 0.02, self._ping, peer.id)

    def hear(self, sender: Bus) -> None:
        """Take in the header of another server's message, and its gossip; of somebody unknown nothing is believed."""
        peer, told = self.view.get(sender.id), sender.me
        if peer is None or peer.handshake:
            return
        self.current_epoch = max(self.current_epoch, sender.current_epoch)
        if self._is_stale(peer, sender):
            return
        peer.ip, peer.hostname, peer.port, peer.client_ipv4 = told.ip, told.hostname, told.port, told.client_ipv4
        peer.heard, peer.linked, peer.suspected, peer.failed, peer.noaddr = self.timeline.now, True, False, False, False
        peer.primary_id = told.primary_id
        if told.primary_id is None:
            peer.epoch = max(peer.epoch, told.epoch)
            self._claim(peer, told.slots, sender)
            if self.me.primary_id is None and peer.epoch == self.me.epoch and self.id < sender.id:
                self.current_epoch += 1
                self.me.epoch = self.current_epoch
        else:
            peer.slots = NO_SLOTS
        for node_id in sender.view.keys() - self.view.keys():
            heard_of = sender.view[node_id]
            if not heard_of.handshake and not heard_of.noaddr and not heard_of.failed:
                self._know(node_id, heard_of.ip)

    def _is_stale(self, peer: Peer, sender: Bus) -> bool:
        """Whether a replica is not believed: it is remembered as a primary with a newer configuration than its present primary's."""
        followed = sender.view.get(sender.me.primary_id) if sender.me.primary_id else None
        return followed is not None and peer.primary_id is None and peer.epoch > followed.epoch

    def _know(self, node_id: str, ip: str) -> None:
        if node_id not in self.view and self.banned.get(node_id, 0) <= self.timeline.now:
            self.view[node_id] = type(self.me)(node_id, ip, heard=self.timeline.now, linked=False)

    def _claim(self, peer: Peer, slots: Slots, sender: Bus) -> None:
        """Slots go to whom claims them with a newer configuration than their owner's; who claims with an older one is corrected."""
        if slots == peer.slots or not (gained := slots - peer.slots):
            return
        mine = self.view.get(self.me.primary_id, self.me) if self.me.primary_id else self.me
        had = bool(mine.slots)
        for other in self.view.values():
            contested = gained & other.slots if other is not peer else NO_SLOTS
            if not contested:
                continue
            if other.epoch < peer.epoch:
                other.slots -= contested
            else:
                gained -= contested
                sender._corrected(other)
        peer.slots |= gained
        if had and not mine.slots:
            self.follow(peer.id)

    def _corrected(self, owner: Peer) -> None:
        known = self.view.get(owner.id)
        if known is not None and known is not self.me and known.epoch < owner.epoch:
            known.epoch, known.primary_id = owner.epoch, None
            self._claim(known, owner.slots, self)

    # --- meeting --------------------------------------------------------------------------------------------------------------

    def meet(self, ip: str) -> None:
        """Shake hands with whoever listens at that address."""
        if ip == self.ip or any(peer.handshake and peer.ip == ip for peer in self.view.values()):
            return
        shaking = type(self.me)(self.fleet.new_id(), ip, handshake=True, met=self.timeline.now)
        self.view[shaking.id] = shaking
        self.timeline.between(0.005, 0.1, self._greet, shaking.id)

    def _greet(self, handshake: str) -> None:
        shaking = self.view.get(handshake)
        if not self.alive or shaking is None:
            return
        target = self.fleet.at(shaking.ip)
        if target is not None:
            del self.view[handshake]
            self._know(target.id, target.ip)
            self.hear(target)
            self.timeline.between(0.005, 0.1, target._greeted, self)
        elif self.timeline.now - shaking.met > max(self.node_timeout, 1):
            del self.view[handshake]
        else:
            self.timeline.after(CRON, self._greet, handshake)

    def _greeted(self, sender: Bus) -> None:
        if self.alive and sender.alive:
            self._know(sender.id, sender.ip)
            self.hear(sender)

    # --- failure --------------------------------------------------------------------------------------------------------------

    def _cron(self) -> None:
        if not self.alive:
            return
        now = self.timeline.now
        for peer in self.others():
            silent = now - peer.heard
            peer.suspected = silent > self.node_timeout + CRON * 3
            peer.failed = peer.failed or (peer.suspected and self._agreed(peer.id))
            if not peer.linked:
                self._ping(peer.id)
        primary = self.view.get(self.me.primary_id) if self.me.primary_id else None
        if primary is not None:
            if primary.failed and primary.slots and not self._electing:
                self._electing = True
                self.timeline.between(0.5, 1.0, self.elect)
            if not self.link_up and not self._linking:
                self._linking = True
                self.timeline.between(0.1, 1.0, self._link, primary.id)
        self._update_state()
        self.timeline.after(CRON, self._cron)

    def _owners(self) -> list[Peer]:
        return [peer for peer in self.view.values() if peer.slots.ranges]

    def _voters(self) -> list[Bus]:
        """The primaries that can be asked, itself included when it is one."""
        asked = (self.fleet.at(peer.ip) for peer in self._owners())
        return [voter for voter in asked if voter is not None and voter.id in self.view and voter.me.slots]

    def _agreed(self, node_id: str) -> bool:
        """Whether a majority of the primaries suspects somebody."""
        suspicious = [voter for voter in self._voters() if (peer := voter.view.get(node_id)) and (peer.suspected or peer.failed)]
        return 2 * len(suspicious) > len(self._owners())

    def elect(self, *, forced: bool = False) -> None:
        """Stand for election; the primaries vote for a replica whose primary they hold for failed, or that was told to."""
        self._electing = False
        primary = self.me.primary_id
        if not self.alive or primary is None or not self.view[primary].slots:
            return
        votes = [voter for voter in self._voters() if forced or ((peer := voter.view.get(primary)) is not None and peer.failed)]
        if 2 * len(votes) > len(self._owners()):
            self.promote()

    def promote(self) -> None:
        """Be the primary of its shard, by a new configuration, and tell everybody."""
        old = self.view[self.me.primary_id]
        self.me.slots, old.slots, self.me.primary_id = old.slots, NO_SLOTS, None
        self.current_epoch += 1
        self.me.epoch = self.current_epoch
        self.link_up = False
        self.broadcast()

    def _update_state(self) -> None:
        now, owners = self.timeline.now, self._owners()
        reachable = sum(1 for peer in owners if not peer.failed and not peer.suspected)
        if 2 * reachable <= len(owners):
            self._minority = now
        covered = sum(len(peer.slots) for peer in owners if not peer.failed)
        ok = covered == ALL_SLOTS and 2 * reachable > len(owners)
        if ok and not self.state_ok and self.me.primary_id is None:
            rejoin = min(max(self.node_timeout, 0.5), 5)
            ok = now - self._minority >= rejoin and now - self.started >= WRITABLE_DELAY
        self.state_ok = ok

    # --- replication ----------------------------------------------------------------------------------------------------------

    def follow(self, primary_id: str) -> None:
        """Be a replica; what it held is dropped when the copy comes."""
        if self.me.primary_id != primary_id:
            self.me.primary_id, self.me.slots = primary_id, NO_SLOTS
            self.link_up = False

    def _link(self, primary_id: str) -> None:
        self._linking = False
        primary = self.fleet.everybody.get(primary_id)
        if not self.alive or self.me.primary_id != primary_id or primary is None or not primary.alive:
            return
        self._linking = True
        self.timeline.after(int(primary.config["repl-diskless-sync-delay"]), self._copied, primary)

    def _copied(self, primary: Bus) -> None:
        self._linking = False
        if self.alive and primary.alive and self.me.primary_id == primary.id and primary.me.primary_id is None:
            self.data, self.offset, self.link_up = set(primary.data), primary.offset + 14, True
