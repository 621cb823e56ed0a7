"""The memory that a system uses."""

import resource
from pathlib import Path


def own_peak_mb() -> float:
    """Returns this process's peak memory plus the private memory of its worker processes, if any, at this moment."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for children in Path("/proc/self/task").glob("*/children"):
        for child in children.read_text(encoding="utf-8").split():
            for line in Path(f"/proc/{child}/smaps_rollup").read_text(encoding="utf-8").splitlines():
                name, value, *_ = line.split()
                kilobytes += int(value) if name in ("Private_Clean:", "Private_Dirty:") else 0
    return kilobytes / 1024
