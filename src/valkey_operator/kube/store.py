"""The last known views of one kind of objects, found by name or by index."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from valkey_operator.kube.kinds import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

V = TypeVar("V")


class Store(Generic[V]):
    """Views by key, filled by one reflector and read by everybody; a view that is equal to the last one is no change."""

    def __init__(self, *, index: Callable[[V], Iterable[Hashable]] | None = None) -> None:
        """`index` gives the keys under which `by` finds a view: its owner, its cluster, …."""
        self.synced = asyncio.Event()
        """Set once everything was listed; from then on absence means that there is none."""
        self.unreadable: dict[Key, str] = {}
        """Objects that could not be made sense of, and why. Their last readable view, if there was one, stays in the store."""
        self._index = index
        self._views: dict[Key, V] = {}
        self._indexed: dict[Hashable, dict[Key, V]] = {}
        self._listeners: list[Callable[[V | None, V | None], None]] = []

    def get(self, namespace: str, name: str) -> V | None:
        """The view of that object; None if there is none, or none that `project` wants."""
        return self._views.get(Key(namespace, name))

    def all(self) -> tuple[V, ...]:
        """All views."""
        return tuple(self._views.values())

    def by(self, index_key: Hashable) -> tuple[V, ...]:
        """The views that `index` put under that key, in the order of their keys (namespace, name)."""
        found = self._indexed.get(index_key)
        return tuple(found[key] for key in sorted(found)) if found else ()

    def keys(self) -> frozenset[Key]:
        """The keys of all views, and of all objects that could not be read."""
        return frozenset(self._views) | frozenset(self.unreadable)

    def __len__(self) -> int:
        return len(self._views)

    def subscribe(self, on_change: Callable[[V | None, V | None], None]) -> None:
        """Call `on_change(old, new)` at each change from now on, after the store shows it; None stands for absent. It must not raise."""
        self._listeners.append(on_change)

    def put(self, key: Key, view: V | None) -> None:
        """Make `view` what is known of that object (None: nothing) and tell those who listen, if that is a change."""
        self.unreadable.pop(key, None)
        old = self._views.get(key)
        if old == view:
            return
        if old is not None:
            del self._views[key]
            for under in self._keys_of(old):
                found = self._indexed[under]
                found.pop(key, None)
                if not found:
                    del self._indexed[under]
        if view is not None:
            self._views[key] = view
            for under in self._keys_of(view):
                self._indexed.setdefault(under, {})[key] = view
        for listener in self._listeners:
            listener(old, view)

    def clear(self) -> None:
        """Know of no object any more, and tell those who listen."""
        for key in self.keys():
            self.put(key, None)

    def _keys_of(self, view: V) -> frozenset[Hashable]:
        return frozenset(self._index(view)) if self._index else frozenset()
