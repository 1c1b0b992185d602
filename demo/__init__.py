"""The demo: a Kubernetes, the operator, a ValkeyCluster, and a client outside that works through a failover."""
