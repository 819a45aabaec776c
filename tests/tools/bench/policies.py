"""`python -m tools.bench.policies`: our own policies on the jobs of large training clusters.

Each trace is replayed under each policy, and one table and one picture say what came of them:

    python -m tools.bench.policies --openb DIRECTORY --picture docs/images/policies.svg

Without `--openb`, which has the files `openb_pods.csv` and `openb_nodes.csv`, the two made traces
are replayed alone. `tools.bench.traces` says what these are like.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib import style
from matplotlib.figure import Figure

from gang_scheduler.replay import reading, side_by_side, table
from gang_scheduler.replay.jobs import Trace
from gang_scheduler.replay.run import Rules
from gang_scheduler.replay.scenarios import Clusters, Given
from tools.bench import charts, traces

POLICIES: Final[Mapping[str, str]] = {
    "default": "{}",
    "8 promises": "{reservations: 8, reservationAfterSeconds: 0}",
    "no promises": "{reservations: 0}",
    "FairShare": "{queueFairness: FairShare}",
    "no backfill": "{backfillWindowSeconds: 0}",
    "no evictions": "{preemption: false}",
    "strict FIFO": "{queueStrategy: StrictFIFO}",
    "pod by pod": "{podByPod: true}",
}
"""By name the settings. `no backfill`: declared ends are not believed, so nothing ends in time."""
COLOURS: Final = (
    "#0072b2",
    "#56b4e9",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#f0e442",
    "#d55e00",
    "#000000",
)
COLUMNS: Final = ("mean wait", "p99", "9+ GPUs", "useful", "unfair", "lost", "evicted", "makespan")
Json = Mapping[str, Any]


def replayed(trace: Trace, given: Given) -> list[Json]:
    """Return what the policies come to on a trace."""
    scenarios = Clusters(given).scenarios(trace)
    cores = os.cpu_count() or 1
    done = side_by_side.compare(trace, scenarios, Rules(), cores, lambda _: None)
    return [each.document for each in done]


def row(policy: Json) -> list[str]:
    """Return the cells of a policy in the table."""
    waits = policy["wait"]
    large = [waits["bySize"][each] for each in ("9-64", "65+") if each in waits["bySize"]]
    number = sum(each["jobs"] for each in large)
    mean = sum(each["jobs"] * each["mean"] for each in large) / number if number else None
    hours = policy["hours"]
    lost = hours["lostToEvictions"] / (hours["used"] or 1)
    return [
        *(
            policy["name"],
            table.duration(waits["all"]["mean"]),
            table.duration(waits["all"]["p99"]),
        ),
        "-" if mean is None else table.duration(mean),
        f"{100 * (hours['done'] + hours['stillRunning']) / (hours['available'] or 1):.1f} %",
        f"{100 * policy['fairness']['deviation']:.1f} %",
        f"{100 * lost:.1f} %",
        str(policy["evictions"]["gangs"]),
        table.duration(policy["makespan"]),
    ]


def lines(found: Mapping[str, Sequence[Json]]) -> Iterator[str]:
    """Yield a table in Markdown for each trace."""
    for name, policies in found.items():
        yield f"\n{name}:\n"
        yield f"| policy | {' | '.join(COLUMNS)} |"
        yield "|---" * (len(COLUMNS) + 1) + "|"
        for policy in policies:
            yield f"| {' | '.join(row(policy))} |"


def picture(found: Mapping[str, Sequence[Json]]) -> Figure:
    """Return which part of the jobs waited no longer than so long, a panel a trace."""
    with style.context(dict(charts.STYLE)):
        figure = Figure(figsize=(charts.INCHES, 2.6 * len(found)), layout="constrained")
        panels = figure.subplots(len(found), 1, squeeze=False)
        for (name, policies), panel in zip(found.items(), panels[:, 0], strict=True):
            for colour, policy in zip(COLOURS, policies, strict=True):
                hours = [max(wait, 1) / 3600 for wait in policy["waits"]]
                panel.plot(hours, range(len(hours)), color=colour, label=policy["name"])
            panel.set_xscale("log")
            panel.set_title(name)
            panel.set_xlabel("wait (hours)")
            panel.set_ylabel("% of jobs")
        panels[0, 0].legend(loc="lower right", ncols=2)
    return figure


def main(arguments: list[str]) -> None:
    """Replay the traces; print tables, and write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=600, help="of each made trace")
    parser.add_argument("--nodes", type=int, default=40, help="of each made trace, with 8 GPUs")
    parser.add_argument("--load", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--openb", type=Path)
    parser.add_argument(
        "--every", type=int, default=16, help="which part of openb: each so many-th"
    )
    parser.add_argument("--only", help="one trace: philly, helios, or openb")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    found: dict[str, Sequence[Json]] = {}
    with tempfile.TemporaryDirectory() as directory:
        policies = []
        for name, settings in POLICIES.items():
            path = Path(directory) / f"{name.replace(' ', '-')}.yaml"
            path.write_text(settings)
            policies.append(f"{name}={path}")
        for name, shape in traces.SHAPES.items():
            if given.only in (None, name):
                text = traces.made(shape, given.jobs, given.nodes * 8, given.load, given.seed)
                trace = reading.of_text(name, "\n".join(text), {})
                found[name] = replayed(trace, Given(nodes=f"{given.nodes}x8", policies=policies))
        if given.openb is not None and given.only in (None, "openb"):
            text = traces.openb(given.openb / "openb_pods.csv", given.every)
            trace = reading.of_text("openb", "\n".join(text), {})
            cluster = Path(directory) / "nodes.json"
            nodes = traces.openb_nodes(given.openb / "openb_nodes.csv", given.every)
            listed = {"apiVersion": "v1", "kind": "List", "items": nodes}
            cluster.write_text(json.dumps(listed))
            found["openb"] = replayed(trace, Given(cluster=[str(cluster)], policies=policies))
    print("\n".join(lines(found)))
    if given.json is not None:
        given.json.write_text(json.dumps(found))
    if given.picture is not None:
        picture(found).savefig(given.picture, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1:])
