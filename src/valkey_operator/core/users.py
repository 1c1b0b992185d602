"""The ACL file: system users with least rights, the users of the spec, and `default` closed unless somebody opened it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from valkey_operator.core.listening import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.api.users import User
    from valkey_operator.core.observed import Passwords

OPERATOR = "_operator"
REPLICATION = "_replication"
DEFAULT = "default"

_OPERATOR_RIGHTS = (
    "resetchannels -@all +auth +ping +hello +info +acl|load +acl|whoami +config|get +config|set +client|kill +client|setname +client|setinfo "
    "+cluster|myid +cluster|myshardid +cluster|info +cluster|nodes +cluster|slots +cluster|shards +cluster|meet +cluster|addslotsrange "
    "+cluster|replicate +cluster|forget +cluster|failover +cluster|bumpepoch +cluster|reset +cluster|set-config-epoch "
    f"%R~{KEYS}* +xread"
)
"""What the operator does, and waiting at keys of its own until a primary hands over."""
_REPLICATION_RIGHTS = "resetchannels -@all +ping +psync +sync +replconf"
"""What a replica does at its primary, and nothing else."""
_HASHED = re.compile(r"#[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may log in, and what is wrong with the users of the spec."""

    acl: str
    """The text of the ACL file; passwords in it are hashes."""
    mistakes: tuple[str, ...]
    application: tuple[str, str] | None
    """User and password that applications are given; None where no user of the spec has a password in clear."""


def access(
    users: tuple[User, ...], *, secrets: Mapping[str, tuple[str, ...] | str], passwords: Passwords, standing: str | None
) -> Access:
    """The ACL file for the users of a spec.

    `secrets`: of each user with a password Secret the passwords, or what is wrong with it. A user whose Secret is wrong keeps the line
    that stands in the file now (`standing`), or is off until its Secret is right: the others are not held up.
    """
    lines = [
        f"user {OPERATOR} on {_hashed(passwords.operator)} {_OPERATOR_RIGHTS}",
        f"user {REPLICATION} on {_hashed(passwords.replication)} {_REPLICATION_RIGHTS}",
    ]
    if not users:
        lines.append(f"user {DEFAULT} on {_hashed(passwords.default)} ~* &* +@all")
        return Access(acl=_text(lines), mistakes=(), application=(DEFAULT, passwords.default))
    mistakes: list[str] = []
    before = _lines(standing or "")
    application: tuple[str, str] | None = None
    for user in sorted(users, key=lambda user: user.name):
        secret = secrets.get(user.name, ())
        if isinstance(secret, str):
            mistakes.append(f"user {user.name}: {secret}")
            lines.append(before.get(user.name, f"user {user.name} off resetpass -@all"))
            continue
        lines.append(_line(user, secret))
        clear = [password for password in secret if not _HASHED.fullmatch(password)]
        if user.enabled and clear and application is None:
            application = (user.name, clear[0])
    if DEFAULT not in {user.name for user in users}:
        lines.append(f"user {DEFAULT} off resetpass -@all")
    return Access(acl=_text(lines), mistakes=tuple(mistakes), application=application)


def is_open(user: User) -> bool:
    """Whether anybody can log in as a user without its password: by its fields, or by its permissions, which have the last word."""
    enabled, open_ = user.enabled, user.nopass
    for word in user.permissions.lower().split():
        match word:
            case "on" | "off":
                enabled = word == "on"
            case "nopass" | "resetpass":
                open_ = word == "nopass"
            case "reset":
                enabled = open_ = False
            case _ if word.startswith("#"):
                open_ = False
    return enabled and open_


def replication_config(passwords: Passwords) -> str:
    """The lines by which a replica logs in to its primary; in a file, never on a command line."""
    return f"primaryuser {REPLICATION}\nprimaryauth {passwords.replication}\n"


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _lines(acl: str) -> dict[str, str]:
    """The lines of an ACL file by user."""
    return {line.split()[1]: line for line in acl.splitlines() if line.startswith("user ")}


def _hashed(password: str) -> str:
    """A password as it stands in an ACL file; one that is a hash already (`#` and 64 hex digits) stays."""
    return password if _HASHED.fullmatch(password) else "#" + hashlib.sha256(password.encode()).hexdigest()


def _line(user: User, passwords: tuple[str, ...]) -> str:
    words = ["user", user.name, "on" if user.enabled else "off"]
    if user.nopass:
        words.append("nopass")
    elif not user.resetpass:
        words += [_hashed(password) for password in passwords]
    words += [f"~{pattern}" for pattern in user.keys.read_write]
    words += [f"%R~{pattern}" for pattern in user.keys.read_only]
    words += [f"%W~{pattern}" for pattern in user.keys.write_only]
    words += ["resetchannels", *(f"&{pattern}" for pattern in user.channels.patterns)]
    words += [f"+{command}" for command in user.commands.allow]
    words += [f"-{command}" for command in user.commands.deny]
    if user.permissions:
        words.append(user.permissions)
    return " ".join(words)
