"""Who may log in, and what each may do: `spec.users`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from valkey_operator.api.model import Model
from valkey_operator.api.rule import ATOMIC, CONTROL, STORED_DEFAULT, Rule, all_match, found, matches, quoted

USER_NAME = r"^[A-Za-z0-9_.:@+-]+$"
PLAIN_PASSWORD = r"(^| )[<>]"  # noqa: S105  # a pattern, no password
SECRET_KEY = r"^[-._a-zA-Z0-9]+$"  # noqa: S105  # the same

CommandNames = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=128)], ...],
    Field(max_length=128),
    ATOMIC,
    all_match(
        r"^[@A-Za-z0-9|_-]+$",
        "an entry is no command: write a name, command|subcommand or @category, without + and -",
    ),
]
Patterns = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=512)], ...],
    Field(max_length=128),
    ATOMIC,
    all_match(
        r"^[^\x00-\x20\x7f]+$",
        "a pattern has a space or a control character, which an ACL cannot express: use ? in its place",
    ),
]


class PasswordSecret(Model):
    """Where a user's passwords are: a Secret in the cluster's namespace."""

    name: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    """The Secret's name. `<cluster>-users` when unset."""

    keys: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=253)], ...],
        Field(max_length=16),
        ATOMIC,
        all_match(SECRET_KEY, "an entry is no key of a Secret: use letters, digits, '-', '_' and '.'"),
    ] = ()
    """Keys in the Secret; each holds one password and all of them are valid, so that a password can be changed without an interruption.
    The user's name when unset."""


class Commands(Model):
    """Which commands a user may call."""

    allow: CommandNames = ()
    """Commands, `command|subcommand` or `@category` that are allowed. Example: ["@read", "set", "config|get"]."""

    deny: CommandNames = ()
    """The same, denied; applied after allow. Example: ["@dangerous"]."""


class Keys(Model):
    """Which keys a user may touch, as patterns with `*`, `?` and `[…]`."""

    read_write: Patterns = ()
    """Keys that may be read and written. Example: ["app:*"]."""

    read_only: Patterns = ()
    """Keys that may only be read."""

    write_only: Patterns = ()
    """Keys that may only be written."""


class Channels(Model):
    """Which Pub/Sub channels a user may use."""

    patterns: Patterns = ()
    """Channels as patterns; all others are closed. Example: ["news:*"]."""


class User(Model):
    """One user of the cluster. The operator's own users (their names begin with _) exist beside these."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=128),
        matches(USER_NAME, "must hold only letters, digits and . _ : @ + -"),
        matches("^[^_]", "names that begin with _ belong to the operator's own users: choose another name"),
    ]
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

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!has(self.nopass) || !self.nopass || !has(self.passwordSecret)",
            message="with nopass any password is right: remove one of the two",
            holds=lambda user: not user.nopass or not user.is_set("password_secret"),
            field_path=".passwordSecret",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="!has(self.nopass) || !self.nopass || !has(self.resetpass) || !self.resetpass",
            message="takes away what nopass gives: remove one of the two",
            holds=lambda user: not user.nopass or not user.resetpass,
            field_path=".resetpass",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel="!self.enabled || (has(self.nopass) && self.nopass) || (has(self.resetpass) && self.resetpass)"
            f" || self.name.matches({quoted(SECRET_KEY)}) || (has(self.passwordSecret) && has(self.passwordSecret.keys))",
            message="no key of a Secret can be named like this user: say in passwordSecret.keys which keys hold the passwords",
            holds=lambda user: not user.needs_password or all(found(SECRET_KEY, key) for key in user.secret_keys),
            field_path=".passwordSecret.keys",
            reason="FieldValueRequired",
        ),
        Rule(
            cel=f"!has(self.permissions) || !self.permissions.matches({quoted(CONTROL)})",
            message="has a line break or another control character: write all rules on one line",
            holds=lambda user: not found(CONTROL, user.permissions),
            field_path=".permissions",
            reason="FieldValueForbidden",
        ),
        Rule(
            cel=f"!has(self.permissions) || !self.permissions.matches({quoted(PLAIN_PASSWORD)})",
            message="has a password in plain text, which everybody who may read this object sees: put it into the Secret of passwordSecret",
            holds=lambda user: not found(PLAIN_PASSWORD, user.permissions),
            field_path=".permissions",
            reason="FieldValueForbidden",
        ),
    )

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
