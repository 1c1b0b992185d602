"""What the operator reads of an object's metadata."""

from __future__ import annotations

from collections.abc import Mapping  # pydantic reads annotations at run time
from typing import Any

from pydantic import Field

from valkey_operator.api.model import Model


class Metadata(Model):
    """Who an object is."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str = ""
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    deletion_timestamp: str | None = None

    @property
    def deleting(self) -> bool:
        """Whether somebody has deleted the object and only finalizers keep it."""
        return self.deletion_timestamp is not None

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Metadata:
        """The metadata of an object as the API server stores it."""
        return cls.read(obj["metadata"], path="metadata")
