"""Looks for what escapes: `make fuzz SECONDS=3600`.

Runs the laws of this folder on examples that no run before had, round by round, until the time is
over or a law is broken. What broke it is made smaller by hypothesis, and printed.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
LAWS = (
    "objects_are_read_or_refused",
    "texts_are_read_or_refused",
    "files_are_read_or_refused",
    "long_texts_are_cheap",
)
PROFILE = "search"


def main() -> int:
    """Search; the exit status is 1 if a law is broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long at least")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first round; 0: any")
    asked = parser.parse_args()
    end = time.monotonic() + asked.seconds
    seed = asked.seed or int.from_bytes(os.urandom(4))
    rounds = 0
    while rounds == 0 or time.monotonic() < end:
        if (status := one_round(seed + rounds)) != 0:
            print(f"round {rounds} of seed {seed}: a law is broken", flush=True)
            return status
        rounds += 1
        print(f"{rounds} rounds from seed {seed} on: nothing escaped", flush=True)
    return 0


def one_round(seed: int) -> int:
    """Hold the laws against new examples; return the exit status."""
    files = [str(HERE / f"test_{law}.py") for law in LAWS]
    options = ["-q", "-x", f"--hypothesis-seed={seed}", f"--hypothesis-profile={PROFILE}"]
    command = [sys.executable, "-m", "pytest", *options, *files]
    return subprocess.run(command, cwd=HERE.parents[1], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
