"""Trains with PyTorch, with the model in shards, and keeps its checkpoints in a store.

    torchrun --nnodes=4 --nproc-per-node=8 ... train.py --store s3://bucket/pretrain-sharded

Next to it must be `checkpoint.py`, `checkpoint_store.py` and `checkpoint_files.py`, which are
modules of `gang_scheduler`.
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from checkpoint import Checkpoints
from checkpoint_store import Store
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

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
    parser.add_argument("--store", required=True, help="where checkpoints are kept")
    parser.add_argument("--steps", type=int, default=100_000)
    arguments = parser.parse_args()

    dist.init_process_group("cpu:gloo,cuda:nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = torch.nn.Linear(WIDTH, WIDTH).to(device)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters())

    with Checkpoints(agree=greatest) as checkpoints:
        store = Store(arguments.store, checkpoints)

        def state() -> dict:
            weights, moments = get_state_dict(model, optimizer)
            return {"model": weights, "optimizer": moments}

        if checkpoints.resume.path:
            found = state()
            with store.load(checkpoints.resume.path) as directory:
                dcp.load(found, checkpoint_id=directory)
            set_state_dict(
                model,
                optimizer,
                model_state_dict=found["model"],
                optim_state_dict=found["optimizer"],
            )

        def write(directory: Path) -> None:
            # Each rank writes its own shards, whose names have the rank.
            dcp.save(state(), checkpoint_id=directory)

        def save(done: int) -> str:
            saved = store.save(done, write)
            store.keep(last=3, every=10_000)
            return saved.path

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
