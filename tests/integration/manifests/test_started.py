"""The command of a pod's container, run with real servers as a kubelet would run it."""

import itertools
import os
import shlex
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager

import pytest
import valkey

from authorities import authority
from golden.orders import NODE, NODE_UID, orders
from integration.valkey.programs import server_program
from integration.valkey.servers import free_port
from valkey_operator.core.certificates import Files
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
        for name in ("conf", "acl", "announce", "tls", "data"):
            (directory / name).mkdir()
        self.write("conf/valkey.conf", self.here(server_config({})))
        self.spec = {}
        self.write("acl/users.acl", ACL)
        self.write("acl/replication.conf", REPLICATION)

    def write(self, path, text):
        (self.directory / path).write_text(text)

    def here(self, text):
        return text.replace("/etc/valkey", str(self.directory)).replace("/data", str(self.directory / "data"))

    def secure(self):
        """With TLS from now on: the certificate."""
        self.spec = {"tls": {"certificate": {"secretName": "orders-cert"}}}
        self.write("conf/valkey.conf", self.here(server_config({}, tls=True)))
        pair = authority("A").issue("valkey-orders.shop.svc")
        files = Files(pair.certificate, pair.key, authority("A").certificate)
        self.write(f"tls/{files.certificate_file}", files.certificate)
        self.write(f"tls/{files.key_file}", files.key)
        self.write(f"tls/{files.authorities_file}", files.authorities)
        return files

    @contextmanager
    def running(self, *arguments, port=6379):
        """A client of the server."""
        cluster = orders(containers=[{"name": "server", "args": ["--bind", self.ip, *arguments]}], **self.spec)
        template = workload(cluster, ServerWorkload(index=NODE, owner_uid=NODE_UID, digest=""))["spec"]["template"]
        container = template["spec"]["containers"][0]
        words = [self.here(word).replace("$(POD_IP)", self.ip) for word in (*container["command"], *container["args"])]
        words[words.index("valkey-server")] = self.program()
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=os.environ | {"POD_IP": self.ip})
        trust = {"ssl": True, "ssl_ca_certs": str(self.directory / "ca.crt"), "ssl_check_hostname": False} if self.spec else {}
        (self.directory / "ca.crt").write_text(authority("A").certificate)
        try:
            with valkey.Valkey(self.ip, port, **trust) as client:
                until_answers(client)
                yield client
        finally:
            process.terminate()
            process.wait()

    def program(self):
        """A program of one word, as in an image."""
        program = self.directory / "valkey-server"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(server_program(self.version))} "$@"\n')
        program.chmod(0o755)
        return str(program)


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


def test_an_ipv6_address_is_no_host_name_so_the_pods_name_stands_for_it(pod):
    pod.ip, port = "::1", free_port("::1")
    with pod.running("--port", str(port), "--cluster-port", str(port + 10000), port=port) as client:
        said = client.config_get("cluster-announce-*")
    assert said["cluster-announce-ip"] == "::1"
    assert said["cluster-announce-hostname"] == "valkey-orders-1-0-0.valkey-orders.shop.svc"


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


@pytest.fixture
def secured(tmp_path):
    return Pod(tmp_path, "9.1")


def test_with_tls_there_is_no_plain_port_and_the_files_that_are_there_are_loaded(secured):
    files = secured.secure()
    with secured.running() as client:
        said = client.config_get("tls-*")
        assert client.config_get("port") == {"port": "0"}
        with valkey.Valkey(secured.ip) as plain, pytest.raises(valkey.ConnectionError):
            plain.ping()
    assert {key: said[key] for key in files.settings()} == {key: secured.here(value) for key, value in files.settings().items()}
    assert (said["tls-cluster"], said["tls-replication"], said["tls-auth-clients"]) == ("yes", "yes", "no")


def test_the_bus_asks_for_a_certificate_though_clients_need_none(secured):
    secured.secure()
    context = ssl.create_default_context(cadata=authority("A").certificate)
    with secured.running(), pytest.raises(ssl.SSLError, match="certificate required"):
        shake_hands(context, secured.ip, 16379)


def shake_hands(context, host, port):
    """The first word from the other side; in TLS 1.3 it may be that a certificate was wanted."""
    with (
        socket.create_connection((host, port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="valkey-orders.shop.svc") as secured,
    ):
        return secured.recv(1)
