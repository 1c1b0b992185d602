"""Command lines: `valkey-operator` and `kubectl valkey`."""
