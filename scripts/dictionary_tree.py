#!/usr/bin/env python3
"""Writes a bilingual dictionary as a tree for `tree.file`: each line is a node (docs/TREES.md).

    topicmill ingest JOB
    python3 scripts/dictionary_tree.py DICTIONARY OUTPUT/corpus/vocabulary.tsv > tree.json

A line has a word and its translations, separated by tabs, by commas as in CSV, or by spaces; the first line determines
which. Lines that begin with # are comments. Words that are not terms of the vocabulary are left out.
"""

import argparse
import csv
import json
import sys
import unicodedata

DELIMITERS = {"\t": "tabs", ",": "commas", " ": "spaces"}
EXAMPLES = 5


class Wrong(Exception):
    """A file is not what it should be."""


def read_terms(path):
    """Returns the kept terms of a vocabulary with their numbers."""
    with open(path, encoding="utf-8", newline="\n") as file:
        if next(file, "") != "tokens\tdocuments\tstatus\tterm\n":
            raise Wrong(f"{path}, line 1: not the vocabulary of a job's output, corpus/vocabulary.tsv")
        rows = (line.removesuffix("\n").split("\t", 3) for line in file)
        return {row[3]: number for number, row in enumerate(row for row in rows if row[2] == "kept")}


def read_dictionary(path):
    """Returns the words of each line."""
    with open(path, encoding="utf-8-sig") as file:
        lines = [(number, line.strip()) for number, line in enumerate(file, 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    delimiter = next((one for one in DELIMITERS if lines and one in lines[0][1]), None)
    if delimiter is None:
        raise Wrong(f"{path}: no line with a word and its translation, separated by a tab")
    entries = []
    for number, line in lines:
        if delimiter == "," and line.count('"') % 2:
            raise Wrong(f"{path}, line {number}: a quote is not closed in its line")
        fields = next(csv.reader([line])) if delimiter == "," else line.split(delimiter)
        words = [field.strip() for field in fields if field.strip()]
        if len(words) == 1:
            raise Wrong(f"{path}, line {number}: `{words[0]}` has no translation: the words of a line are separated "
                        f"by {DELIMITERS[delimiter]}, as in the first line")
        entries.append(words)
    return entries


def dictionary_tree(entries, terms, must_link):
    """Returns a node for each line, and what is left out."""
    found = {}
    for word in (word for words in entries for word in words):
        forms = [word, unicodedata.normalize("NFC", word).lower()]
        found[word] = next((terms[form] for form in forms if form in terms), None)
    lines = [(words[0], {found[word] for word in words} - {None}) for words in entries]
    nodes, left_out = groups(lines, "lines", terms, must_link)
    unknown = [word for word, term in found.items() if term is None]
    return nodes, unknown_of(len(found), "words", unknown, "in the vocabulary") + left_out


def groups(entries, kind, terms, must_link):
    """Returns a node for each name and set of at least two terms, each set once, and what is left out."""
    names = list(terms)
    nodes, few = {}, 0
    for name, members in entries:
        few += len(members) < 2
        if len(members) > 1:
            group = [names[term] for term in sorted(members)]
            nodes.setdefault(tuple(group), {"name": name, "leaf_prior": must_link, "terms": group})
    lost = {"have too few terms left": few, "repeat others": len(entries) - few - len(nodes)}
    left_out = "".join(f"; {count} of {len(entries)} {kind} {why}" for why, count in lost.items() if count)
    return list(nodes.values()), left_out


def unknown_of(count, words, unknown, where):
    """Says how many words are unknown, and which."""
    if not unknown:
        return f"all {count} {words} are {where}"
    more = ", …" if len(unknown) > EXAMPLES else ""
    return f"{len(unknown)} of {count} {words} are not {where} ({', '.join(unknown[:EXAMPLES])}{more})"


def parse_arguments(parser):
    """Parses the arguments after the source, and those of the caller."""
    parser.add_argument("vocabulary", metavar="VOCABULARY",
                        help="corpus/vocabulary.tsv in the job's output folder, after `topicmill ingest`")
    parser.add_argument("--must-link", type=float, default=100.0, metavar="BETA",
                        help="β of each edge from a group of terms to one of them (default: %(default)s)")
    return parser.parse_args()


def write(source, nodes, left_out):
    """Writes a tree to standard output, and what is left out to standard error."""
    if not nodes:
        raise Wrong(f"{source}: nothing is left for the vocabulary: {left_out}; is it in the language of the texts?")
    print('{"children": [', ",\n".join(json.dumps(node, ensure_ascii=False) for node in nodes), "]}", sep="\n")
    print(f"{source}: {left_out}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("dictionary", metavar="DICTIONARY", help="a word and its translations on each line")
    args = parse_arguments(parser)
    tree = dictionary_tree(read_dictionary(args.dictionary), read_terms(args.vocabulary), args.must_link)
    write(args.dictionary, *tree)


def run(script):
    """Runs a script; an error is one line."""
    sys.stdout.reconfigure(encoding="utf-8")
    try:
        script()
    except (Wrong, OSError, UnicodeDecodeError) as error:
        sys.exit(f"{sys.argv[0]}: {error}")


if __name__ == "__main__":
    run(main)
