import os
import subprocess
import sys

import pytest

from sandbox import processes
from sandbox.errors import SandboxError
from sandbox.processes import Process


@pytest.fixture
def started(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "RECORDS", tmp_path / "records")
    made = []

    def start(*command):
        made.append(processes.start("some", command, log=tmp_path / "some.log"))
        return made[-1]

    yield start
    processes.stop([process for process in made if process.is_alive()], grace=0)


def test_a_process_is_found_again_until_it_is_stopped(started):
    process = started("sleep", "1000")

    assert processes.find("some") == process
    processes.stop([process])
    assert processes.find("some") is None
    assert processes.recorded() == []


def test_a_number_that_another_process_has_by_now_is_nobody():
    mine = Process(name="me", pid=os.getpid(), started=1)

    assert not mine.is_alive()


def test_one_that_has_ended_but_was_not_collected_is_not_alive():
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    before = processes._started(child.pid)
    child.stdout.read()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

    assert before is not None
    assert processes._started(child.pid) is None
    child.wait()
    child.stdout.close()


def test_one_that_heeds_no_request_is_ended_by_force(started):
    process = started("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")

    processes.stop([process], grace=0.3)

    assert not process.is_alive()


def test_waiting_ends_with_the_last_words_of_a_process_that_has_ended(started):
    process = started("sh", "-c", "echo the reason")

    with pytest.raises(SandboxError, match=r"(?s)some ended while starting:\n  \| the reason"):
        processes.wait_until(lambda: False, needs=[process], what="it", timeout=5)


def test_waiting_ends_when_time_is_up(started):
    process = started("sh", "-c", "echo still trying; sleep 1000")

    with pytest.raises(SandboxError, match=r"(?s)the miracle did not come true within 0 s; some runs and says:"):
        processes.wait_until(lambda: False, needs=[process], what="the miracle", timeout=0.3)


def test_what_carries_the_mark_is_found_without_a_record(started):
    process = started("sleep", "1000")

    assert process.pid in [found.pid for found in processes.marked()]
