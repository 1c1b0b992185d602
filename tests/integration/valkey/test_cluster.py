"""Six servers become a cluster by the commands of the layer alone, with the users and rights that the operator gives itself."""

import asyncio
import time

import pytest

from integration.valkey.servers import FORMING
from valkey_operator.valkey.address import Credentials
from valkey_operator.valkey.commands import (
    CLUSTER_SLOTS,
    MYID,
    add_slots,
    config_set,
    failover,
    forget,
    meet,
    replicate,
    reset,
    set_config_epoch,
)
from valkey_operator.valkey.errors import ServerError
from valkey_operator.valkey.look import look
from valkey_operator.valkey.slots import ALL
from valkey_operator.valkey.topology import Endpoint

OPERATOR = Credentials("_operator", "correct-horse")
OPERATOR_RIGHTS = (
    "+ping +info +acl|load +config|get +config|set +client|kill +cluster|myid +cluster|myshardid +cluster|info +cluster|nodes +cluster|slots "
    "+cluster|meet +cluster|addslotsrange +cluster|set-config-epoch +cluster|replicate +cluster|forget +cluster|failover +cluster|reset "
    "%R~waited-at* +xread"
)
USERS = f"""\
user default off
user _operator on >{OPERATOR.password} -@all {OPERATOR_RIGHTS}
user _replication on >battery -@all +psync +replconf +ping
"""


def write_users(server):
    (server.directory / "users.acl").write_text(USERS)
    (server.directory / "replication.conf").write_text("primaryuser _replication\nprimaryauth battery\n")
    (server.directory / "valkey.conf").write_text(
        f"aclfile users.acl\ninclude {server.directory}/replication*.conf\ncluster-preferred-endpoint-type hostname\n"
    )


def closed_servers(lab, count, version="9.1"):
    made = []
    for _ in range(count):
        host = lab.next_host()
        arguments = ("--cluster-announce-ip", host, "--cluster-announce-hostname", host, *FORMING)
        made.append(lab.server(version, arguments, host=host, credentials=OPERATOR, prepare=write_users))
    return made


async def until(true, *, seconds=10.0):
    """How long it took until the question was answered with yes."""
    began = time.monotonic()
    while not await true():
        if time.monotonic() - began > seconds:
            raise AssertionError(f"not so within {seconds} s: {true.__name__}")
        await asyncio.sleep(0.02)
    return time.monotonic() - began


async def form(servers, nodes, *, primaries):
    """A cluster of `primaries` shards; the nodes after them are their replicas, in turn."""
    ids = [node_id for (node_id,) in await asyncio.gather(*(servers.ask(node.address, MYID) for node in nodes))]
    await asyncio.gather(
        *(
            servers.ask(node.address, add_slots(part), set_config_epoch(index + 1))
            for index, (node, part) in enumerate(zip(nodes[:primaries], ALL.split(primaries), strict=True))
        )
    )
    everybody = [[meet(other.host, port=other.port, bus_port=16379) for other in nodes if other is not node] for node in nodes]
    await asyncio.gather(*(servers.ask(node.address, *meets) for node, meets in zip(nodes, everybody, strict=True)))

    async def follows(index):
        (answer,) = await servers.ask_each(nodes[index].address, replicate(ids[index % primaries]))
        return not isinstance(answer, ServerError)

    await asyncio.gather(*(until(lambda index=index: follows(index)) for index in range(primaries, len(nodes))))
    await until(lambda: whole(servers, nodes))
    return ids


async def whole(servers, nodes):
    seen = await asyncio.gather(*(look(servers, node.address) for node in nodes))
    return all(one.state == "ok" and one.link_up and one.known_nodes == len(nodes) for one in seen)


async def told(servers, node):
    (entries,) = await servers.ask(node.address, CLUSTER_SLOTS)
    return {endpoint for entry in entries for endpoint in (entry.primary, *entry.replicas)}


