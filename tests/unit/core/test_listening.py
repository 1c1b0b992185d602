from unit.core.edits import promoted, silent
from unit.core.given import NODES, observed
from valkey_operator.core.listening import listening
from valkey_operator.core.topology import Topology

P0, R0, P1, R1, P2, R2 = NODES
WHOLE = observed()


def test_every_primary_is_listened_to_at_a_key_in_one_of_its_slots():
    found = listening(Topology.of(WHOLE))
    assert found == {P0: "_valkey-operator:1", P1: "_valkey-operator:0", P2: "_valkey-operator:2"}


def test_after_a_failover_the_new_primary_is_listened_to():
    assert listening(Topology.of(promoted(WHOLE, R1, over=P1))).keys() == {P0, R1, P2}


def test_nobody_listens_to_a_server_that_does_not_answer():
    assert listening(Topology.of(silent(WHOLE, P0))).keys() == {P1, P2}
