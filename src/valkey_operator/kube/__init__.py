"""Kubernetes, without any knowledge of Valkey: client, reflectors, queue, controller, lease, events."""
