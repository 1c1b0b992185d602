"""External access changed on a live cluster, while clients outside work: none of them notices."""

from e2e import programs


def change_under_load(cluster, change, *, seeds, prefix, meanwhile=None, **options):
    """No request of clients that begin at `seeds` fails until all is well again; returns when nothing old is left. `options` are those of a load."""
    with programs.loads(prefix=prefix, login=cluster.login("default"), seeds=seeds, **options) as loads:
        cluster.external(**change)
        if meanwhile is not None:
            meanwhile()
        cluster.wait_until_ready()
        reports = [load.stop() for load in loads]
    for report in reports:
        assert report["failures"] == 0, (change, report["complaints"])
        assert report["lost"] == []
    cluster.wait_until_drained()
