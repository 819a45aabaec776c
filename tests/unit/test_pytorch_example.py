"""The training scripts for PyTorch save when asked and go on there; PyTorch itself is a fake."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from gang_scheduler import checkpoint, checkpoint_files, checkpoint_store
from gang_scheduler.api import annotations
from support import yaml_texts

EXAMPLES = Path(__file__).parents[2] / "examples"
PYTORCH = EXAMPLES / "35-survive-eviction-pytorch"
SHARDED = EXAMPLES / "40-checkpoint-store-sharded"


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
        distributed.checkpoint = SimpleNamespace(save=_save_shard, load=_load_shard)
        states = SimpleNamespace(
            get_state_dict=lambda *_: ("weights", "moments"),
            set_state_dict=lambda *_, model_state_dict, **__: self.loaded.append(model_state_dict),
        )
        yield "torch", torch
        yield "torch.distributed", distributed
        yield "torch.distributed.checkpoint", distributed.checkpoint
        yield "torch.distributed.checkpoint.state_dict", states
        yield "torch.distributed.fsdp", SimpleNamespace(fully_shard=MagicMock())
        yield "torch.nn.parallel", SimpleNamespace(DistributedDataParallel=model)
        for module in (checkpoint, checkpoint_files, checkpoint_store):
            yield module.__name__.rpartition(".")[2], module

    def _step(self, seed: int) -> None:
        self.before_step(seed)
        self.steps.append(seed)


def _save(state: dict[str, str], path: Path) -> None:
    path.write_text(json.dumps(state))


def _load(path: str, map_location: object) -> dict[str, str]:
    assert map_location is not None
    found: dict[str, str] = json.loads(Path(path).read_text())
    return found


def _save_shard(state: dict[str, str], checkpoint_id: Path) -> None:
    (checkpoint_id / "__0_0.distcp").write_text(json.dumps(state))


def _load_shard(state: dict[str, str], checkpoint_id: Path) -> None:
    state.update(json.loads((checkpoint_id / "__0_0.distcp").read_text()))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeTorch:
    fake = FakeTorch()
    for name, module in fake.modules():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "argv", sys.argv)
    log = tmp_path / "termination-log"
    log.touch()
    variables = {"LOCAL_RANK": "0", "RANK": "0", "CHECKPOINT_TERMINATION_LOG": str(log)}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return fake


def run(directory: Path, *arguments: str) -> None:
    """Run the script of an example as the main program."""
    sys.argv = ["train.py", *arguments, "--steps=30"]
    code = compile((directory / "train.py").read_text(), "train.py", "exec")
    exec(code, {"__name__": "__main__"})  # noqa: S102 - a script of this project.


def test_the_script_for_pytorch_ends_at_a_look_and_goes_on_there(
    torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.before_step = lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 11 else None

    with pytest.raises(checkpoint.Evicted):
        run(PYTORCH, f"--directory={tmp_path}")

    # It looks after every fifth step.
    assert list(range(15)) == torch.steps
    told = json.loads((tmp_path / "termination-log").read_text())["checkpoint"]
    assert {"step": 15, "path": str(tmp_path / "step-15.pt")} == told
    assert {"model": "weights", "optimizer": "moments"} == json.loads(
        Path(told["path"]).read_text()
    )

    monkeypatch.setenv("RESUME_FROM", told["path"])
    monkeypatch.setenv("RESUME_STEP", str(told["step"]))
    run(PYTORCH, f"--directory={tmp_path}")

    assert list(range(30)) == torch.steps
    assert ["weights"] == torch.loaded


def test_the_script_with_shards_goes_on_from_what_it_published(
    torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.before_step = lambda step: os.kill(os.getpid(), signal.SIGTERM) if step == 11 else None

    with pytest.raises(checkpoint.Evicted):
        run(SHARDED, f"--store={tmp_path}/kept")

    told = json.loads((tmp_path / "termination-log").read_text())["checkpoint"]
    saved = checkpoint_store.Store(tmp_path / "kept", environ={}).latest()
    assert saved is not None
    assert (15, saved.path) == (told["step"], told["path"])
    assert ["__0_0.distcp"] == [each.name for each in saved.files]

    monkeypatch.setenv("RESUME_FROM", told["path"])
    monkeypatch.setenv("RESUME_STEP", str(told["step"]))
    run(SHARDED, f"--store={tmp_path}/kept")

    assert list(range(30)) == torch.steps
    assert ["weights"] == torch.loaded


@pytest.mark.parametrize("directory", [PYTORCH, SHARDED], ids=lambda path: path.name)
def test_the_request_is_in_the_file_that_the_script_reads(directory: Path) -> None:
    documents = yaml_texts.read_all((directory / "job.yaml").read_text())
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
