"""Prints one number for what is decided in many worlds: `python -m search.digest 100`.

Two processes that hash strings differently must print the same.
"""

import hashlib
import json
import sys

from search import generator
from search.cases import Case


def digest(worlds: int) -> str:
    """Return the digest of the answers to so many worlds."""
    found = hashlib.sha256()
    for seed in range(worlds):
        document = Case(generator.world(seed)).once.document
        found.update(json.dumps(document).encode())
    return found.hexdigest()


if __name__ == "__main__":
    print(digest(int(sys.argv[1])))
