import subprocess
import sys

import pytest
from click.testing import CliRunner

from valkey_operator.cli.kubectl_valkey import main

SLOW = {"pydantic", "lightkube", "valkey", "httpx2", "cryptography", "prometheus_client"}


def test_help_names_the_commands():
    printed = CliRunner().invoke(main, ["--help"]).output
    assert "check" in printed
    assert "endpoints" in printed


@pytest.mark.parametrize("command", [[], ["check"], ["endpoints"]], ids=" ".join)
def test_nothing_that_is_slow_to_import_is_imported(command):
    """Start in under 0.3 s comes from this."""
    words = [*command, "--help"]
    program = f"import sys\nfrom valkey_operator.cli.kubectl_valkey import main\nmain({words}, standalone_mode=False)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert SLOW & set(done.stdout.splitlines()[-1].split()) == set()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["check", "orders", "--user", "app"], "--user needs --password-file"),
        (["check", "orders", "--from-pod", "--password-file", "-"], "a pod logs in as Secret CLUSTER-connection says"),
        (["check", "orders", "--image", "x"], "--image goes with --from-pod"),
        (["check", "orders", "--timeout", "0"], "0.0 is not in the range"),
        (["check"], "Missing argument 'CLUSTER'"),
        (["endpoints", "orders", "--client", "glide", "-o", "json"], "--client prints code"),
        (["endpoints", "orders", "--client", "predis"], "'predis' is not one of"),
        (["fix", "orders"], "No such command 'fix'"),
    ],
)
def test_words_that_make_no_sense_are_refused_with_exit_code_2(words, complaint):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert complaint in done.output


def test_without_kubectl_it_is_said_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = CliRunner().invoke(main, ["check", "orders"])
    assert done.exit_code == 2
    assert "there is no kubectl on the PATH" in done.output
