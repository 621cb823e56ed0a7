"""Notes on a run for readers of its table. Standard library only."""

# If others used more of a core than this just before a system was trained, its times may be off.
BUSY_CORES = 0.3


def notes(results: dict) -> str:
    """Returns the notes on this run."""
    said = []
    for system in results["systems"]:
        if system["problem"]:
            said.append(f"{system['name']}: {system['problem']}")
        if (system["busy_cores"] or 0) > BUSY_CORES:
            busy = f"others used {system['busy_cores']:.1f} cores when it began"
            said.append(f"{system['name']}: {busy}; times may be off")
    return "".join(f"\n{note}\n" for note in said)
