"""The jobs of a week, decided again in virtual time by the code that `run` calls.

Open `run` first. `jobs` and the readers next to it read the jobs, `measures` computes the figures,
and `side_by_side` compares policies.
"""
