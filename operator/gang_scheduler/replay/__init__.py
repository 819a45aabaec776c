"""The jobs of a week, decided again in virtual time by the code that `run` calls.

Open `run` first. `jobs` and the readers beside it say what is replayed, `measures` what is said of
it, and `side_by_side` compares policies.
"""
