"""Runs the documents' commands unchanged, and follows their links, so that they cannot go stale.

    scripts/check_documents.py FOLDER DOCUMENT…

Each file or heading in this repository that a Markdown file links to must exist. Then bash runs each ```sh
block below a line `<!-- run -->` of the DOCUMENTs, in their order, in FOLDER, which is emptied first and gets
copies of jobs/ and of scripts/demo, whose texts pip downloads. cargo finds the package above FOLDER, so FOLDER must be within it. The commands find `topicmill`
in the release build, `python3` with the packages of scripts/requirements.txt, and `duckdb -c QUERY`, which the
Python package runs.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^<!-- run -->\n+```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
DUCKDB = """import sys, duckdb
if len(sys.argv) != 3 or sys.argv[1] != "-c":
    sys.exit("usage: duckdb -c QUERY")
for statement in duckdb.extract_statements(sys.argv[2]):
    rows = duckdb.execute(statement).fetchall()
    print(*rows, sep="\\n")
    if not rows:
        sys.exit("no rows")
"""


def main():
    folder, documents = Path(sys.argv[1]).absolute(), [Path(name) for name in sys.argv[2:]]
    check_links()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("jobs", folder / "jobs", ignore=shutil.ignore_patterns("out"))
    (folder / "scripts").mkdir()
    shutil.copy("scripts/demo", folder / "scripts")
    environment = os.environ | {"PATH": os.pathsep.join([str(commands(folder)), os.environ["PATH"]])}
    for document in documents:
        blocks = BLOCK.findall(document.read_text(encoding="utf-8"))
        if not blocks:
            sys.exit(f"{document}: no ```sh block is below <!-- run -->")
        for block in blocks:
            print(f"$ {block.strip()}", flush=True)
            status = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment, stdin=subprocess.DEVNULL
            ).returncode
            if status:
                sys.exit(f"{document}: these commands ended with status {status}:\n{block}")
        print(f"{document}: {len(blocks)} blocks")


def commands(folder):
    """Returns a folder with the commands that the documents run."""
    bin, python = folder / "bin", Path(sys.executable).absolute()
    bin.mkdir()
    (bin / "query.py").write_text(DUCKDB, encoding="utf-8")
    program = Path(os.environ.get("CARGO_TARGET_DIR", "target"), "release/topicmill").absolute()
    for name, command in {"topicmill": program, "python3": python, "duckdb": f"{python} {bin}/query.py"}.items():
        (bin / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        (bin / name).chmod(0o755)
    return bin


def check_links():
    listed = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout.split()
    texts = {Path(name).resolve(): FENCED.sub("", Path(name).read_text(encoding="utf-8")) for name in listed}
    anchors = {file: slugs(text) for file, text in texts.items()}
    followed = 0
    for file, text in texts.items():
        for link in LINK.findall(text):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = (file.parent / name).resolve() if name else file
            if not target.exists() or anchor and target in anchors and anchor not in anchors[target]:
                sys.exit(f"{file}: the link {link} leads nowhere")
            followed += 1
    print(f"{followed} links in {len(texts)} files")


def slugs(text):
    """Returns the addresses that GitHub gives the headings of a text."""
    found = set()
    for heading in HEADING.findall(text):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        number = sum(1 for other in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", other))
        found.add(f"{slug}-{number}" if number else slug)
    return found


if __name__ == "__main__":
    main()
