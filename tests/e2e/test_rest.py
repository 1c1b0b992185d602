"""A cluster at rest costs nothing: what is as it should be is not written again."""

import time

from e2e import api as kinds
from e2e import clusters


def test_nothing_but_the_lease_is_written_for_a_minute(steady, operator, api):
    """Nothing can be waited for here: the minute has to pass."""
    _wait_until_alone(api, steady)
    written, versions = operator.writes(), steady.versions()
    time.sleep(60)
    assert steady.versions() == versions
    assert operator.writes() == written


def test_a_second_apply_and_a_restart_of_the_operator_write_nothing_and_restart_nothing(steady, operator, api, kubernetes):
    """Story 7."""
    versions, identities = steady.versions(), steady.pod_identities()
    again = clusters.manifest("standing", steady.namespace, externalAccess=clusters.NODE_PORT | {"drainSeconds": 2})
    kubernetes.kubectl("apply", "--server-side", "--field-manager=e2e", "--filename", "-", text=clusters.text(again))
    _wait_until_alone(api, steady)
    operator.restart()
    time.sleep(20)
    changed = {name for name, version in steady.versions().items() if versions.get(name) != version}
    # The API server notes who applied what in the object itself.
    assert changed <= {"valkeyclusters/standing"}
    assert steady.object()["metadata"]["generation"] == 1
    assert steady.pod_identities() == identities
    assert operator.writes() == 0


def _wait_until_alone(api, cluster):
    """Clusters of earlier tests may still be on their way out."""
    api.until(
        kinds.CLUSTER, None, lambda found: [item["metadata"]["name"] for item in found] == [cluster.name], what="no other cluster"
    )
