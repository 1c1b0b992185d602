from base64 import b64encode

import pytest

from valkey_operator.api.users import User
from valkey_operator.controllers.secret_views import acl, passwords, secret, user_passwords, values
from valkey_operator.core.observed import Passwords


def obj(**data):
    encoded = {
        key.replace("__", "."): b64encode(value if isinstance(value, bytes) else value.encode()).decode()
        for key, value in data.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "orders-users", "namespace": "shop", "uid": "u1"},
        "data": encoded,
    }


def app_passwords(found, **spec):
    user = User.model_validate({"name": "app", **spec})
    return user_passwords(user, cluster="orders", secret=found)


def test_values_are_in_no_log():
    assert "hunter2" not in repr(secret(obj(app="hunter2")))
    assert b64encode(b"hunter2").decode() not in repr(secret(obj(app="hunter2")))


def test_a_secret_without_data_is_empty():
    assert values(obj() | {"data": None}).values == {}


def test_generated_passwords_are_read_back():
    assert passwords(values(obj(_operator="o", _replication="r", default="d"))) == Passwords(
        operator="o", replication="r", default="d"
    )


def test_passwords_of_which_one_is_missing_are_none():
    assert passwords(values(obj(_operator="o", default="d"))) is None


def test_the_acl_file_is_read_back():
    assert acl(values(obj(users__acl="user default off\n"))) == "user default off\n"
    assert acl(values(obj())) is None


def test_a_users_password_is_under_the_users_name():
    assert app_passwords(values(obj(app="hunter2"))) == ("hunter2",)


def test_several_keys_are_several_passwords():
    found = app_passwords(values(obj(old="hunter1", new="hunter2")), passwordSecret={"keys": ["old", "new"]})
    assert found == ("hunter1", "hunter2")


def test_a_missing_secret_is_named_and_what_to_do():
    assert app_passwords(None) == "Secret orders-users does not exist: create it with the key app"


def test_a_missing_key_is_named_and_what_to_do():
    assert (
        app_passwords(values(obj(other="x")))
        == "Secret orders-users has no key app: add it, or name another in passwordSecret.keys"
    )


@pytest.mark.parametrize("value", [b"", b"hunter2\n", b"\xff\xfe", b"a\x00b"])
def test_a_value_that_no_client_can_send_is_named_but_not_told(value):
    assert app_passwords(values(obj(app=value))) == (
        "Secret orders-users: the value of app is empty, no text or has a line break: store the bare password"
    )
