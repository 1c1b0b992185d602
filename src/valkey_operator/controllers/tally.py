"""What the reconciler tells whoever counts: hooks for metrics, all of them quick and without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from valkey_operator.core.observed import Observed
    from valkey_operator.core.plan import Plan


class Tally:
    """Counts nothing; a subclass overrides what it wants to know of."""

    def planned(self, observed: Observed, plan: Plan) -> None:
        """A pass over a cluster was decided, and is about to be carried out."""

    def gone(self, namespace: str, name: str) -> None:
        """A cluster is no more."""


SILENT = Tally()
