"""The scripts that write WordNet's database and dictionaries as trees."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import topicmill

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))
from wordnet_tree import Database, Wrong  # noqa: E402

LICENCE = "  1 This software and database is being provided to you, the LICENSEE, by\n"
# The words of each synset, and the places of its hypernyms.
NOUNS = [
    ("entity", []),
    ("beast animal", [0]),
    ("artifact", [0]),
    ("dog domestic_dog", [1]),
    ("cat", [1]),
    ("toy", [2]),
    ("bear", [1]),
    ("teddy", [5, 6]),
    ("cat cat-o'-nine-tails", [2]),
]
ADJECTIVES = [("beastly(a) awful", []), ("toy(p) Model", [])]


def database(folder, part, synsets, exceptions=""):
    """Writes the files of a part of speech as WordNet's own programs do; an offset is where a synset's line begins."""
    letter = {"noun": "n", "verb": "v", "adj": "a"}[part]
    offsets = [0] * len(synsets)
    for _ in range(2):  # the first time for the lengths of lines
        lines, at = [], len(LICENCE)
        for place, (words, hypernyms) in enumerate(synsets):
            offsets[place], words = at, words.split()
            # A pointer of another kind comes first.
            pointers = [f"{len(hypernyms) + 1:03} + 00000001 v 0101"]
            pointers += [f"{'@i' if number % 2 else '@'} {offsets[above]:08} {letter} 0000"
                         for number, above in enumerate(hypernyms)]
            lines.append(f"{at:08} 03 {letter} {len(words):02x} {' 0 '.join(words)} 0 {' '.join(pointers)}"
                         ' | what it means; "an example @ 00000009"  \n')
            at += len(lines[-1])
    senses = {}
    for (words, _), offset in zip(synsets, offsets):
        for word in words.split():
            senses.setdefault(word.split("(")[0].lower(), []).append(f"{offset:08}")
    index = [f"{lemma} {letter} {len(own)} 2 @ ~ {len(own)} 0 {' '.join(own)}  \n"
             for lemma, own in sorted(senses.items())]
    for name, text in {f"data.{part}": lines, f"index.{part}": index, f"{part}.exc": exceptions}.items():
        licence = "" if name.endswith(".exc") else LICENCE
        (folder / name).write_text(licence + "".join(text), encoding="utf-8", newline="\n")


@pytest.fixture
def wordnet(tmp_path):
    folder = tmp_path / "wordnet"
    folder.mkdir()
    database(folder, "noun", NOUNS, "teddies teddy bear\n")
    database(folder, "adj", ADJECTIVES)
    return folder


def run(script, *arguments):
    """Returns the nodes that a script writes, and what it says."""
    command = [sys.executable, SCRIPTS / script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    return json.loads(done.stdout)["children"] if done.returncode == 0 else None, done.stderr.strip()


def vocabulary(folder, terms):
    path = folder / "vocabulary.tsv"
    lines = [f"9\t5\tkept\t{term}\n" for term in terms.split()] + ["9\t1\trare\tartifact\n"]
    path.write_text("".join(["tokens\tdocuments\tstatus\tterm\n", *lines]), encoding="utf-8")
    return path


def test_a_word_has_the_senses_of_its_base_forms(tmp_path):
    nouns = [(words, []) for words in ("bass", "box", "axe", "axis", "glass", "glasses spectacles", "pony ba")]
    database(tmp_path, "noun", nouns, "axes axe axis\n")
    database(tmp_path, "verb", [("hope", []), ("hop", []), ("walk", [])], "hopped hop\n")

    def senses(part, word):
        read = Database(tmp_path, part)
        return [list(read.names).index(sense) for sense in read.senses(word)]

    words = {"boxes": [1], "axes": [2, 3], "glasses": [5, 4], "ponies": [6], "bas": [6], "bass": [0], "basss": [],
             "": []}
    assert {word: senses("noun", word) for word in words} == words
    words = {"hoped": [0], "hoping": [0], "hopped": [1], "walks": [2], "walking": [2]}
    assert {word: senses("verb", word) for word in words} == words


def test_a_synset_is_a_group_of_terms(wordnet, tmp_path):
    terms = vocabulary(tmp_path, "animal Dogs beast dog cat cats toy model teddies bear xyz")
    nodes, said = run("wordnet_tree.py", wordnet, terms)
    groups = {"beast.n.01": ["animal", "beast"], "dog.n.01": ["Dogs", "dog"], "cat.n.01": ["cat", "cats"],
              "bear.n.01": ["teddies", "bear"], "toy.a.01": ["toy", "model"]}
    assert {node["name"]: node["terms"] for node in nodes} == groups
    # The toy alone and the teddy are dropped; the other cat has the same terms.
    assert said.endswith("1 of 11 terms are not in WordNet (xyz); 2 of 8 synsets have too few terms "
                         "left; 1 of 8 synsets repeat others")
    few, said = run("wordnet_tree.py", wordnet, terms, "--max-senses", 1, "--parts", "noun", "--must-link", 7)
    assert few == [{**node, "leaf_prior": 7} for node in nodes[:3]]
    assert said.endswith("2 of 11 terms are not in WordNet (model, xyz); 3 of 6 synsets have too few terms left; "
                         "3 rarer senses are left out")


def test_a_synset_is_below_each_of_its_hypernyms(wordnet, tmp_path):
    terms = vocabulary(tmp_path, "entity beast animal dog dogs cat teddy toy")
    options = ["--structure", "hierarchy", "--max-senses", 1]
    nodes, _ = run("wordnet_tree.py", wordnet, terms, *options)
    teddy = {"name": "teddy.n.01", "terms": ["teddy"]}
    beasts = [{"name": "beast.n.01 itself", "terms": ["beast", "animal"]},
              {"name": "dog.n.01", "terms": ["dog", "dogs"]},
              {"name": "cat.n.01", "terms": ["cat"]},
              {"name": "bear.n.01", "children": [teddy]}]
    toys = [{"name": "toy.n.01", "children": [{"name": "toy.n.01 itself", "terms": ["toy"]}, teddy]}]
    assert nodes == [
        {"name": "entity.n.01", "children": [
            {"name": "entity.n.01 itself", "terms": ["entity"]},
            {"name": "beast.n.01", "children": beasts},
            {"name": "artifact.n.01", "children": toys}]},
        {"name": "toy.a.01", "terms": ["toy"]}]


def test_what_is_no_database_is_refused(wordnet, tmp_path):
    terms = vocabulary(tmp_path, "animal beast")
    assert "/usr/share/wordnet" in run("wordnet_tree.py", tmp_path, terms)[1]
    (wordnet / "index.adj").unlink()
    assert "index.adj and data.adj belong together" in run("wordnet_tree.py", wordnet, terms)[1]
    circle = [("a", []), ("b", [3]), ("c", [0, 3]), ("d", [2, 3])]
    database(wordnet, "verb", circle)
    with pytest.raises(Wrong, match=r"data.verb, line [45]: synset [cd].v.01: its hypernyms lead back to it"):
        Database(wordnet, "verb")


def test_lines_of_another_format_are_named(tmp_path):
    def broken(name, old, new):
        database(tmp_path, "noun", [("animal", []), ("dog", [0])])
        path = tmp_path / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8", newline="")
        with pytest.raises(Wrong) as error:
            Database(tmp_path, "noun")
        return str(error.value)

    for name, old, new, expected in [
        ("data.noun", "@ 00000074 n 0000", "", "data.noun, line 3: "),
        ("data.noun", "03 n 01", "03 n xy",
         "data.noun, line 2: invalid literal for int() with base 16: 'xy': not as WordNet's"),
        ("data.noun", "@ 00000074", "@ 00000075", "data.noun, line 3: the hypernym 00000075 is not in this file"),
        ("data.noun", "00000165 03", "00000074 03", "data.noun, line 3: has the offset 00000074 of an earlier line"),
        ("index.noun", "0 00000074", "0 00000076", "index.noun, line 2: synset 00000076 is not in data.noun"),
        ("index.noun", "n 1 2", "n 0 2", "index.noun, line 2: says 0 synsets and has 1"),
        ("index.noun", "dog", "animal", "index.noun, line 3: `animal` has an earlier line"),
        ("noun.exc", "", "dogs\n", "noun.exc, line 1: `dogs` has no base form"),
    ]:
        assert f"{tmp_path}/{expected}" in broken(name, old, new)
    database(tmp_path, "noun", NOUNS)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert len(Database(tmp_path, "noun").names) == len(NOUNS)


@pytest.mark.parametrize("text", [
    "# en it\r\n\r\ndog\tcane\r\nhouse\tcasa\t abitazione \t\r\n",
    'dog,cane\nhouse,"casa",abitazione,,',
    "\ufeffDog  cane\nhouse Casa abitazione\n",
])
def test_the_first_line_says_what_separates_words(tmp_path, text):
    dictionary = tmp_path / "d.tsv"
    dictionary.write_text(text, encoding="utf-8", newline="")
    nodes, said = run("dictionary_tree.py", dictionary, vocabulary(tmp_path, "abitazione cane casa dog house"))
    assert [node["terms"] for node in nodes] == [["cane", "dog"], ["abitazione", "casa", "house"]]
    assert said.endswith("all 5 words are in the vocabulary")


def test_lines_become_nodes_unless_few_terms_are_left(tmp_path):
    dictionary, terms = tmp_path / "d.tsv", vocabulary(tmp_path, "dog cane house café")
    lines = "Dog\tcane\ncane\tdog\nhouse\tcasa\nsea\tmare, acqua\nice cream\tCAFE\u0301\thouse\n"
    dictionary.write_text(lines, encoding="utf-8")
    nodes, said = run("dictionary_tree.py", dictionary, terms)
    assert nodes == [{"name": "Dog", "leaf_prior": 100, "terms": ["dog", "cane"]},
                     {"name": "ice cream", "leaf_prior": 100, "terms": ["house", "café"]}]
    assert said.endswith("4 of 9 words are not in the vocabulary (casa, sea, mare, acqua, ice cream); 2 of 5 lines "
                         "have too few terms left; 1 of 5 lines repeat others")


@pytest.mark.parametrize("text, expected", [
    ("dog\tcane\n# x\n\nhouse casa\n",
     "line 4: `house casa` has no translation: the words of a line are separated by tabs"),
    ('dog,cane\nhouse,"casa\ncat,gatto\n', "line 2: a quote is not closed"),
    ("# dog cane\n", "no line with a word"),
    ("dog\ncat\n", "no line with a word"),
    ("cat gatto\n", "nothing is left for the vocabulary: 2 of 2 words are not in the vocabulary (cat, gatto)"),
])
def test_dictionaries_that_cannot_be_used_are_named(tmp_path, text, expected):
    dictionary = tmp_path / "d.tsv"
    dictionary.write_text(text, encoding="utf-8")
    nodes, said = run("dictionary_tree.py", dictionary, vocabulary(tmp_path, "dog cane"))
    assert nodes is None and re.search(rf"d\.tsv(:|,) {re.escape(expected)}", said)


def test_a_job_uses_the_tree(result, texts, wordnet, tmp_path):
    tree = tmp_path / "tree.json"
    nodes, _ = run("wordnet_tree.py", wordnet, result.path / "corpus/vocabulary.tsv", "--structure", "hierarchy")
    tree.write_text(json.dumps({"children": nodes}), encoding="utf-8")
    linked = topicmill.fit(texts, 5, output=tmp_path / "out", tree__file=str(tree), train__passes=3)
    assert {"dog", "cat"} <= set(linked.table("topic_nodes")["term"])
