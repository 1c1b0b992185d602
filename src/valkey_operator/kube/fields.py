"""What of a live object is ours, and whether that is what we want: pure.

The API server keeps, per field manager, a tree of the fields it owns in `metadata.managedFields[].fieldsV1`: `f:name` is a field, `k:{…}` the
item of an associative list with those keys, `v:…` an item of a set, `.` the node itself, `{}` a leaf (an atomic list or map is one).
https://kubernetes.io/docs/reference/using-api/server-side-apply/
"""

from __future__ import annotations

import hashlib
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

APPLIED = "valkey.io/applied"
"""The annotation that carries the hash of the body last applied: it tells what comparing cannot, that a field was left out since."""

_MERGE_KEYS = ("name", "port", "containerPort", "mountPath", "uid", "key", "type", "topologyKey", "ip")
_QUANTITIES = frozenset({"requests", "limits", "capacity", "hard", "sizeLimit", "divisor"})
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(|[KMGTPE]i|[numkMGTPE])")
_BOOKKEEPING = ("generation", "deletionGracePeriodSeconds")
_SUFFIXES: Mapping[str, Decimal] = {
    **{suffix: Decimal(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), start=-3)},
}


def owned(live: Mapping[str, Any], manager: str, *, subresource: str = "") -> dict[str, Any]:
    """The part of a live object that `manager` owns, whole or through `subresource`; read-only, it shares with `live`.

    Identity (apiVersion, kind, name, namespace, uid) is always in it. So are numbers and switches that others set beside our fields:
    Kubernetes leaves out zero values, so an absent field would otherwise say both "false, as we want it" and "somebody made it true".
    """
    tree: dict[str, Any] = {}
    for entry in live["metadata"].get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("subresource", "") == subresource:
            tree = _united(tree, entry.get("fieldsV1") or {})
    mine: dict[str, Any] = _selected(live, tree) if tree else {}
    identity = {key: live["metadata"][key] for key in ("name", "namespace", "uid") if key in live["metadata"]}
    kind = {key: live[key] for key in ("apiVersion", "kind") if key in live}
    metadata = {key: value for key, value in mine.get("metadata", {}).items() if key not in _BOOKKEEPING}
    return {**kind, **mine, "metadata": {**metadata, **identity}}


def adopted(live: Mapping[str, Any], manager: str) -> list[dict[str, Any]] | None:
    """The managedFields in which all that `manager` owns by creating or updating is owned by applying; None if it is so already."""
    entries = live["metadata"].get("managedFields") or []
    updates = [entry for entry in entries if _is_of(entry, manager, "Update")]
    if not updates:
        return None
    applies = [entry for entry in entries if _is_of(entry, manager, "Apply")]
    fields: dict[str, Any] = {}
    for entry in (*applies, *updates):
        fields = _united(fields, entry.get("fieldsV1") or {})
    merged = {**(applies or updates)[0], "operation": "Apply", "fieldsV1": fields}
    return [merged, *(entry for entry in entries if entry not in updates and entry not in applies)]


def covers(live: object, desired: object) -> bool:
    """Whether `live` says all that `desired` says: `is everything that we want there?`, not `is there nothing else?`.

    Maps are compared field by field, lists item by item (those of named items in any order), quantities by their value; absent, null,
    empty, false and 0 are the same thing.
    """
    return _covers(live, desired, numeric=False)


def stamped(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body with its hash in an annotation, so that what it no longer says is seen later. `metadata.uid` does not count."""
    metadata = body["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != APPLIED}
    said = {key: value for key, value in metadata.items() if key not in ("uid", "resourceVersion")}
    text = json.dumps({**body, "metadata": {**said, "annotations": annotations}}, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {**body, "metadata": {**metadata, "annotations": {**annotations, APPLIED: digest}}}


def is_current(live_owned: Mapping[str, Any], stamped_body: Mapping[str, Any]) -> bool:
    """Whether applying `stamped_body` would change nothing: it was the last that we applied, and nobody changed what it says."""
    want = stamped_body["metadata"]["annotations"][APPLIED]
    have = (live_owned["metadata"].get("annotations") or {}).get(APPLIED)
    return bool(want == have) and covers(live_owned, stamped_body)


def quantity(value: object) -> Decimal | None:
    """The number that a Kubernetes quantity means: "500m" is 0.5, "1Gi" 1073741824, "12e6" 12000000; None for anything else."""
    match = _QUANTITY.fullmatch(str(value))
    return Decimal(match[1]) * _SUFFIXES[match[2]] if match else None


def _is_of(entry: Mapping[str, Any], manager: str, operation: str) -> bool:
    return entry.get("manager") == manager and entry.get("operation") == operation and not entry.get("subresource")


def _united(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both sets of fields. A leaf that the other has children of stays a member by its "."."""
    result = dict(one)
    for key, children in other.items():
        if key not in result:
            result[key] = children
        elif bool(result[key]) != bool(children):
            result[key] = {".": {}, **result[key], **children}
        else:
            result[key] = _united(result[key], children)
    return result


def _selected(live: Any, fields: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    if not fields:
        return live
    if isinstance(live, dict):
        mine = {}
        for name, value in live.items():
            if f"f:{name}" in fields:
                mine[name] = _selected(value, fields[f"f:{name}"])
            elif isinstance(value, (bool, int, float)) and value:
                mine[name] = value
        return mine
    if isinstance(live, list):
        return _selected_items(live, fields)
    return live


def _selected_items(live: Sequence[Any], fields: Mapping[str, Any]) -> list[Any]:
    keyed = [(json.loads(path[2:]), children) for path, children in fields.items() if path.startswith("k:")]
    values = [json.loads(path[2:]) for path in fields if path.startswith("v:")]
    mine = []
    for index, item in enumerate(live):
        if f"i:{index}" in fields:
            mine.append(_selected(item, fields[f"i:{index}"]))
        elif isinstance(item, dict):
            for keys, children in keyed:
                if all(item.get(name) == value for name, value in keys.items()):
                    mine.append({**_selected(item, children), **keys})
                    break
        elif item in values:
            mine.append(item)
    return mine


def _covers(live: Any, desired: Any, *, numeric: bool) -> bool:  # noqa: ANN401 - any JSON values
    if not desired and not live:
        return True
    if isinstance(desired, dict):
        there = {} if live is None else live
        return isinstance(there, dict) and all(
            _covers(there.get(name), value, numeric=numeric or name in _QUANTITIES) for name, value in desired.items()
        )
    if isinstance(desired, (list, tuple)):
        return isinstance(live, list) and len(live) == len(desired) and _covers_items(live, desired, numeric=numeric)
    same = type(live) is type(desired) and bool(live == desired)
    return same or (numeric and _same_quantity(live, desired))


def _covers_items(live: Sequence[Any], desired: Sequence[Any], *, numeric: bool) -> bool:
    key = next((name for name in _MERGE_KEYS if _distinguishes(name, live) and _distinguishes(name, desired)), None)
    if key is None:
        return all(_covers(one, other, numeric=numeric) for one, other in zip(live, desired, strict=True))
    by_key = {item[key]: item for item in live}
    return all(_covers(by_key.get(item[key]), item, numeric=numeric) for item in desired)


def _distinguishes(name: str, items: Iterable[Any]) -> bool:
    keys = [item.get(name) if isinstance(item, dict) else None for item in items]
    return all(isinstance(key, (str, int)) for key in keys) and len(set(keys)) == len(keys)


def _same_quantity(one: object, other: object) -> bool:
    left, right = quantity(one), quantity(other)
    return left is not None and left == right
