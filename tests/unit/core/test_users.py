import hashlib

import pytest

from valkey_operator.api.users import User
from valkey_operator.core.observed import Passwords
from valkey_operator.core.users import access, is_open, replication_config

PASSWORDS = Passwords(operator="o-secret", replication="r-secret", default="d-secret")


def sha(password):
    return "#" + hashlib.sha256(password.encode()).hexdigest()


def user(name="app", **fields):
    return User.read({"name": name, **fields}, path="spec.users")


def login(*users, secrets=None, standing=None):
    return access(users, secrets=secrets or {}, passwords=PASSWORDS, standing=standing)


def line(found, name):
    (line,) = [line for line in found.acl.splitlines() if line.split()[1] == name]
    return line


def test_without_users_default_gets_the_generated_password():
    found = login()
    assert line(found, "default") == f"user default on {sha('d-secret')} ~* &* +@all"
    assert found.application == ("default", "d-secret")
    assert found.mistakes == ()


def test_with_users_default_is_closed_unless_it_is_listed():
    assert line(login(user(), secrets={"app": ("x",)}), "default") == "user default off resetpass -@all"
    opened = login(user("default", nopass=True))
    assert line(opened, "default") == "user default on nopass resetchannels"


def test_no_password_stands_in_the_file():
    acl = login(user(), secrets={"app": ("p1", "p2")}).acl
    assert not [word for word in ("o-secret", "r-secret", "d-secret", "p1 ", "p2 ") if word in acl]
    assert sha("p1") in acl
    assert sha("p2") in acl


def test_system_users_have_the_least_rights():
    found = login()
    operator, replication = line(found, "_operator").split(), line(found, "_replication").split()
    assert operator[:4] == ["user", "_operator", "on", sha("o-secret")]
    assert "-@all" in operator
    assert not [word for word in operator if word.startswith(("~", "&", "+@"))]
    assert not {"+config", "+cluster", "+acl", "+debug", "+shutdown"} & set(operator)
    assert replication[:4] == ["user", "_replication", "on", sha("r-secret")]
    assert {"+psync", "+replconf", "+ping"} <= set(replication)
    assert "+@all" not in replication


def test_every_right_of_a_user():
    found = login(
        user(
            commands={"allow": ["@read", "set"], "deny": ["keys"]},
            keys={"readWrite": ["app:*"], "readOnly": ["ro:*"], "writeOnly": ["wo:*"]},
            channels={"patterns": ["news:*"]},
            permissions="+@hash ~more:*",
        ),
        secrets={"app": ("one", "two")},
    )
    assert line(found, "app") == (
        f"user app on {sha('one')} {sha('two')} ~app:* %R~ro:* %W~wo:* resetchannels &news:* +@read +set -keys +@hash ~more:*"
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"enabled": False}, f"user app off {sha('x')} resetchannels"),
        ({"nopass": True}, "user app on nopass resetchannels"),
        ({"resetpass": True}, "user app on resetchannels"),
    ],
)
def test_how_a_user_logs_in(fields, words):
    assert line(login(user(**fields), secrets={"app": ("x",)}), "app") == words


def test_a_password_that_is_a_hash_already_stays():
    hashed = "#" + "0123456789abcdef" * 4
    found = login(user(), secrets={"app": (hashed,)})
    assert line(found, "app") == f"user app on {hashed} resetchannels"
    assert found.application is None


def test_applications_get_the_first_user_that_can_log_in():
    users = (user("zoe"), user("amy", enabled=False), user("bob"))
    found = login(*users, secrets={"amy": ("a",), "bob": ("b",), "zoe": ("z",)})
    assert found.application == ("bob", "b")


def test_a_user_without_its_secret_keeps_its_line_and_holds_nobody_up():
    secrets = {"app": "Secret orders-users does not exist: create it with the key app", "bob": ("b",)}
    before = login(user(), secrets={"app": ("old",)}).acl
    found = login(user(), user("bob"), secrets=secrets, standing=before)
    assert line(found, "app") == f"user app on {sha('old')} resetchannels"
    assert line(found, "bob") == f"user bob on {sha('b')} resetchannels"
    assert found.mistakes == ("user app: Secret orders-users does not exist: create it with the key app",)


def test_a_new_user_without_its_secret_is_off():
    found = login(user(), secrets={"app": "Secret orders-users does not exist"})
    assert line(found, "app") == "user app off resetpass -@all"
    assert found.application is None


def test_the_file_is_the_same_in_whatever_order_users_are_written():
    secrets = {"amy": ("a",), "bob": ("b",)}
    assert login(user("amy"), user("bob"), secrets=secrets).acl == login(user("bob"), user("amy"), secrets=secrets).acl


def test_every_line_ends():
    acl = login(user(), secrets={"app": ("x",)}).acl
    assert acl.endswith("\n")
    assert all(line.startswith("user ") for line in acl.splitlines())


def test_passwords_are_in_no_repr():
    assert "secret" not in repr(PASSWORDS)


def test_replicas_log_in_from_a_file():
    assert replication_config(PASSWORDS) == "primaryuser _replication\nprimaryauth r-secret\n"


@pytest.mark.parametrize(
    ("fields", "opened"),
    [
        ({}, False),
        ({"nopass": True}, True),
        ({"nopass": True, "enabled": False}, False),
        ({"permissions": "nopass ~* &* +@all"}, True),
        ({"permissions": "+@all  NoPass"}, True),
        ({"permissions": "~nopass +nopass"}, False),
        ({"enabled": False, "permissions": "on nopass"}, True),
        ({"nopass": True, "permissions": "off"}, False),
        ({"nopass": True, "permissions": "resetpass"}, False),
        ({"nopass": True, "permissions": "reset on"}, False),
        ({"nopass": True, "permissions": sha("x")}, False),
    ],
)
def test_a_user_is_open_by_its_fields_or_by_its_permissions(fields, opened):
    assert is_open(user(**fields)) is opened
