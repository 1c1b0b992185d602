"""What is read from Secrets: the generated passwords, the ACL file, the passwords of users."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from valkey_operator.controllers.views import Object, Seen, child
from valkey_operator.core import names
from valkey_operator.core.observed import Passwords

if TYPE_CHECKING:
    from collections.abc import Mapping

    from valkey_operator.api.users import User

_FIRST_PRINTABLE = 0x20
_DELETE = 0x7F


@dataclass(frozen=True, slots=True)
class Secret:
    """The values of a Secret by key."""

    name: str
    values: Mapping[str, bytes] = field(repr=False)


def secret(obj: Object) -> Seen[Secret]:
    """A Secret that the operator made."""
    return Seen(child(obj), values(obj))


def values(obj: Object) -> Secret:
    """Any Secret, a user's too."""
    return Secret(name=obj["metadata"]["name"], values={key: b64decode(value) for key, value in (obj.get("data") or {}).items()})


def passwords(system: Secret) -> Passwords | None:
    """The generated passwords; None where the Secret lacks one."""
    try:
        return Passwords(
            operator=system.values["_operator"].decode(),
            replication=system.values["_replication"].decode(),
            default=system.values["default"].decode(),
        )
    except (KeyError, UnicodeDecodeError):
        return None


def acl(servers: Secret) -> str | None:
    """The ACL file; None where the Secret lacks it."""
    text = servers.values.get(names.ACL_FILE)
    return None if text is None else text.decode(errors="replace")


def user_passwords(user: User, *, cluster: str, secret: Secret | None) -> tuple[str, ...] | str:
    """A user's passwords, or what is wrong with their Secret (None: there is none) and what to do, without telling a value."""
    name = user.secret_name(cluster)
    if secret is None:
        return f"Secret {name} does not exist: create it with the key {user.secret_keys[0]}"
    missing = [key for key in user.secret_keys if key not in secret.values]
    if missing:
        return f"Secret {name} has no key {', '.join(missing)}: add it, or name another in passwordSecret.keys"
    bad = [key for key in user.secret_keys if not _is_password(secret.values[key])]
    if bad:
        return f"Secret {name}: the value of {', '.join(bad)} is empty, no text or has a line break: store the bare password"
    return tuple(secret.values[key].decode() for key in user.secret_keys)


def _is_password(value: bytes) -> bool:
    """Whether a client can send it: text, without the line break that `echo` puts behind a password."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return False
    return bool(text) and all(ord(character) >= _FIRST_PRINTABLE and ord(character) != _DELETE for character in text)
