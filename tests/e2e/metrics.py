"""What a program tells Prometheus."""

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

PORT = 8080


def samples(ip: str, name: str) -> list[tuple[dict[str, str], float]]:
    """The labels and the value of each series of one metric, as the program at this address tells it now."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://{ip}:{PORT}/metrics", timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return [(sample.labels, sample.value) for family in families for sample in family.samples if sample.name == name]
