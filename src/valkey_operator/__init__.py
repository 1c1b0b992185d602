"""A Kubernetes operator for Valkey clusters whose clients live outside Kubernetes."""
