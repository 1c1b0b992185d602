"""Settings of the machine's kernel that every kubelet changes: remembered before and put back after."""

import json
from pathlib import Path

from sandbox.home import RUN

REMEMBERED = RUN / "tunables.json"
TUNABLES = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
SYSTEM = Path("/proc/sys")


def remember() -> None:
    """Keep the settings as they are now, unless they are kept already."""
    if not REMEMBERED.exists():
        values = {name: (SYSTEM / name).read_text().strip() for name in TUNABLES if (SYSTEM / name).exists()}
        REMEMBERED.write_text(json.dumps(values))


def restore() -> None:
    """Put back what was remembered."""
    if REMEMBERED.exists():
        for name, value in json.loads(REMEMBERED.read_text()).items():
            if (SYSTEM / name).read_text().strip() != value:
                (SYSTEM / name).write_text(value)
