"""A real Kubernetes of several nodes on one Linux machine, for the operator's demo and tests."""
