import io
import re

import pytest

from sandbox.steps import Steps


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_step_is_told_once_it_has_succeeded():
    out = io.StringIO()

    with Steps(out).step("network is laid"):
        assert out.getvalue() == ""

    assert re.fullmatch(r"\[   0\.\d s\] network is laid \(0\.\d s\)\n", out.getvalue())


def test_a_step_that_fails_is_not_told():
    out = io.StringIO()

    with pytest.raises(RuntimeError), Steps(out).step("network is laid"):
        raise RuntimeError

    assert out.getvalue() == ""


def test_progress_is_redrawn_on_a_terminal_and_rare_elsewhere():
    terminal, file = Terminal(), io.StringIO()

    for out in (terminal, file):
        steps = Steps(out)
        for done in range(100):
            steps.progress("compiled packages", done=done, total=100)
        steps.say("done")

    assert "\r" in terminal.getvalue()
    assert len(file.getvalue().splitlines()) == 2
    assert "compiled packages: 0 of 100" in file.getvalue()
