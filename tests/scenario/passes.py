"""The operator of the world: looks, decides and does, pass by pass, with everything that can go wrong in between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from scenario.world_server import CommandRefusedError
from scenario.world_services import WriteRefusedError
from valkey_operator.api.conditions import Reason
from valkey_operator.core import plan, status
from valkey_operator.core.decide import decide
from valkey_operator.core.rest import HEALTH, rest_seconds, undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scenario.world import World
    from valkey_operator.core.observed import Observed
    from valkey_operator.core.plan import Action, Plan

NOTICE = 0.005
"""Seconds from a change in the mirror to the pass that answers it."""
BACK_OFF = 0.5
"""Seconds to the next pass after one in which something failed."""
DOWN = 1.5
"""Seconds until a killed operator is back."""


def _never(_at: float) -> bool:
    return False


class KilledError(Exception):
    """The operator ends here."""


@dataclass(slots=True)
class Pass:
    """What one pass did."""

    at: float
    plan: Plan
    failed: list[str] = field(default_factory=list)

    @property
    def commands(self) -> list[Action]:
        """What it wanted to send to servers."""
        return [action for action in self.plan.actions if isinstance(action, plan.Tell | plan.Announce)]


class Passes:
    """The passes of the operator over one world. It remembers nothing between two of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done: list[Pass] = []
        self.looks = 0
        """How often one server alone was asked, and nothing was new."""
        self.steps = 0
        """Everything that it changed in the world so far, so that it can be killed after any of it."""
        self.kill_after: int | None = None
        self.fails: Callable[[float], bool] = _never
        """Whether a write or command at that time fails for no reason of its own."""
        self._due = 0.0
        self._seen = -1

    # --- time -------------------------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Let the world and the operator go on for some time."""
        self.run_until(lambda: False, within=seconds)

    def run_until(self, reached: Callable[[], bool], *, within: float) -> bool:
        """Let them go on until something is so; whether it came to be."""
        timeline, kubernetes = self.world.timeline, self.world.kubernetes
        end = timeline.now + within
        while not reached():
            if timeline.now >= end:
                return False
            while kubernetes.mirror.revision == self._seen and timeline.step(min(self._due, end)):
                pass
            if kubernetes.mirror.revision != self._seen:
                self._due = min(self._due, timeline.now + NOTICE)
            while timeline.step(min(self._due, end)):
                pass
            if timeline.now >= self._due:
                self._pass()
        return True

    def settle(self, *, within: float = 60) -> None:
        """Go on until a pass is content and changes nothing, and the look after it as well."""
        calm = self.run_until(self._calm, within=within)
        last = self.done[-1].plan
        assert calm, f"not settled after {within} s: {[(c.type, c.status.value, c.message) for c in last.status.conditions]}"

    def _calm(self) -> bool:
        if not self.done:
            return False
        last = self.done[-1]
        return last.plan.quiet and not last.failed and not last.commands and self.world.kubernetes.revision == self._seen

    # --- one pass ---------------------------------------------------------------------------------------------------------------

    def _pass(self) -> None:
        timeline = self.world.timeline
        only_time_passed = self._seen == self.world.kubernetes.mirror.revision
        self._seen = self.world.kubernetes.mirror.revision
        observed = self.world.observe()
        if only_time_passed and self.done and self.done[-1].plan.quiet and self._undisturbed(observed):
            self.looks += 1
            self._due = timeline.now + rest_seconds(observed.cluster)
            return
        self.world.witness.enabled = observed.cluster.spec.external_access.enabled
        decided = decide(observed, now=timeline.moment)
        done = Pass(timeline.now, decided)
        self.done.append(done)
        try:
            self._tell(observed, done, self._perform(done))
        except KilledError:
            self.kill_after = None
            timeline.advance(DOWN)
            self._due, self._seen = timeline.now, -1
            return
        wait = decided.wake_after if decided.wake_after is not None else 3600.0
        self._due = timeline.now + (min(wait, BACK_OFF) if done.failed else wait)

    def _undisturbed(self, observed: Observed) -> bool:
        """Whether one server, another one each time, sees nothing new: the slow look at a settled cluster."""
        if not status.is_settled(observed.cluster.status, generation=observed.cluster.generation):
            return False
        turn = list(observed.servers)[int(self.world.timeline.now / HEALTH) % len(observed.servers)]
        return undisturbed(replace(observed, servers={turn: observed.servers[turn]}), turn, now=self.world.timeline.moment)

    def _perform(self, done: Pass) -> list[status.Failure]:
        """Carry out the plan; a part of an action that fails stops the rest of it, and nothing else."""
        failures: list[status.Failure] = []
        for action in self._shuffled(done.plan.actions):
            try:
                for step in self._parts(action):
                    self._step(step)
            except (WriteRefusedError, CommandRefusedError, ConnectionError) as error:
                done.failed.append(f"{action}: {error}")
                external = isinstance(action, plan.Ensure) and isinstance(action.wanted, plan.ExternalService)
                reason = Reason.SERVICE_CONFLICT if external else Reason.COMMAND_FAILED
                passing = isinstance(action, plan.Tell | plan.Announce)
                failures.append(status.Failure(reason, str(error), external=external, passing=passing))
        return failures

    def _tell(self, observed: Observed, done: Pass, failures: list[status.Failure]) -> None:
        """Write what was observed, where that differs from what the operator saw written."""
        kubernetes, written = self.world.kubernetes, done.plan.status
        if failures:
            written = status.with_failures(written, observed.cluster, failures, now=self.world.timeline.moment)
        writes: list[Callable[[], None]] = [
            lambda index=index, node=node: kubernetes.write_node_status(index, node)
            for index, node in done.plan.node_status.items()
            if observed.records[index].status != node
        ]
        if observed.cluster.status != written:
            writes.append(lambda: kubernetes.write_status(written))
        for write in writes:
            try:
                self._step(write)
            except ConnectionError as error:
                done.failed.append(f"status: {error}")

    def _shuffled(self, actions: tuple[Action, ...]) -> Iterator[Action]:
        """Actions in any order, but commands to one server in theirs."""
        lanes: dict[object, list[Action]] = {}
        for place, action in enumerate(actions):
            lane = action.index if isinstance(action, plan.Tell) else place
            lanes.setdefault(lane, []).append(action)
        order = [lane for lane, queued in lanes.items() for _ in queued]
        self.world.timeline.chance.shuffle(order)
        return (lanes[lane].pop(0) for lane in order)

    def _parts(self, action: Action) -> Iterator[Callable[[], None]]:
        kubernetes, world = self.world.kubernetes, self.world
        match action:
            case plan.Ensure(wanted):
                yield lambda: kubernetes.ensure(wanted)
            case plan.Remove():
                yield lambda: kubernetes.remove(action)
            case plan.Tell(index, command):
                yield lambda: world.tell(index, command)
            case plan.Announce(index, record, file, values):
                written = [wanted for wanted in (record, file) if wanted is not None]
                world.timeline.chance.shuffle(written)
                yield from (partial(kubernetes.ensure, wanted) for wanted in written)
                if values is not None:
                    yield lambda: world.tell(index, plan.SetConfig(values))

    def _step(self, step: Callable[[], None]) -> None:
        """Write or send one thing. What is so already is no step: the operator compares before it writes."""
        if self.fails(self.world.timeline.now):
            raise ConnectionRefusedError("the connection broke")
        before = self._footprints()
        step()
        if self._footprints() == before:
            return
        self.steps += 1
        if self.steps == self.kill_after:
            raise KilledError
        self.world.timeline.advance(self.world.timeline.chance.uniform(0.0005, 0.003))

    def _footprints(self) -> int:
        return len(self.world.kubernetes.writes) + len(self.world.witness.commands)
