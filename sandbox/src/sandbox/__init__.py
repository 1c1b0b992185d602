"""A real Kubernetes of several nodes on one Linux machine."""
