"""Trains with PyTorch on all GPUs of a gang; saves when asked, and goes on after an eviction.

    torchrun --nnodes=4 --nproc-per-node=8 ... train.py --directory /checkpoints

Beside it must be `checkpoint.py`, which is the module `gang_scheduler.checkpoint`.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from checkpoint import Checkpoints
from torch.nn.parallel import DistributedDataParallel

WIDTH = 4096
BATCH = 64


def greatest(own: int) -> int:
    """Return the greatest of all ranks' numbers: what one rank is asked for, all do."""
    # In the memory of the CPU, over gloo: the GPUs need not wait for it.
    number = torch.tensor(own)
    dist.all_reduce(number, op=dist.ReduceOp.MAX)
    return int(number)


def main() -> None:
    """Train until all steps are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, required=True, help="where checkpoints are")
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()

    dist.init_process_group("cpu:gloo,cuda:nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = DistributedDataParallel(torch.nn.Linear(WIDTH, WIDTH).to(device))
    optimizer = torch.optim.AdamW(model.parameters())

    with Checkpoints(agree=greatest) as checkpoints:
        if checkpoints.resume.path:
            state = torch.load(checkpoints.resume.path, map_location=device)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])

        def save(done: int) -> str:
            path = arguments.directory / f"step-{done}.pt"
            if checkpoints.rank == 0:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                unfinished = path.with_suffix(".unfinished")
                torch.save(state, unfinished)
                unfinished.replace(path)
            return str(path)

        for step in checkpoints.steps(arguments.steps, save, every=1000, look_every=5):
            torch.manual_seed(step * dist.get_world_size() + checkpoints.rank)
            batch = torch.randn(BATCH, WIDTH, device=device)
            loss = (model(batch) - batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    # Not reached after an eviction: that leaves the loop by an exception which ends the process.
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
