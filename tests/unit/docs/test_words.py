import re

import pytest
from prometheus_client import CollectorRegistry

from pages import ROOT
from valkey_operator.api.conditions import Reason
from valkey_operator.app.metrics import ClusterMetrics, EngineMetrics
from valkey_operator.outside.clients import CLIENTS
from valkey_operator.outside.verdict import Problem

SOURCE = ROOT / "src/valkey_operator"
TROUBLESHOOTING = (ROOT / "docs/troubleshooting.md").read_text()
PLUGIN = (ROOT / "docs/kubectl-valkey.md").read_text()
METRICS = (ROOT / "docs/metrics.md").read_text()

REGISTRY = CollectorRegistry()
EngineMetrics("1.2.3", REGISTRY)
ClusterMetrics(REGISTRY)


def told():
    """The reasons that the operator can tell: those that its sources name."""
    sources = [
        path for part in ("api", "core", "controllers") for path in (SOURCE / part).glob("*.py") if path.name != "conditions.py"
    ]
    named = {name for path in sources for name in re.findall(r"\bReason\.([A-Z_]+)\b", path.read_text())}
    return sorted(Reason[name].value for name in named)


@pytest.mark.parametrize("reason", told())
def test_troubleshooting_says_what_to_do_about_every_reason(reason):
    assert f"`{reason}`" in TROUBLESHOOTING


def test_troubleshooting_knows_no_reason_that_is_never_told():
    rows = re.findall(r"^\| (`[A-Z].*?) \|", TROUBLESHOOTING, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([A-Z][a-z]\w+)`", row)}
    assert documented - set(told()) == set()


@pytest.mark.parametrize("problem", list(Problem))
def test_the_plugins_page_tells_every_problem(problem):
    assert f"`{problem.value}`" in PLUGIN


def test_the_plugins_page_tells_no_problem_that_is_none():
    rows = re.findall(r"^\| (`[A-Z].*?) \|", PLUGIN, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {problem.value for problem in Problem}


def test_the_plugins_page_tells_every_client_library():
    assert [name for name in CLIENTS if f"`{name}`" not in PLUGIN] == []


@pytest.mark.parametrize("metric", list(REGISTRY.collect()), ids=lambda metric: metric.name)
def test_every_metric_has_its_row(metric):
    suffix = {"counter": "_total", "info": "_info"}.get(metric.type, "")
    assert f"| `{metric.name}{suffix}` |" in METRICS


def test_no_row_is_of_a_metric_that_is_none():
    rows = re.findall(r"^\| `(valkey_operator_\w+?)(?:_total|_info)?` \|", METRICS, re.MULTILINE)
    assert set(rows) - {metric.name for metric in REGISTRY.collect()} == set()
