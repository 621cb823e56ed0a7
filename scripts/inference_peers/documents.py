"""Reads and splits the corpus, and writes the test documents whole and in halves, as matrices and bags of words."""

import sys
from pathlib import Path

from scipy import sparse

from bench_peers import corpus, split
from bench_peers.refused import guarded


def main() -> None:
    parser = corpus.parser(__doc__)
    parser.add_argument("--documents", type=int, required=True)
    asked = parser.parse_args()
    write(corpus.write_split(asked.input, asked.folder, asked.id, asked.text, asked.documents), asked.folder)


def write(made: split.Split, folder: Path) -> None:
    """Writes the whole test documents beside their halves, and all three as bags of words."""
    whole = sparse.csr_array(made.observed + made.held_out)
    whole.sort_indices()
    sparse.save_npz(folder / "test.npz", whole, compressed=False)
    for name, matrix in [("test", whole), ("observed", made.observed), ("held_out", made.held_out)]:
        split.write_bag(matrix, folder, name)


if __name__ == "__main__":
    sys.exit(guarded(main))