@pytest.mark.parametrize("version", ["8.1", "9.0", "9.1"])
async def test_forms_a_cluster_with_the_least_rights(lab, servers, version):
    nodes = closed_servers(lab, 6, version)
    ids = await form(servers, nodes, primaries=3)
    seen = [await look(servers, node.address) for node in nodes]
    assert [str(one.slots) for one in seen] == ["0-5460", "5461-10921", "10922-16383", "", "", ""]
    assert [one.myself.primary_id for one in seen[3:]] == ids[:3]
    assert len({one.shard_id for one in seen}) == 3
    assert seen[0].attached[0].ip == nodes[3].host


async def test_announces_host_address_and_port_in_one_step(lab, servers):
    nodes = closed_servers(lab, 2)
    ids = await form(servers, nodes, primaries=1)

    async def everybody_tells(expected):
        return [await told(servers, node) for node in nodes] == [expected, expected]

    inside = {Endpoint(node.host, 6379, node_id) for node, node_id in zip(nodes, ids, strict=True)}
    await until(lambda: everybody_tells(inside))
    outside = {Endpoint(f"n{index}.example.com", 31200 + index, node_id) for index, node_id in enumerate(ids)}
    for index, node in enumerate(nodes):
        pair = {"cluster-announce-hostname": f"n{index}.example.com", "cluster-announce-client-port": f"{31200 + index}"}
        await servers.ask(node.address, config_set({**pair, "cluster-announce-client-ipv4": f"192.0.2.{index}"}))
    await until(lambda: everybody_tells(outside))
    seen = await look(servers, nodes[0].address)
    assert {(member.ip, member.port, member.bus_port) for member in seen.members} == {
        ("192.0.2.0", 31200, 16379),
        ("192.0.2.1", 31201, 16379),
    }
    assert (await look(servers, nodes[1].address)).link_up


async def test_a_replica_takes_over_by_force_at_once_when_its_primary_is_dead(lab, servers):
    nodes = closed_servers(lab, 6)
    await form(servers, nodes, primaries=3)
    await asyncio.gather(*(servers.ask(node.address, config_set({"cluster-node-timeout": "15000"})) for node in nodes))
    nodes[0].kill()
    await servers.ask(nodes[3].address, failover("FORCE"))

    async def promoted():
        return (await look(servers, nodes[3].address)).primary

    assert await until(promoted) < 2
    assert str((await look(servers, nodes[3].address)).slots) == "0-5460"


async def test_a_wiped_server_leaves_a_ghost_until_it_is_forgotten(lab, servers):
    nodes = closed_servers(lab, 6)
    ids = await form(servers, nodes, primaries=3)
    nodes[5].kill()
    nodes[5].wipe()
    write_users(nodes[5])
    nodes[5].start()
    ((new_id),) = await servers.ask(nodes[5].address, MYID)

    async def ghost():
        return next((member for member in (await look(servers, nodes[0].address)).members if member.id == ids[5]), None)

    async def without_address():
        return "noaddr" in (await ghost()).flags

    await until(without_address)
    assert new_id not in {member.id for member in (await look(servers, nodes[0].address)).members}
    await asyncio.gather(*(servers.ask(node.address, forget(ids[5])) for node in nodes[:5]))
    assert await ghost() is None


async def test_a_replica_becomes_a_stranger_by_a_hard_reset(lab, servers):
    nodes = closed_servers(lab, 2)
    ids = await form(servers, nodes, primaries=1)
    await servers.ask(nodes[1].address, reset(hard=True))
    seen = await look(servers, nodes[1].address)
    assert seen.id != ids[1]
    assert (seen.primary, seen.known_nodes, seen.state) == (True, 1, "fail")


async def test_unknown_primaries_are_refused_in_words(lab, servers):
    (answer,) = await servers.ask_each(closed_servers(lab, 1)[0].address, replicate("0" * 40))
    assert str(answer) == f"ERR Unknown node {'0' * 40}"
