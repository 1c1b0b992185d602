import json
import os

import pytest

from e2e import builds, libraries
from e2e.clients import page
from integration.valkey.programs import cli_program

RESULTS = pytest.StashKey()


@pytest.fixture(scope="session")
def tried():
    """The libraries whose tools are there, their programs built."""
    found = [library for library in libraries.ALL if not builds.missing(library.language)]
    for library in found:
        builds.command(library.name)
    return found


@pytest.fixture(autouse=True)
def cli(monkeypatch):
    monkeypatch.setenv("VALKEY_CLI", json.dumps(cli_program()))


@pytest.fixture(scope="session")
def results(request):
    """What is found goes into the summary, and with UPDATE=1 into docs/clients.md."""
    return request.config.stash.setdefault(RESULTS, page.Results())


def pytest_sessionfinish(session, exitstatus):
    if os.environ.get("UPDATE") == "1" and exitstatus == 0:
        found = session.config.stash[RESULTS]
        assert found.are_complete(), "not every library was tried: docs/clients.md stays as it is"
        page.rewrite(found)


def pytest_terminal_summary(terminalreporter, config):
    found = config.stash.get(RESULTS, None)
    if found is not None:
        terminalreporter.write_line(found.table())
    for language in builds.TOOLS:
        if tools := builds.missing(language):
            names = ", ".join(library.title for library in libraries.ALL if library.language == language)
            terminalreporter.write_line(f"not tried, since {' and '.join(tools)} cannot be found: {names} ({language})")
