"""What users write: the ValkeyCluster and ValkeyNode resources, as frozen models and as CRDs."""
