#!/usr/bin/env python3
"""Writes the part of WordNet that a vocabulary uses as a tree for `tree.file` (docs/TREES.md).

    topicmill ingest JOB
    python3 scripts/wordnet_tree.py /usr/share/wordnet OUTPUT/corpus/vocabulary.tsv > tree.json

Reads WordNet's database (wndb(5WN), versions 3.0 and 3.1). A term has the senses of its spelling and of its base forms,
which are found as by WordNet's own programs (morphy(7WN)): `cats` is in the synsets of `cat`.
"""

import argparse
import graphlib
from pathlib import Path

from dictionary_tree import Wrong, groups, parse_arguments, read_terms, run, unknown_of, write

# The suffixes that regular forms lose, with their replacements, by the ending of the files of a part of speech.
DETACHMENTS = {
    "noun": [("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")],
    "verb": [("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
    "adj": [("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
    "adv": [],
}
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


class Database:
    """The files of a part of speech: `data`, `index` and `exc`."""

    def __init__(self, folder, part):
        self.part = part
        self.data = folder / f"data.{part}"
        self.names = {}  # of synsets, by their offsets, in the order of the file
        self.lines = {}  # their numbers
        self.hypernyms = {}
        self.senses_of = {}  # a lemma's synsets, the most frequent first
        self.base_forms = {}  # of irregular forms
        self.read(self.data, self.read_synset)
        self.read(folder / f"index.{part}", self.read_lemma)
        exceptions = folder / f"{part}.exc"
        if exceptions.exists():
            self.read(exceptions, self.read_exception)
        for synset, name in self.names.items():
            senses = self.senses_of.get(name, [])
            place = senses.index(synset) + 1 if synset in senses else 0
            self.names[synset] = f"{name}.{LETTERS[part]}.{place:02}"
        for synset, above in self.hypernyms.items():
            if unknown := [hypernym for hypernym in above if hypernym not in self.names]:
                raise Wrong(f"{self.at(synset)}: the hypernym {unknown[0]} is not in this file")
        try:
            # Each after its hypernyms.
            self.order = list(graphlib.TopologicalSorter(self.hypernyms).static_order())
        except graphlib.CycleError as error:
            synset = error.args[1][0]
            raise Wrong(f"{self.at(synset)}: synset {self.names[synset]}: its hypernyms lead back to it") from None

    def at(self, synset):
        return f"{self.data}, line {self.lines[synset]}"

    def read(self, path, read_line):
        """Reads the lines of a file without their glosses; those of the licence begin with a space."""
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.startswith(" ") or not line.strip():
                    continue
                try:
                    read_line(number, iter(line.partition(" | ")[0].split()))
                except (StopIteration, ValueError) as error:
                    problem = str(error) or "ends too early"
                    raise Wrong(f"{path}, line {number}: {problem}: not as WordNet's database is distributed "
                                "(wndb(5WN))") from None

    def read_synset(self, number, fields):
        synset = next(fields)
        _file, _part, count = next(fields), next(fields), int(next(fields), 16)
        words = [next(fields) for _ in range(2 * count)]
        pointers = [[next(fields) for _ in range(4)] for _ in range(int(next(fields)))]
        if synset in self.names:
            raise ValueError(f"has the offset {synset} of an earlier line")
        # Adjectives may have a marker of their position.
        self.names[synset] = words[0].split("(")[0].lower()
        self.lines[synset] = number
        self.hypernyms[synset] = [
            target for symbol, target, part, _ in pointers if symbol in ("@", "@i") and part == LETTERS[self.part]]

    def read_lemma(self, _, fields):
        lemma, _part, count, pointers = next(fields).lower(), next(fields), int(next(fields)), int(next(fields))
        for _ in range(pointers + 2):
            next(fields)
        senses = list(fields)
        if len(senses) != count:
            raise ValueError(f"says {count} synsets and has {len(senses)}")
        if unknown := [synset for synset in senses if synset not in self.names]:
            raise ValueError(f"synset {unknown[0]} is not in {self.data.name}")
        if lemma in self.senses_of:
            raise ValueError(f"`{lemma}` has an earlier line")
        self.senses_of[lemma] = senses

    def read_exception(self, _, fields):
        form, *bases = fields
        if not bases:
            raise ValueError(f"`{form}` has no base form")
        self.base_forms.setdefault(form, []).extend(bases)

    def senses(self, word):
        """Returns the synsets of a word's spelling, then those of its base forms, each once."""
        bases = self.base_forms.get(word, [])
        # An irregular form has no other base forms.
        if not bases and not (self.part == "noun" and (word.endswith("ss") or len(word) <= 2)):
            regular = (word.removesuffix(suffix) + ending for suffix, ending in DETACHMENTS[self.part]
                       if word.endswith(suffix))
            bases = [base for base in regular if base in self.senses_of][:1]
        return list(dict.fromkeys(sense for lemma in [word, *bases] for sense in self.senses_of.get(lemma, [])))


def read_wordnet(folder, parts):
    """Returns the databases of these parts of speech that a folder has."""
    databases = []
    for part in parts:
        files = [folder / f"{kind}.{part}" for kind in ("index", "data")]
        there = [file.exists() for file in files]
        if all(there):
            databases.append(Database(folder, part))
        elif any(there):
            raise Wrong(f"{folder}: {files[0].name} and {files[1].name} belong together")
    if not databases:
        raise Wrong(f"{folder}: no index and data of these parts of speech: name the folder of WordNet's database, "
                    "such as /usr/share/wordnet of Debian's package wordnet-base")
    return databases


def wordnet_tree(databases, terms, args):
    """Returns the nodes, and what is left out."""
    members = [{synset: [] for synset in database.names} for database in databases]
    unknown, rarer = [], 0
    for number, term in enumerate(terms):
        found = False
        for database, of_synset in zip(databases, members):
            senses = database.senses(term.lower().replace(" ", "_"))
            found |= bool(senses)
            rarer += len(senses[args.max_senses:])
            for sense in senses[:args.max_senses]:
                of_synset[sense].append(number)
        if not found:
            unknown.append(term)
    left_out = unknown_of(len(terms), "terms", unknown, "in WordNet")
    if args.structure == "synsets":
        entries = [(database.names[synset], own) for database, of_synset in zip(databases, members)
                   for synset, own in of_synset.items() if own]
        nodes, lost = groups(entries, "synsets", terms, args.must_link)
        left_out += lost
    else:
        nodes = [node for database, of_synset in zip(databases, members)
                 for node in hierarchy(database, of_synset, list(terms))]
    return nodes, left_out + (f"; {rarer} rarer senses are left out" if rarer else "")


def hierarchy(database, members, names):
    """Returns the nodes of the synsets without hypernyms, if a term is below them.

    A synset with several hypernyms is below each. If a synset has others below it, its own terms are a separate node
    beside these.
    """
    below = {synset: [] for synset in members}  # in the order of the file
    for synset in members:
        for hypernym in database.hypernyms[synset]:
            below[hypernym].append(synset)
    nodes = {}
    for synset in reversed(database.order):
        name, own = database.names[synset], [names[term] for term in members[synset]]
        children = [nodes[child] for child in below[synset] if nodes[child]]
        if own and children:
            children.insert(0, {"name": f"{name} itself", "terms": own})
        nodes[synset] = {"name": name, "children": children} if children else own and {"name": name, "terms": own}
    return [nodes[synset] for synset in members if nodes[synset] and not database.hypernyms[synset]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("wordnet", metavar="FOLDER", type=Path, help="WordNet's database, such as /usr/share/wordnet")
    parser.add_argument("--structure", choices=["synsets", "hierarchy"], default="synsets",
                        help="each synset as a group of terms, or synsets below their hypernyms (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=list(LETTERS), default=list(LETTERS), metavar="PART",
                        help="parts of speech: noun, verb, adj, adv (default: all)")
    parser.add_argument("--max-senses", type=int, default=3, metavar="N",
                        help="senses of a term in each part of speech, the most frequent first (default: %(default)s)")
    args = parse_arguments(parser)
    terms = read_terms(args.vocabulary)
    parts = [part for part in LETTERS if part in args.parts]
    write(args.wordnet, *wordnet_tree(read_wordnet(args.wordnet, parts), terms, args))


if __name__ == "__main__":
    run(main)
