"""`python -m tools.soak`: churn without faults, and fail if the memory of the operator grows."""

import argparse
import json
import sys
import time
from pathlib import Path

from tools.chaos import settled, site, workload
from tools.chaos.users import Users
from tools.chaos.witness import Witness, violations
from tools.soak.memory import Growth, Sampler, growth

MOST_SHARE = 0.05
HEARTBEAT_SECONDS = 60.0
MEBIBYTE = 1 << 20


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    with site.running(1, arguments.source, _say) as there:
        (replica,) = there.replicas
        steps = workload.steps(
            arguments.seed, arguments.seconds, there.namespace.name, arguments.pace
        )
        users = Users(there.namespace, steps)
        with Witness(there.plane, there.namespace.name) as witness:
            with Sampler(lambda: replica.cluster.processes.pid(replica.name)) as sampler:
                users.start()
                while users.is_busy:
                    time.sleep(HEARTBEAT_SECONDS if arguments.seconds > 300 else 10.0)
                    size = sampler.samples[-1].size_bytes / MEBIBYTE
                    _say(f"{users.pods} pods created, {size:.1f} MiB")
                users.join()
            sizes = {name: gang.min_member for name, gang in users.every.items()}
            wrong = settled.wrong(there, users.living, witness.was_whole(sizes))
            wrong += [each.words for each in violations(witness.timed(), workload.NODE_CPU)]
            bound = len(witness.bindings())
        restarts = sum(each.starts for each in there.replicas)
    if arguments.samples:
        samples = [[each.seconds, each.size_bytes] for each in sampler.samples]
        arguments.samples.write_text(json.dumps(samples))
    found = growth(sampler.samples)
    _tell(found, users.pods, bound)
    if restarts:
        wrong.append(f"the operator ended {restarts} times by itself")
    if found.share > MOST_SHARE:
        wrong.append(f"the memory grows by {found.share:.1%}, and {MOST_SHARE:.0%} is the most")
    for each in wrong:
        print(f"WRONG: {each}")
    return 1 if wrong else 0


def _tell(found: Growth, pods: int, bound: int) -> None:
    begin, end, peak = (
        each / MEBIBYTE for each in (found.begin_bytes, found.end_bytes, found.peak_bytes)
    )
    print(f"{pods} pods created, {bound} bound")
    print(
        f"memory after the warm-up, in {found.seconds:.0f} s: from {begin:.1f} to {end:.1f} MiB, "
        f"{found.share:+.1%}, {found.bytes_an_hour / MEBIBYTE:+.1f} MiB an hour; peak {peak:.1f}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--source", choices=("kopf", "reflector"), default="kopf")
    parser.add_argument("--pace", type=float, default=workload.PODS_A_SECOND, help="pods a second")
    parser.add_argument("--samples", type=Path, help="where to write the samples to, as JSON")
    return parser.parse_args()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
