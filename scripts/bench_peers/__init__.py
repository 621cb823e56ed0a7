"""The command scripts/bench: the same corpus for each system, the same score for each model.

`__main__` needs only Python's standard library and stays small, because on Linux child processes inherit
a process's peak memory. Modules that need numpy run as processes of their own, in an environment that
`environment` creates: `corpus` reads and splits, `systems` trains one system, `evaluate` scores its
snapshots, `report` writes table and plot. They communicate through files.
"""
