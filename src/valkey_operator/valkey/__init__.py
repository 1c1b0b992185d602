"""Valkey, without any knowledge of Kubernetes: connections, typed commands, parsers, slots."""
