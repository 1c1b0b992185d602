import json
from dataclasses import replace

from unit.outside.given import seen
from valkey_operator.outside.seen import Dial, Failure, Seen, read, written


def test_what_a_pod_has_seen_comes_back_as_it_was():
    there = [
        *seen(at_0_0={"refused": ("GET",), "redirect": None}),
        Seen("a", 1, (Dial(ip="192.0.2.1", failure=Failure.EXPIRED, detail="x"),)),
        Seen("b", 2, (), "no such name"),
    ]
    back = read(json.loads(json.dumps(written(there))))
    assert list(back) == there
    assert back[-2].dials[0].failure is Failure.EXPIRED
    assert replace(back[-1], detail="") != there[-1]


def test_what_all_servers_tell_is_written_once():
    content = written(seen())
    assert len(content["told"]) == 1
    assert len(content["seen"]) == 7
