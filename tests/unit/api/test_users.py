import pytest

from valkey_operator.api.model import SpecInvalid
from valkey_operator.api.users import User


def read(**fields):
    return User.read(fields, path="spec.users[0]")


def test_a_user_may_do_nothing_until_told():
    user = read(name="app")
    assert user.enabled
    assert user.needs_password
    assert (user.commands.allow, user.commands.deny) == ((), ())
    assert (user.keys.read_write, user.keys.read_only, user.keys.write_only) == ((), (), ())
    assert user.channels.patterns == ()
    assert user.permissions == ""


def test_its_password_is_found_by_its_name():
    user = read(name="app")
    assert user.secret_name("orders") == "orders-users"
    assert user.secret_keys == ("app",)


def test_its_passwords_may_be_elsewhere():
    user = read(name="app", passwordSecret={"name": "app-passwords", "keys": ["old", "new"]})
    assert user.secret_name("orders") == "app-passwords"
    assert user.secret_keys == ("old", "new")


@pytest.mark.parametrize("fields", [{"enabled": False}, {"nopass": True}, {"resetpass": True}])
def test_who_logs_in_without_a_password_or_not_at_all_needs_none(fields):
    assert not read(name="app", **fields).needs_password


def test_a_name_that_no_secret_key_can_have_is_fine_where_no_key_is_needed():
    assert read(name="svc:app", nopass=True).name == "svc:app"
    assert read(name="svc:app", passwordSecret={"keys": ["svc"]}).secret_keys == ("svc",)


@pytest.mark.parametrize("name", ["_operator", "_", "a b", "", "a\nb", "ü", "a\n", "x" * 129])
def test_bad_names_are_refused(name):
    with pytest.raises(SpecInvalid):
        read(name=name, nopass=True)


@pytest.mark.parametrize("permissions", [">hunter2", "+get >hunter2", "+get <hunter2"])
def test_a_password_in_plain_text_is_refused_and_not_repeated(permissions):
    with pytest.raises(SpecInvalid) as caught:
        read(name="app", permissions=permissions)
    assert caught.value.mistakes == (
        (
            "spec.users[0].permissions: has a password in plain text, which everybody who may read this object sees: put it into the "
            "Secret of passwordSecret"
        ),
    )


def test_raw_permissions_pass_as_they_are():
    assert read(name="app", permissions="~cache:* (+get ~other:*)").permissions == "~cache:* (+get ~other:*)"
