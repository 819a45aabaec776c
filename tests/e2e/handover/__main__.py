"""`python -m e2e.handover`: time from the end of a leader to the first binding of the other.

In a large cluster, in which pods run on all nodes and one gang is created as the leader ends. By
the clock of the API server, from its audit log: for a leader that is asked to end from its release
of the Lease, for one that is killed from its last renewal.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from e2e.support.manifests import gang
from e2e.support.namespaces import Namespace
from e2e.support.replicas import Pair, Replica, options
from e2e.support.waiting import until
from tools import controlplane
from tools.bench import start
from tools.controlplane import audit

SIZE: Final = 4
TAKEN: Final = {200, 201}


def main() -> int:
    """Measure and print."""
    arguments = _arguments()
    table = Table(title=f"{arguments.pods:,} pods on {arguments.nodes:,} nodes: seconds")
    for title in ("source", "leader is", "release to binding", "end to binding", "by metric"):
        table.add_column(title, justify="right")
    with (
        tempfile.TemporaryDirectory() as directory,
        controlplane.start(options(Path(directory), kwok=False)) as plane,
        Namespace(plane, "handover") as namespace,
    ):
        start.fill(plane, arguments.nodes, arguments.pods)
        for source in arguments.sources:
            with Pair(plane, source, f"--source={source}") as pair:
                for number in range(arguments.rounds):
                    for way in ("asked", "killed"):
                        figures = _handover(plane, namespace, pair, way, number)
                        table.add_row(source, way, *figures)
                        _say(f"{source}, {way}: {', '.join(figures)}")
    Console(width=110).print(table)
    return 0


def _handover(
    plane: controlplane.ControlPlane, namespace: Namespace, pair: Pair, way: str, number: int
) -> tuple[str, ...]:
    """End the leader; return the seconds until the other binds, and start the ended one again."""
    first, other = pair.turns()
    offset, name = audit.end(plane.audit_log), f"{first.name}-{way}-{number}"
    ended_at = time.time()
    if way == "asked":
        first.terminate()
    else:
        first.kill()
    namespace.create(*gang(name, SIZE))
    until(lambda: len(_bound(other, offset)) == SIZE)
    last_write = max(each.received_at for each in first.writes() if each.is_of_lease)
    bound_at = min(_bound(other, offset))
    metric = other.metric("pgs_handover_seconds_sum")
    if way == "asked":
        first.stop()
    first.start()
    return f"{bound_at - last_write:.2f}", f"{bound_at - ended_at:.2f}", f"{metric:.2f}"


def _bound(replica: Replica, offset: int) -> list[float]:
    found = replica.writes(offset)
    return [each.answered_at for each in found if each.resource == "pods/binding"]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.handover", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", nargs="*", default=["reflector", "kopf"])
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
