"""Who may log in and what each may do; what applications are given."""

import pytest
from valkey.exceptions import AuthenticationError, NoPermissionError

from e2e import api as kinds

WRITING = """
set -e
ask() { VALKEYCLI_AUTH="$password" valkey-cli -c -h "$host" -p "$port" --user "$username" "$@"; }
n=0
while [ $n -lt 30 ]; do
  ask set "key:$n" "value:$n" > /dev/null
  [ "$(ask get "key:$n")" = "value:$n" ]
  n=$((n + 1))
done
echo "wrote and read $n keys as $username"
"""


def test_the_connection_secret_is_all_that_an_application_inside_needs(new_cluster, api, kubernetes):
    cluster = new_cluster(replicas=0)
    cluster.wait_until_ready(outside=False)
    assert cluster.secret("web-connection")["host"] == f"valkey-web.{cluster.namespace}.svc"
    restricted = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "application",
        "image": "docker.io/valkey/valkey:9.1.2",
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", WRITING],
        "envFrom": [{"secretRef": {"name": "web-connection"}}],
        "securityContext": restricted,
    }
    spec = {"restartPolicy": "Never", "containers": [container]}
    api.create(kinds.POD, {"metadata": {"name": "application", "namespace": cluster.namespace}, "spec": spec})

    def has_ended(found):
        return found and found[0]["status"]["phase"] in ("Succeeded", "Failed") and found[0]

    api.until(kinds.POD, cluster.namespace, has_ended, name="application", what="the application to end")
    assert kubernetes.kubectl("logs", "application", "-n", cluster.namespace) == "wrote and read 30 keys as default\n"


def test_nobody_gets_in_without_a_password(steady):
    pod = steady.pod(0, 0)
    for login in (("default", "guessed"), ("_operator", "guessed"), ("somebody", "guessed")):
        with pytest.raises(AuthenticationError):
            steady.ask(pod, "PING", login=login)
    with pytest.raises(AuthenticationError, match="Authentication required"):
        steady.ask(pod, "PING", login=(None, None))


def test_the_operators_own_user_may_not_read_data(steady):
    with pytest.raises(NoPermissionError):
        steady.ask(steady.pod(0, 0), "GET", "key")


def test_users_have_the_rights_of_the_spec_and_no_others(new_cluster, api):
    namespace = new_cluster.namespace
    api.create(kinds.SECRET, {"metadata": {"name": "web-users", "namespace": namespace}, "stringData": {"app": "of-app"}})
    api.create(
        kinds.SECRET, {"metadata": {"name": "others", "namespace": namespace}, "stringData": {"old": "before", "new": "after"}}
    )
    cluster = new_cluster(
        shards=1,
        replicas=0,
        users=[
            {"name": "app", "commands": {"allow": ["@read", "@write"], "deny": ["flushall"]}, "keys": {"readWrite": ["app:*"]}},
            {
                "name": "reader",
                "passwordSecret": {"name": "others", "keys": ["old", "new"]},
                "commands": {"allow": ["get"]},
                "keys": {"readOnly": ["app:*"]},
            },
            {"name": "gone", "enabled": False},
        ],
    )
    cluster.wait_until_ready(outside=False)
    (pod,) = cluster.pods()

    def ask(user, password, *command):
        return cluster.ask(pod, *command, login=(user, password))

    ask("app", "of-app", "SET", "app:1", "one")
    assert ask("app", "of-app", "GET", "app:1") == "one"
    assert ask("reader", "before", "GET", "app:1") == "one"
    assert ask("reader", "after", "GET", "app:1") == "one"
    for user, password, *command in (
        ("app", "of-app", "SET", "other:1", "one"),
        ("app", "of-app", "FLUSHALL"),
        ("app", "of-app", "CONFIG GET", "port"),
        ("reader", "after", "SET", "app:1", "two"),
        ("reader", "after", "GET", "other:1"),
    ):
        with pytest.raises(NoPermissionError):
            ask(user, password, *command)
    for login in (("app", "after"), ("reader", "of-app"), ("gone", ""), ("default", "of-app")):
        with pytest.raises(AuthenticationError):
            ask(*login, "PING")
    secret = cluster.secret("web-connection")
    assert (secret["username"], secret["password"]) == ("app", "of-app")
