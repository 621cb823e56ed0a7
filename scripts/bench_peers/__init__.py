"""The command scripts/bench: the same corpus for each system, the same score for each model.

`__main__` needs Python's standard library alone and stays small, because Linux hands a process's peak
memory on to those it starts. Whatever needs numpy is a process of its own, in an environment that
`environment` makes: `corpus` reads and splits, `systems` trains one system, `evaluate` scores its
snapshots, `report` writes table and plot. They meet in files.
"""
