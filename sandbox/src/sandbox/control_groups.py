"""Control groups of a node: a tree of its own, which the node takes for the whole, whether the machine has version 1 or 2."""

import time
from pathlib import Path

from sandbox import processes
from sandbox.errors import SandboxError

ROOT = Path("/sys/fs/cgroup")
OURS = "valkey-sandbox"
PATIENCE = 10.0

# Shell: lists the mount points of all hierarchies. Version 2 has one; each of version 1 has a folder.
_HIERARCHIES = """
hierarchies() { if test -e /sys/fs/cgroup/cgroup.procs; then echo /sys/fs/cgroup; else ls -d /sys/fs/cgroup/*; fi; }
"""

# Shell: makes the group named by $1 below the present root in all hierarchies, and moves the shell into it.
# A new group of version 1 has no processors and no memory until it is told which.
MAKE = f"""{_HIERARCHIES}
make_group() {{
  for hierarchy in $(hierarchies); do
    test -e "$hierarchy/cgroup.procs" || continue
    above=$hierarchy
    for part in $(echo "$1" | tr / ' '); do
      mkdir -p "$above/$part"
      for file in cpuset.cpus cpuset.mems; do
        if test -f "$above/$part/$file" && test -f "$above/tasks"; then cat "$above/$file" > "$above/$part/$file"; fi
      done
      above=$above/$part
    done
    echo 0 > "$above/cgroup.procs"
  done
}}
"""

# Shell, in a new cgroup namespace: makes the group the root of what is seen below /sys/fs/cgroup.
# In version 2 a group with groups below it must not hold processes itself.
COVER = f"""{_HIERARCHIES}
cover_groups() {{
  for hierarchy in $(hierarchies); do
    test -e "$hierarchy/cgroup.procs" || continue
    mount -n --bind "$hierarchy/$1" "$hierarchy"
  done
  if test -e /sys/fs/cgroup/cgroup.procs; then mkdir -p /sys/fs/cgroup/init; fi
  join_groups
}}
"""

# Shell: moves the shell into the node's group.
JOIN = """
join_groups() {
  if test -e /sys/fs/cgroup/cgroup.procs; then
    echo 0 > /sys/fs/cgroup/init/cgroup.procs
  else
    for procs in /sys/fs/cgroup/*/cgroup.procs; do echo 0 > "$procs"; done
  fi
}
"""


def remove(group: str = OURS) -> None:
    """Remove a group, all of ours unless one is named, with those below it; the kernel lets go of each only some moments after its last process."""
    deadline = time.monotonic() + PATIENCE
    while left := [path for path in _groups(group) if not _is_removed(path)]:
        if time.monotonic() > deadline:
            raise SandboxError(f"{len(left)} control groups are still in use, {left[0]} among them")
        time.sleep(processes.POLL)


def of_node(name: str) -> str:
    """The group of all that runs on a node."""
    return f"{OURS}/{name}"


def _groups(name: str) -> list[Path]:
    """A group and those below it in every hierarchy, the innermost first."""
    roots = {path.resolve() for path in (ROOT / name, *ROOT.glob(f"*/{name}")) if path.is_dir()}
    groups = [path for root in roots for path in (root, *root.rglob("*")) if path.is_dir()]
    return sorted(groups, key=lambda path: len(path.parts), reverse=True)


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return not group.exists()
    return True
