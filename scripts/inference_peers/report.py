"""The table of measurements in Markdown. Standard library only."""

from bench_peers.notes import notes


def row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def rate(value: float | None) -> str:
    """Formats documents per second."""
    return "–" if value is None else f"{value:,.0f}"


def figures(line: dict) -> list[str]:
    """Returns the cells of a line's figures of quality."""
    held_out = "–" if line["held_out"] is None else f"{line['held_out']:.3f}".replace("-", "−")
    return [*(f"{line[key]:.3f}" for key in ["cosine", "kl", "f1"]), held_out]


def table(results: dict) -> str:
    """Returns the whole report."""
    corpus, settings, machine = results["corpus"], results["settings"], results["machine"]
    threads = settings["threads"]
    text = (
        f"# Inference: {corpus['name']}, {settings['topics']} topics\n\n"
        f"{corpus['train_documents']:,} documents, {corpus['train_tokens']:,} tokens and {corpus['terms']:,} terms "
        f"trained on; {corpus['test_documents']:,} others inferred; {threads} threads; seed 1; commit "
        f"{results['commit'] or 'unknown'}; {results['date']}, {machine['processor']}, {machine['cores']} cores, "
        f"{machine['system']}.\n\n"
    )
    heads = ["inference, on whose model", "version", "trained, s", "documents/s, 1 thread", f"{threads} threads"]
    heads += ["cosine", "KL", "F1", "held out"]
    text += row(*heads) + row(*["---"] * len(heads))
    for system in results["systems"]:
        text += rows(system)
    return text + notes(results)


def rows(system: dict) -> str:
    """Returns the rows of a system's own inference and of ours on its model, or of its failure."""
    name, version = system["name"], system["version"] or "–"
    if not system["scores"]:
        return row(f"**{name}**", version, "failed", *["–"] * 6)
    own, chains, *ours = system["scores"]
    one = system["inferring_threads"] == 1
    measured = rate(system["documents_per_second"])
    rates = (measured, "–") if one else ("–", measured)
    text = row(f"**{name}**", version, f"{system['trained_seconds']:.1f}", *rates, *figures(own))
    text += row(f"the reference's chains, on {name}'s", "", "", "–", "–", *figures(chains))
    for line in ours:
        rates = (rate(line["rate"]), rate(line["rate_on_threads"]))
        text += row(f"our {line['method']} on {name}'s", "", "", *rates, *figures(line))
    return text
