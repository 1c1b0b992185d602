"""Command lines: `valkey-operator`."""
