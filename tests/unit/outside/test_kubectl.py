import pytest

from valkey_operator.outside.errors import NotCheckedError
from valkey_operator.outside.gather import login_of
from valkey_operator.outside.kubectl import RefusedError, refusal

WHAT = "ValkeyCluster shop/orders"


@pytest.mark.parametrize(
    ("complaint", "reason", "words"),
    [
        (
            'Error from server (Forbidden): secrets "x" is forbidden: User "nobody" cannot get resource "secrets"\n',
            "Forbidden",
            'secrets "x" is forbidden: User "nobody" cannot get resource "secrets"; ask for that right',
        ),
        (
            'Error from server (NotFound): valkeyclusters.valkey.io "x" not found\n',
            "NotFound",
            'valkeyclusters.valkey.io "x" not found; see `kubectl get vkc --all-namespaces`, and give --namespace',
        ),
        (
            "Error from server (NotFound): the server could not find the requested resource\n",
            "NotFound",
            "this Kubernetes does not know ValkeyClusters: install the operator's CRDs, or choose another --context",
        ),
        ("error: You must be logged in to the server (Unauthorized)\n", "Unauthorized", "log in to Kubernetes again"),
    ],
)
def test_an_answer_of_the_api_server_keeps_its_words_and_says_what_now(complaint, reason, words):
    told = refusal(complaint, what=WHAT)
    assert isinstance(told, RefusedError)
    assert told.reason == reason
    assert str(told).startswith(f"{WHAT}: ")
    assert words in str(told)


@pytest.mark.parametrize(
    ("complaint", "words"),
    [
        (
            "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n",
            "127.0.0.1:1 was refused",
        ),
        ('error: context "nix" does not exist\n', 'ValkeyCluster shop/orders: context "nix" does not exist; see whether'),
        ("E1202 first line\nUnable to connect to the server: EOF\n", "Unable to connect to the server: EOF"),
        ("", "kubectl failed without a word"),
    ],
)
def test_without_an_answer_kubectls_last_line_is_told(complaint, words):
    told = refusal(complaint, what=WHAT)
    assert not isinstance(told, RefusedError)
    assert words in str(told)
    assert "`kubectl get namespaces`" in str(told)


def test_a_login_is_read_from_the_secret_and_its_repr_shows_no_password():
    found = login_of({"data": {"username": "YXBw", "password": "c2VjcmV0", "ca.crt": "UEVN"}}, instead="")
    assert (found.user, found.password, found.authorities) == ("app", "secret", "PEM")
    assert "secret" not in repr(found)


def test_a_secret_without_a_password_is_named_with_what_it_lacks():
    with pytest.raises(NotCheckedError) as raised:
        login_of({"metadata": {"namespace": "shop", "name": "orders-connection"}, "data": {"username": "YXBw"}}, instead="do this")
    assert str(raised.value) == "Secret shop/orders-connection has no password: do this"
