"""The user's containers: patches of ours by name, and further ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from valkey_operator.manifests.metadata import Manifest

# The lists whose items have a key, as in Kubernetes' own strategic merge patch; any other list is replaced as a whole.
_KEYS = {"env": "name", "ports": "containerPort", "volumeMounts": "mountPath", "volumeDevices": "devicePath"}

# Of these an object may have one: a patch that names another takes its place (an exec probe instead of our tcpSocket).
_EITHER = (frozenset({"exec", "grpc", "httpGet", "sleep", "tcpSocket"}), frozenset({"value", "valueFrom"}))


def with_users_containers(ours: Sequence[Manifest], theirs: Sequence[Mapping[str, Any]]) -> list[Manifest]:
    """Our containers, patched by those of theirs with the same name, followed by those of theirs that have another."""
    patches = {patch["name"]: patch for patch in theirs}
    patched = [merged(container, patches.pop(container["name"], {})) for container in ours]
    return patched + [dict(container) for container in patches.values()]


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Manifest:
    """`base` with what `patch` says: maps merged, keyed lists merged item by item, all else replaced; null removes."""
    dropped = {key for either in _EITHER if either & patch.keys() for key in either - patch.keys()}
    result = {key: value for key, value in base.items() if key not in dropped}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged_value(key, result.get(key), value)
    return result


def _merged_value(key: str, base: object, patch: object) -> object:
    if isinstance(base, dict) and isinstance(patch, dict):
        return merged(base, patch)
    if isinstance(base, list) and isinstance(patch, list) and key in _KEYS:
        return _merged_items(base, patch, key=_KEYS[key])
    return patch


def _merged_items(base: list[Manifest], patch: list[Manifest], *, key: str) -> list[Manifest]:
    items = {item.get(key): item for item in base}
    for item in patch:
        items[item.get(key)] = merged(items.get(item.get(key), {}), item)
    return list(items.values())
