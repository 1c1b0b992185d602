"""Who may log in, and what each may do: `spec.users`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from valkey_operator.api.model import Model
from valkey_operator.api.rule import ATOMIC, STORED_DEFAULT, Rule

CommandName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[@A-Za-z0-9|_-]+$")]
Pattern = Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\x00-\x20\x7f]+$")]

USER_NAME = r"^[A-Za-z0-9.:@+-][A-Za-z0-9_.:@+-]*$"


class PasswordSecret(Model):
    """Where a user's passwords are: a Secret in the cluster's namespace."""

    name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """The Secret's name. `<cluster>-users` when unset."""

    keys: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")], ...], Field(max_length=16), ATOMIC
    ] = ()
    """Keys in the Secret; each holds one password and all of them are valid, so that a password can be changed without an interruption.
    The user's name when unset."""


class Commands(Model):
    """Which commands a user may call."""

    allow: Annotated[tuple[CommandName, ...], Field(max_length=256), ATOMIC] = ()
    """Commands, `command|subcommand` or `@category` that are allowed. Example: ["@read", "set", "config|get"]."""

    deny: Annotated[tuple[CommandName, ...], Field(max_length=256), ATOMIC] = ()
    """The same, denied; applied after allow. Example: ["@dangerous"]."""


class Keys(Model):
    """Which keys a user may touch, as patterns with `*`, `?` and `[…]`."""

    read_write: Annotated[tuple[Pattern, ...], Field(max_length=256), ATOMIC] = ()
    """Keys that may be read and written. Example: ["app:*"]."""

    read_only: Annotated[tuple[Pattern, ...], Field(max_length=256), ATOMIC] = ()
    """Keys that may only be read."""

    write_only: Annotated[tuple[Pattern, ...], Field(max_length=256), ATOMIC] = ()
    """Keys that may only be written."""


class Channels(Model):
    """Which Pub/Sub channels a user may use."""

    patterns: Annotated[tuple[Pattern, ...], Field(max_length=256), ATOMIC] = ()
    """Channels as patterns; all others are closed. Example: ["news:*"]."""


class User(Model):
    """One user of the cluster. The operator's own users (their names begin with _) exist beside these."""

    name: Annotated[str, Field(min_length=1, max_length=128, pattern=USER_NAME)]
    """The user's name: letters, digits and . _ : @ + -, not beginning with _. "default" is the user of clients that give no name."""

    enabled: Annotated[bool, STORED_DEFAULT] = True
    """Whether the user may log in. Default true."""

    password_secret: PasswordSecret = PasswordSecret()
    """Where the passwords are. The key named like the user in the Secret `<cluster>-users` when unset."""

    nopass: bool = False
    """Whether any password, or none, is right. False when unset."""

    resetpass: bool = False
    """Whether all passwords are taken away, so that nobody can log in as this user with one. False when unset."""

    commands: Commands = Commands()
    """Which commands the user may call; none when unset."""

    keys: Keys = Keys()
    """Which keys the user may touch; none when unset."""

    channels: Channels = Channels()
    """Which Pub/Sub channels the user may use; none when unset."""

    permissions: Annotated[str, Field(max_length=4096)] = ""
    """Further rules in Valkey's ACL language, applied last. No passwords: they belong in the Secret. Example: "+@read ~cache:*"."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    def secret_name(self, cluster: str) -> str:
        """The Secret that holds the user's passwords."""
        return self.password_secret.name or f"{cluster}-users"

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """The keys of that Secret, each a valid password."""
        return self.password_secret.keys or (self.name,)

    @property
    def needs_password(self) -> bool:
        """Whether the user can log in only with a password from the Secret."""
        return self.enabled and not self.nopass and not self.resetpass
