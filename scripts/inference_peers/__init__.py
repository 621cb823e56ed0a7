"""The command scripts/inference_bench: each system infers the same new documents, and so does topicmill with its model.

Split, training and processes are those of `bench_peers`. `documents` reads and splits, `systems` trains one system and
infers with it in a separate process, the program examples/inference_quality scores the result, and `report` writes
the table.
"""
