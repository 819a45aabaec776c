"""The training script for PyTorch saves when asked and goes on there; PyTorch itself is a fake."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from gang_scheduler import checkpoint
from gang_scheduler.api import annotations
from support import yaml_texts

PYTORCH = Path(__file__).parents[2] / "examples" / "35-survive-eviction-pytorch"


class FakeTorch:
    """What the script needs of PyTorch, for one of two ranks; the other asks for what it likes.

    Saved are states as JSON. `steps` are the seeds of all steps.
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.before_step: Callable[[int], object] = int
        self.loaded: list[object] = []

    def modules(self) -> Iterator[tuple[str, object]]:
        """Yield what is imported, by name."""
        model = MagicMock()
        model.return_value.state_dict.return_value = "weights"
        model.return_value.load_state_dict.side_effect = self.loaded.append
        distributed = SimpleNamespace(
            ReduceOp=SimpleNamespace(MAX="max"),
            all_reduce=lambda number, op: {"max": number}[op],
            init_process_group=MagicMock(),
            destroy_process_group=MagicMock(),
            get_world_size=lambda: 1,
        )
        torch = MagicMock(tensor=int, manual_seed=self._step, save=_save, load=_load)
        torch.optim.AdamW.return_value.state_dict.return_value = "moments"
        torch.distributed = distributed
        parallel = SimpleNamespace(DistributedDataParallel=model)
        yield "torch", torch
        yield "torch.distributed", distributed
        yield "torch.nn.parallel", parallel
        yield "checkpoint", checkpoint

    def _step(self, seed: int) -> None:
        self.before_step(seed)
        self.steps.append(seed)


def _save(state: dict[str, str], path: Path) -> None:
    path.write_text(json.dumps(state))


def _load(path: str, map_location: object) -> dict[str, str]:
    assert map_location is not None
    found: dict[str, str] = json.loads(Path(path).read_text())
    return found


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTorch:
    fake = FakeTorch()
    for name, module in fake.modules():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "argv", ["train.py", f"--directory={tmp_path}", "--steps=30"])
    log = tmp_path / "termination-log"
    log.touch()
    variables = {"LOCAL_RANK": "0", "RANK": "0", "CHECKPOINT_TERMINATION_LOG": str(log)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return fake


def run_pytorch() -> None:
    """Run the script as the main program."""
    code = compile((PYTORCH / "train.py").read_text(), "train.py", "exec")
    exec(code, {"__name__": "__main__"})  # noqa: S102 - a script of this project.


def test_the_script_for_pytorch_ends_at_a_look_and_goes_on_there(
    torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.before_step = lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 11 else None

    with pytest.raises(checkpoint.Evicted):
        run_pytorch()

    # It looks after every fifth step.
    assert list(range(15)) == torch.steps
    told = json.loads((tmp_path / "termination-log").read_text())["checkpoint"]
    assert {"step": 15, "path": str(tmp_path / "step-15.pt")} == told
    assert {"model": "weights", "optimizer": "moments"} == json.loads(
        Path(told["path"]).read_text()
    )

    monkeypatch.setenv("RESUME_FROM", told["path"])
    monkeypatch.setenv("RESUME_STEP", str(told["step"]))
    run_pytorch()

    assert list(range(30)) == torch.steps
    assert ["weights"] == torch.loaded


def test_the_request_is_in_the_file_that_the_script_reads() -> None:
    documents = yaml_texts.read_all((PYTORCH / "job.yaml").read_text())
    (job,) = (each for each in documents if each["kind"] == "Job")
    template = job["spec"]["template"]["spec"]
    (container,) = template["containers"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    (volume,) = (each for each in template["volumes"] if "downwardAPI" in each)
    (item,) = volume["downwardAPI"]["items"]

    assert checkpoint.REQUEST_FILE == f"{mounts[volume['name']]}/{item['path']}"
    assert (
        f"metadata.annotations['{annotations.CHECKPOINT_REQUEST_ID}']"
        == (item["fieldRef"]["fieldPath"])
    )
