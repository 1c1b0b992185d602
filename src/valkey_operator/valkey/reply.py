"""What a server can answer, and the shapes that many answers share."""

from typing import TypeAlias

from valkey_operator.valkey.errors import Malformed

Reply: TypeAlias = str | int | list["Reply"] | None


def text(reply: Reply) -> str:
    """The reply when it is a string."""
    if isinstance(reply, str):
        return reply
    raise Malformed(f"a text was expected, not {type(reply).__name__}")


def number(reply: Reply) -> int:
    """The reply when it is a number."""
    if isinstance(reply, int):
        return reply
    raise Malformed(f"a number was expected, not {type(reply).__name__}")


def done(reply: Reply) -> None:
    """Nothing, when the reply is `OK`."""
    if reply != "OK":
        raise Malformed(f"OK was expected, not {type(reply).__name__}")


def pairs(reply: Reply) -> dict[str, str]:
    """A flat list of names and values (`CONFIG GET`) as a dict."""
    if not isinstance(reply, list) or len(reply) % 2:
        raise Malformed("names and values were expected")
    return {text(name): text(value) for name, value in zip(reply[::2], reply[1::2], strict=True)}


def fields(reply: Reply) -> dict[str, str]:
    """Lines of `name:value` (`INFO`, `CLUSTER INFO`) as a dict; headings and empty lines are left out."""
    lines = (line.partition(":") for line in text(reply).splitlines() if not line.startswith("#"))
    return {name: value for name, colon, value in lines if colon}
