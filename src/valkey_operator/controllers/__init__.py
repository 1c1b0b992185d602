"""Where kube, valkey, core and manifests meet: observe, decide, perform."""
