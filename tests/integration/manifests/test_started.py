"""The command of a pod's container, run with real servers as a kubelet would run it."""

import itertools
import os
import subprocess
import time
from contextlib import contextmanager

import pytest
import valkey

from golden.orders import NODE, NODE_UID, orders
from integration.valkey.programs import server_program
from valkey_operator.core.config import server_config
from valkey_operator.core.plan import ServerWorkload
from valkey_operator.manifests.statefulset import workload

VERSIONS = ("9.1", "9.0", "8.1")
ACL = "user default on nopass ~* &* +@all\n"
REPLICATION = "primaryuser _replication\nprimaryauth secret\n"

# Addresses that no other test process has.
_hosts = (f"127.{1 + os.getpid() % 100}.{os.getpid() // 100 % 256}.{last}" for last in itertools.count(1))


class Pod:
    """The files and the address of a pod."""

    def __init__(self, directory, version):
        self.directory, self.version, self.ip = directory, version, next(_hosts)
        for name in ("conf", "acl", "announce", "data"):
            (directory / name).mkdir()
        self.write("conf/valkey.conf", self.here(server_config({})))
        self.write("acl/users.acl", ACL)
        self.write("acl/replication.conf", REPLICATION)

    def write(self, path, text):
        (self.directory / path).write_text(text)

    def here(self, text):
        return text.replace("/etc/valkey", str(self.directory)).replace("/data", str(self.directory / "data"))

    @contextmanager
    def running(self, *arguments):
        """A client of the server."""
        cluster = orders(containers=[{"name": "server", "args": ["--bind", self.ip, *arguments]}])
        template = workload(cluster, ServerWorkload(index=NODE, owner_uid=NODE_UID, digest=""))["spec"]["template"]
        container = template["spec"]["containers"][0]
        words = [self.here(word).replace("$(POD_IP)", self.ip) for word in (*container["command"], *container["args"])]
        place = words.index("valkey-server")
        process = subprocess.Popen([*words[:place], *server_program(self.version), *words[place + 1 :]], stdout=subprocess.DEVNULL)
        try:
            with valkey.Valkey(self.ip) as client:
                until_answers(client)
                yield client
        finally:
            process.terminate()
            process.wait()


def until_answers(client):
    deadline = time.monotonic() + 10
    while True:
        try:
            return client.ping()
        except valkey.ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


@pytest.fixture(params=VERSIONS)
def pod(request, tmp_path):
    return Pod(tmp_path, request.param)


def test_a_server_announces_its_place_inside_when_there_is_no_file(pod):
    with pod.running() as client:
        said = client.config_get("cluster-announce-*")
    assert (said["cluster-announce-ip"], said["cluster-announce-hostname"]) == (pod.ip, pod.ip)
    assert said["cluster-announce-human-nodename"] == "orders-1-0"


def test_what_the_file_says_wins(pod):
    pod.write("announce/announce.conf", "cluster-announce-hostname 192.0.2.11\ncluster-announce-client-ipv4 192.0.2.11\n")
    with pod.running() as client:
        said = client.config_get("cluster-announce-*")
    assert (said["cluster-announce-hostname"], said["cluster-announce-client-ipv4"]) == ("192.0.2.11", "192.0.2.11")
    assert said["cluster-announce-ip"] == pod.ip


def test_a_server_that_restarts_in_its_pod_is_another_and_empty(pod):
    with pod.running() as client:
        first = client.execute_command("CLUSTER MYID")
        client.execute_command("CLUSTER ADDSLOTSRANGE 0 16383")
    with pod.running() as client:
        assert client.execute_command("CLUSTER MYID") != first
        assert client.execute_command("CLUSTER INFO")["cluster_slots_assigned"] == "0"


def test_a_server_logs_in_to_its_primary_with_what_is_in_no_argument(pod):
    with pod.running() as client:
        said = client.config_get("primary*")
    assert (said["primaryuser"], said["primaryauth"]) == ("_replication", "secret")


def test_the_users_arguments_are_settings_too(pod):
    with pod.running("--maxclients", "100") as client:
        assert client.config_get("maxclients")["maxclients"] == "100"
