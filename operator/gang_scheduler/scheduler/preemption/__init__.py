"""Who must go so that a whole gang fits: `search.py` is the file to open first."""
