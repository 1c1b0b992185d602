import pytest

from valkey_operator.valkey.errors import Malformed
from valkey_operator.valkey.info import AttachedReplica, cluster_info, server_info

EXACT = {"8.1": (8, 1, 8), "9.0": (9, 0, 0), "9.1": (9, 1, 2)}


def test_reads_a_primary_of_every_version(captured, version):
    told = server_info(captured(version, "info-primary"))
    assert told.version == EXACT[version]
    assert (told.primary, told.link_up, told.primary_host, told.primary_port, told.loading) == (True, True, "", 0, False)
    assert [(replica.ip, replica.state) for replica in told.attached] == [("127.0.0.1", "online")]
    assert len(told.run_id) == 40
    assert told.uptime_seconds == 4


def test_reads_a_replica_of_every_version(captured, version):
    told = server_info(captured(version, "info-replica"))
    assert (told.primary, told.link_up, told.primary_host, told.attached) == (False, True, "127.0.0.1", ())
    assert told.primary_port > 21000


def test_a_replica_that_lost_its_primary_says_so(captured):
    reply = captured("9.1", "info-replica").replace("master_link_status:up", "master_link_status:down")
    assert not server_info(reply).link_up


def test_tells_how_far_each_replica_came(captured):
    reply = captured("9.1", "info-primary").replace("connected_slaves:1", "connected_slaves:2")
    reply += "slave1:ip=fd00::5,port=6379,state=wait_bgsave,offset=7,lag=1,type=replica\n"
    assert server_info(reply).attached[1] == AttachedReplica("fd00::5", 6379, "wait_bgsave", 7)


def test_a_server_before_the_name_valkey_tells_its_version_too(captured):
    reply = captured("9.1", "info-primary").replace("valkey_version:9.1.2\n", "")
    assert server_info(reply).version == (7, 2, 4)


def test_a_release_candidate_has_the_version_that_it_becomes(captured):
    reply = captured("9.1", "info-primary").replace("valkey_version:9.1.2", "valkey_version:9.2.0-rc1")
    assert server_info(reply).version == (9, 2, 0)


def test_reads_lines_as_they_come_over_the_wire(captured):
    assert server_info(captured("9.1", "info-primary").replace("\n", "\r\n")).version == (9, 1, 2)


def test_reads_cluster_info_of_every_version(captured, version):
    told = cluster_info(captured(version, "cluster-info"))
    assert (told.state, told.slots_assigned, told.slots_ok, told.known_nodes, told.size) == ("ok", 16384, 16384, 6, 3)
    assert told.current_epoch == 5
    assert told.my_epoch == 1


@pytest.mark.parametrize("reply", ["", "cluster_state:ok\r\n", None, "x"])
def test_says_so_when_facts_are_missing(reply):
    with pytest.raises(Malformed):
        cluster_info(reply)
    with pytest.raises(Malformed):
        server_info(reply)
