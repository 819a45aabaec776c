"""A script that uses the store passes `mypy --strict`, with the package as it is installed."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
from pathlib import Path

from gang_scheduler.checkpoint import Checkpoints
from gang_scheduler.checkpoint_store import File, Saved, Store


def write(directory: Path) -> None:
    (directory / "model.txt").write_text("model")


def loss(saved: Saved) -> float | None:
    return float(saved.metadata["loss"])


with Checkpoints() as checkpoints:
    store = Store("s3://bucket/llama", checkpoints, options={"anon": True})
    saved: Saved | None = store.latest()
    if saved is not None:
        with store.load(saved.path, only="model.*") as directory:
            text: str = (directory / "model.txt").read_text()
        sizes: list[int] = [each.size for each in saved.files]
        first: File = saved.files[0]

    def save(done: int) -> str:
        path: str = store.save(done, write, epoch=1, metadata={"loss": 0.5}).path
        gone: list[str] = [*store.keep(last=3, every=1000, best=loss), *store.prune(60)]
        return path

    for step in checkpoints.steps(10, save):
        print(step)
"""


def errors(directory: Path, script: str) -> list[str]:
    (directory / "train.py").write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "train.py"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    return [each for each in done.stdout.splitlines() if ": error: " in each]


def test_a_script_of_a_user_is_typed_and_its_errors_are_found(tmp_path: Path) -> None:
    assert [] == errors(tmp_path, SCRIPT)
    # The types are those of this package, not of something unknown.
    (found,) = errors(tmp_path, f"{SCRIPT}\nstore.save('ten', write)\n")
    assert "arg-type" in found
