"""What was seen at the addresses that a client outside dials: plain values, also as JSON, since they may come from a pod."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Failure(StrEnum):
    """Where a dial ended."""

    UNRESOLVED = "Unresolved"
    NO_ROUTE = "NoRoute"
    UNANSWERED = "Unanswered"
    REFUSED = "Refused"
    CUT = "Cut"
    SILENT = "Silent"
    NO_TLS = "NoTLS"
    UNTRUSTED = "Untrusted"
    WRONG_NAME = "WrongName"
    EXPIRED = "Expired"
    LOGIN_REFUSED = "LoginRefused"
    NOT_VALKEY = "NotValkey"
    NOT_WORKING = "NotWorking"


@dataclass(frozen=True, slots=True, order=True)
class Told:
    """The pair that a server tells clients for a node; a host of "" or "?" is none."""

    by: str
    """The command that was asked."""
    id: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a server sent whoever asked for a key of another one, and what that one said."""

    slot: int
    id: str
    """Who serves the slot, as the sending server tells it."""
    host: str
    port: int
    outcome: str
    """Why the key was not served there; empty when it was, or when nothing answers there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dial:
    """One connection, to one IP address of a pair's host; what was not reached is left at its default."""

    ip: str
    milliseconds: int = 0
    failure: Failure | None = None
    detail: str = ""
    id: str = ""
    told: tuple[Told, ...] = ()
    refused: tuple[str, ...] = ()
    """Commands that the user may not call."""
    redirect: Redirect | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen at one pair: a dial for each address of its host; none when the host does not resolve."""

    host: str
    port: int
    dials: tuple[Dial, ...]
    detail: str = ""
    """Why the host does not resolve."""


def written(seen: Iterable[Seen]) -> dict[str, Any]:
    """As JSON can hold it. What servers tell is mostly the same, and is written once."""
    told: dict[tuple[Told, ...], int] = {}
    pairs = []
    for each in seen:
        dials = [asdict(replace(dial, told=())) | {"told": told.setdefault(dial.told, len(told))} for dial in each.dials]
        pairs.append({"host": each.host, "port": each.port, "dials": dials, "detail": each.detail})
    return {"told": [[astuple(one) for one in together] for together in told], "seen": pairs}


def read(raw: Mapping[str, Any]) -> tuple[Seen, ...]:
    """What `written` made of it."""
    told = [tuple(Told(*one) for one in together) for together in raw["told"]]
    return tuple(
        Seen(each["host"], each["port"], tuple(_dial(dial, told[dial["told"]]) for dial in each["dials"]), each["detail"])
        for each in raw["seen"]
    )


def _dial(raw: Mapping[str, Any], told: tuple[Told, ...]) -> Dial:
    return Dial(
        **{
            **raw,
            "failure": raw["failure"] and Failure(raw["failure"]),
            "told": told,
            "refused": tuple(raw["refused"]),
            "redirect": raw["redirect"] and Redirect(**raw["redirect"]),
        }
    )
