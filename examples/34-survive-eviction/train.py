"""Fits a line to noisy points; saves when it is asked to, and goes on there after an eviction.

    python train.py --directory /checkpoints

Beside it must be `checkpoint.py`, which is the module `gang_scheduler.checkpoint`.
"""

import argparse
import json
import random
import time
from pathlib import Path

from checkpoint import Checkpoints

SLOPE, OFFSET, NOISE = 3.0, 2.0, 0.1
RATE = 0.01


class Line:
    """What is trained."""

    def __init__(self, slope: float = 0.0, offset: float = 0.0) -> None:
        self.slope = slope
        self.offset = offset

    def learn(self, step: int) -> None:
        """Take one step along the gradient of one point, always the same point for a step."""
        dice = random.Random(step)  # noqa: S311 - no secret.
        x = dice.uniform(-1.0, 1.0)
        error = self.slope * x + self.offset - (SLOPE * x + OFFSET + dice.gauss(0.0, NOISE))
        self.slope -= RATE * error * x
        self.offset -= RATE * error

    def save(self, path: Path) -> str:
        """Write a file, whole or not at all, and return where it is."""
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(vars(self)))
        unfinished.replace(path)
        return str(path)


def main() -> None:
    """Train until all steps are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="where checkpoints are")
    parser.add_argument("--steps", type=int, default=36_000)
    parser.add_argument("--seconds-per-step", type=float, default=0.1)
    parser.add_argument("--every", type=int, default=600, help="save after so many steps, too")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)

    with Checkpoints() as checkpoints:
        resume = checkpoints.resume
        line = Line(**json.loads(Path(resume.path).read_text())) if resume.path else Line()
        print(f"begins at step {resume.step} from {resume.path or 'nothing'}", flush=True)

        def save(done: int) -> str:
            path = line.save(arguments.directory / f"step-{done}.json")
            print(f"saved {path}", flush=True)
            return path

        for step in checkpoints.steps(arguments.steps, save, every=arguments.every):
            line.learn(step)
            time.sleep(arguments.seconds_per_step)

    # Not reached after an eviction: that leaves the loop by an exception which ends the process.
    print(f"done: {line.slope:.12f} x + {line.offset:.12f}", flush=True)


if __name__ == "__main__":
    main()
