"""The command scripts/inference_bench: each system infers the same new documents, and so do we with its model.

Split, training and processes are `bench_peers`'. `documents` reads and splits, `systems` trains one system and has it
infer, in a process of its own, the program examples/inference_quality scores what it left, `report` writes the table.
"""
