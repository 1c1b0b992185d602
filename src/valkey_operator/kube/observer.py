"""What the engine tells whoever counts: hooks for metrics, all of them quick and without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from valkey_operator.kube.kinds import Kind

Outcome = Literal["done", "later", "retried", "failed"]
Verb = Literal["create", "apply", "apply-status", "replace", "patch", "delete"]


class Observer:
    """Counts nothing; a subclass overrides what it wants to know of."""

    def reconciled(self, key: object, seconds: float, outcome: Outcome) -> None:
        """A reconcile ended: "done", "later" (asked to be woken), "retried" (a KubeError that may pass), "failed" (anything else)."""

    def queued(self, depth: int) -> None:
        """So many keys wait for a worker."""

    def wrote(self, kind: Kind, verb: Verb) -> None:
        """The API server carried out a write."""

    def answered(self, kind: Kind, verb: str, code: int, seconds: float) -> None:
        """A request ended; code 0 means that there was no answer."""

    def listed(self, kind: Kind, reason: str) -> None:
        """A reflector listed anew, and why."""

    def watch_ended(self, kind: Kind, reason: str) -> None:
        """A watch ended, and why: "server" (its timeout), "Idle", "Expired", "Connection", … ."""


SILENT = Observer()
