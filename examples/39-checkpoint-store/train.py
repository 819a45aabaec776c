"""Fits a plane to noisy points with NumPy, and keeps its checkpoints in a store.

    python train.py --store s3://bucket/fit-a-plane

Next to it must be `checkpoint.py`, `checkpoint_store.py` and `checkpoint_files.py`, which are
modules of `gang_scheduler`.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from checkpoint import Checkpoints
from checkpoint_store import Saved, Store

SLOPES, NOISE = np.array([3.0, -2.0, 0.5]), 0.1
RATE = 0.01


def learn(weights: np.ndarray, step: int) -> float:
    """Take one step along the gradient of a few points, always the same for a step."""
    dice = np.random.default_rng(step)
    points = dice.uniform(-1.0, 1.0, (8, len(SLOPES)))
    errors = points @ (weights - SLOPES) + dice.normal(0.0, NOISE, 8)
    weights -= RATE * errors @ points
    return float(np.square(errors).mean())


def loss_of(saved: Saved) -> float:
    """Return the number of which the least is the best."""
    return float(saved.metadata["loss"])


def main() -> None:
    """Train until all steps are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True, help="where checkpoints are kept")
    parser.add_argument("--steps", type=int, default=36_000)
    parser.add_argument("--seconds-per-step", type=float, default=0.1)
    parser.add_argument("--every", type=int, default=600, help="save after so many steps, too")
    arguments = parser.parse_args()

    with Checkpoints() as checkpoints:
        store = Store(arguments.store, checkpoints)
        resume = checkpoints.resume
        weights, loss = np.zeros(len(SLOPES)), 0.0
        if resume.path:
            with store.load(resume.path) as directory, np.load(directory / "model.npz") as saved:
                weights = saved["weights"]
        print(f"begins at step {resume.step} from {resume.path or 'nothing'}", flush=True)

        def write(directory: Path) -> None:
            np.savez(directory / "model.npz", weights=weights)

        def save(done: int) -> str:
            saved = store.save(done, write, metadata={"loss": loss})
            store.keep(last=3, every=6_000, best=loss_of)
            print(f"saved {saved.path}", flush=True)
            return saved.path

        store.prune()
        for step in checkpoints.steps(arguments.steps, save, every=arguments.every):
            loss = learn(weights, step)
            time.sleep(arguments.seconds_per_step)

    # Not reached after an eviction: that leaves the loop by an exception which ends the process.
    print("done:", *(f"{each:.12f}" for each in weights), flush=True)


if __name__ == "__main__":
    main()
