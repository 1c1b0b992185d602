import itertools

import pytest
from valkey.exceptions import ClusterDownError

from demo import client
from demo.client import Application


class Cluster:
    """Answers from a dictionary; fails when it is told to, or forgets what it has acknowledged."""

    def __init__(self, *, failures=0, forgets=()):
        self.values = {}
        self.failures = failures
        self.forgets = forgets

    def execute_command(self, name, key, *value):
        if self.failures:
            self.failures -= 1
            raise ClusterDownError("CLUSTERDOWN The cluster is down")
        if name == "SET":
            self.values[key] = None if key in self.forgets else value[0]
            return "OK"
        return self.values.get(key)


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(client, "PAUSE", 0.0)


def work(cluster, keys=4):
    application = Application(cluster, prefix="demo", per_second=1e6)
    done = list(application.work(iter(range(keys))))
    return application, done


def test_it_writes_and_reads_every_key():
    application, done = work(Cluster())
    assert done == [1, 2, 3, 4]
    assert application.record.told() == {
        "errors": 0,
        "words": {},
        "worst_gap": application.record.worst_gap,
        "lost": 0,
    }
    assert application.missing() == 0


def test_a_failed_command_is_repeated_and_counted():
    application, done = work(Cluster(failures=3))
    assert len(done) == 4
    assert application.record.errors == {"ClusterDownError: CLUSTERDOWN The cluster is down": 3}


def test_a_write_that_was_acknowledged_and_is_gone_counts_as_lost():
    application, _ = work(Cluster(forgets={"demo:0002"}))
    assert application.record.lost == 1
    assert application.missing() == 1


def test_it_gives_up_when_a_command_fails_for_too_long(monkeypatch):
    monkeypatch.setattr(client, "PATIENCE", 0.0)
    with pytest.raises(ClusterDownError):
        work(Cluster(failures=9))


def test_the_time_that_it_waits_on_purpose_is_no_gap(monkeypatch):
    clock = itertools.count()
    monkeypatch.setattr(client.time, "monotonic", lambda: next(clock) * 0.001)
    monkeypatch.setattr(client.time, "sleep", lambda seconds: [next(clock) for _ in range(int(seconds * 1000))])
    application = Application(Cluster(), prefix="demo", per_second=10)
    list(application.work(iter(range(3))))
    assert application.record.worst_gap < 0.01
