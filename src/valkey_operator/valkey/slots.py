"""Arithmetic on the 16,384 hash slots."""

from binascii import crc_hqx
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

SLOT_COUNT = 16384


@dataclass(frozen=True, slots=True, order=True)
class SlotRange:
    """The slots from `first` to `last`, both included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last < SLOT_COUNT:
            raise ValueError(f"no slot range: {self.first}-{self.last}")

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"{self.first}-{self.last}" if self.first != self.last else str(self.first)

    @classmethod
    def parse(cls, text: str) -> Self:
        """`0-5460` or `5462`, as servers write them; ValueError for anything else."""
        first, dash, last = text.partition("-")
        return cls(int(first), int(last if dash else first))


@dataclass(frozen=True, slots=True)
class Slots:
    """A set of slots; its ranges are sorted and neither overlap nor touch, so equal sets are equal values."""

    ranges: tuple[SlotRange, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranges", _joined(self.ranges))

    def __len__(self) -> int:
        return sum(len(part) for part in self.ranges)

    def __contains__(self, slot: int) -> bool:
        return any(part.first <= slot <= part.last for part in self.ranges)

    def __or__(self, other: "Slots") -> "Slots":
        return Slots(self.ranges + other.ranges)

    def __sub__(self, other: "Slots") -> "Slots":
        kept: list[SlotRange] = []
        for part in self.ranges:
            first = part.first
            for hole in other.ranges:
                if hole.last < first or hole.first > part.last:
                    continue
                if hole.first > first:
                    kept.append(SlotRange(first, hole.first - 1))
                first = hole.last + 1
            if first <= part.last:
                kept.append(SlotRange(first, part.last))
        return Slots(tuple(kept))

    def __and__(self, other: "Slots") -> "Slots":
        return self - (self - other)

    def __str__(self) -> str:
        return " ".join(str(part) for part in self.ranges)

    @classmethod
    def parse(cls, text: str) -> Self:
        """`0-5460 5462`, in any order; ValueError for anything else."""
        return cls(tuple(SlotRange.parse(word) for word in text.split()))

    @classmethod
    def union(cls, parts: Iterable["Slots"]) -> Self:
        """All slots that are in any of the parts."""
        return cls(tuple(piece for part in parts for piece in part.ranges))

    def take(self, count: int) -> "Slots":
        """The `count` lowest slots, all of them when there are fewer."""
        taken: list[SlotRange] = []
        for part in self.ranges:
            if count <= 0:
                break
            taken.append(SlotRange(part.first, min(part.last, part.first + count - 1)))
            count -= len(part)
        return Slots(tuple(taken))

    def split(self, parts: int) -> tuple["Slots", ...]:
        """`parts` neighbouring pieces in order, as even as can be: of all slots, piece i is [i·16384÷n, (i+1)·16384÷n)."""
        if parts < 1:
            raise ValueError(f"cannot split slots into {parts} parts")
        pieces: list[Slots] = []
        rest, total = self, len(self)
        for index in range(parts):
            piece = rest.take((index + 1) * total // parts - index * total // parts)
            pieces.append(piece)
            rest -= piece
        return tuple(pieces)


def _joined(ranges: Iterable[SlotRange]) -> tuple[SlotRange, ...]:
    """Sorted, with overlapping and touching ranges made one."""
    joined: list[SlotRange] = []
    for part in sorted(ranges):
        if joined and part.first <= joined[-1].last + 1:
            joined[-1] = SlotRange(joined[-1].first, max(joined[-1].last, part.last))
        else:
            joined.append(part)
    return tuple(joined)


NO_SLOTS = Slots()
ALL = Slots((SlotRange(0, SLOT_COUNT - 1),))


def slot_of(key: str) -> int:
    """The slot of a key without braces (CRC-16/XMODEM of all of it)."""
    return crc_hqx(key.encode(), 0) % SLOT_COUNT
