import pytest

from sandbox.debian import Source, mirror, one_line_sources, stanza_sources
from sandbox.errors import SandboxError

STANZAS = """\
# comment
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://security.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/
Suites: bookworm

Types: deb-src
URIs: http://source.example/
Suites: bookworm
"""


def test_reads_enabled_binary_sources_of_stanzas():
    assert stanza_sources(STANZAS) == [
        Source(uri="http://mirror.example/debian", suites=("bookworm", "bookworm-updates")),
        Source(uri="http://security.example/debian-security", suites=("bookworm-security",)),
    ]


def test_reads_values_that_go_on_in_the_next_line():
    text = "Types: deb\nURIs:\n http://one.example/\n http://two.example/\nSuites: bookworm\n"

    assert [source.uri for source in stanza_sources(text)] == ["http://one.example/", "http://two.example/"]


def test_reads_one_line_sources_with_and_without_options():
    text = """\
# deb http://commented.example/ bookworm main
deb http://security.example/ bookworm-security main
deb [arch=amd64 signed-by=/a/key.gpg] http://mirror.example/debian bookworm main contrib
deb-src http://mirror.example/debian bookworm main
"""

    assert one_line_sources(text) == [
        Source(uri="http://security.example/", suites=("bookworm-security",)),
        Source(uri="http://mirror.example/debian", suites=("bookworm",)),
    ]


def test_the_mirror_is_the_one_of_the_release_and_never_that_of_its_security_updates():
    sources = [Source(uri="http://security.example/", suites=("bookworm-security",)), *stanza_sources(STANZAS)]

    assert mirror(sources, codename="bookworm") == "http://mirror.example/debian"


def test_says_so_when_no_source_serves_the_release():
    with pytest.raises(SandboxError, match="no apt source of this machine serves Debian trixie"):
        mirror(stanza_sources(STANZAS), codename="trixie")
