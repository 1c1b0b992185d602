"""Which version a configuration is written for: a key that a server does not know stops it at its start, before it can tell its version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from valkey_operator.core import names, settings
from valkey_operator.core.observed import Server

if TYPE_CHECKING:
    from valkey_operator.core.names import NodeIndex
    from valkey_operator.core.observed import Cluster, Observed

Version = tuple[int, ...]

_FIRST = 7
"""The first Valkey is 7.2: a tag with a lower number counts something else."""
_UNKNOWN: Version = (0, 0)
_VERSION = re.compile(r"v?(?P<numbers>\d+(?:\.\d+)*)(?:[-_].*)?")


def of_file(observed: Observed, index: NodeIndex) -> Version:
    """The oldest version that may read a node's announce file: that of the server that runs, or of the one to be started.

    The older one of what the node's server told last (of a node that told nothing yet: any node's server) and of what the image's tag says, if
    it is a version. An image whose tag says nothing, or not the truth, may be older than that: a server of it that has stopped at one of the
    keys in question, as its last words tell, is started without all of them.
    """
    pod = observed.pods.get(index)
    if pod is not None and pod.trouble is not None and settings.CLIENT_KEYS in pod.trouble.message:
        return _UNKNOWN
    ran = _ran(observed, index) or min((told for other in observed.records if (told := _ran(observed, other))), default=None)
    return min((version for version in (ran, _tagged(_image(observed.cluster))) if version is not None), default=_UNKNOWN)


def _ran(observed: Observed, index: NodeIndex) -> Version | None:
    """The version of a node's server, of a silent one that which it told last; None: it never told any."""
    server, record = observed.servers.get(index), observed.records.get(index)
    if isinstance(server, Server):
        return server.version
    return _parsed(record.status.version) if record is not None else None


def _image(cluster: Cluster) -> str:
    """The image of the servers to be started, which a patch of their container may name."""
    patch = next((patch for patch in cluster.spec.containers if patch["name"] == names.SERVER_CONTAINER), {})
    return str(patch.get("image") or cluster.spec.image)


def _tagged(image: str) -> Version | None:
    """The version that an image's tag tells; None where it tells none: `latest`, a digest alone, a count of its own."""
    tag = _parsed(image.partition("@")[0].rpartition("/")[2].partition(":")[2])
    return tag if tag is not None and tag[0] >= _FIRST else None


def _parsed(text: str) -> Version | None:
    match = _VERSION.fullmatch(text)
    return tuple(int(number) for number in f"{match['numbers']}.0".split(".")) if match is not None else None
