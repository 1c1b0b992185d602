from valkey_operator.valkey.look import Look
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.topology import members


def test_knows_its_own_slots(captured):
    look = Look(
        id="a2b3ff78d56eb01e674df1fb24982d3e00040412",
        shard_id="3cc8cc4edc37328a8099ba136cf1b1227b4875da",
        run_id="r",
        version=(9, 1, 2),
        uptime_seconds=4,
        primary=True,
        link_up=True,
        offset=14,
        attached=(),
        loading=False,
        state="ok",
        slots_assigned=16384,
        known_nodes=6,
        current_epoch=5,
        members=members(captured("9.1", "nodes-formed")),
        config={},
    )
    assert look.myself.id == "a2b3ff78d56eb01e674df1fb24982d3e00040412"
    assert look.slots == Slots.parse("0-5460")
