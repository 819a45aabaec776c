"""A replay as a document of kind Replay, from which tables and the report are made."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from gang_scheduler.model.refs import NaturalKey, natural_key
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.replay import measures
from gang_scheduler.replay.jobs import Trace
from gang_scheduler.replay.measures import Life, Measures
from gang_scheduler.replay.run import Replay, Rules
from gang_scheduler.replay.scenarios import Scenario

API_VERSION: Final = "py-gang-scheduler.io/v1alpha1"
BOUND_SECONDS: Final = 600
"""When waits are compared with run times, shorter jobs count as running for this long."""
MOST_PARTS: Final = 240
"""A series of a document has at most this many points."""
MOST_BARS: Final = 100
"""A document lists the runs of this many gangs, the largest ones."""
QUANTILES: Final = 101
Json = dict[str, Any]


def of_replay(
    trace: Trace, scenarios: Sequence[Scenario], policies: Sequence[Json], rules: Rules
) -> Json:
    """Return the whole document."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Replay",
        "trace": _trace(trace),
        "rules": {
            "until": rules.until,
            "restartDelay": rules.restart_delay,
            "bindLatency": rules.bind_latency,
            "startLatency": rules.start_latency,
            "failures": list(rules.failures) if rules.failures else None,
            "seed": rules.seed,
        },
        "nodes": len(scenarios[0].nodes),
        "policies": [_with_difference(each, policies[0]) for each in policies],
    }


def _trace(trace: Trace) -> Json:
    jobs = trace.jobs
    gangs = [job for job in jobs if job.pods > 1]
    return {
        "form": trace.form,
        "jobs": len(jobs),
        "gangs": len(gangs),
        "largest": max((job.gpus for job in jobs), default=0),
        "begin": rfc3339(trace.begin) if trace.dated else None,
        "seconds": jobs[-1].submit - trace.begin,
    }


def of_policy(scenario: Scenario, replay: Replay, trace: Trace) -> Json:
    """Return the outcome of all jobs under one policy."""
    found, until = replay.measures, replay.now
    lives = [found.lives[job.key] for job in trace.jobs if job.key in found.lives]
    counted = [life for life in lives if not life.withdrawn or life.began is not None]
    ended = [life for life in lives if life.ended is not None and not life.withdrawn]
    groups = measures.grouped(counted, until)
    return {
        "name": scenario.name,
        "complete": replay.complete,
        "seconds": until - found.begin,
        "resource": "gpu" if found.by_gpu else "cpu",
        "capacity": _units(found, found.whole),
        "jobs": _jobs(lives),
        "wait": {
            "all": measures.spread([life.wait(until) for life in counted]),
            **{
                f"by{name.capitalize()}": {
                    key: measures.spread(values)
                    for key, values in sorted(group.items(), key=_first_number)
                }
                for name, group in groups.items()
            },
        },
        "slowdown": measures.spread([_slowdown(life) for life in ended]),
        "makespan": max((life.ended or 0 for life in ended), default=found.begin) - found.begin,
        **_usage(found),
        "evictions": {
            "gangs": sum(life.evictions for life in lives),
            "moreThanOnce": sum(life.evictions > 1 for life in lives),
            "byFailures": sum(life.failures for life in lives),
        },
        "domainsPerGang": _domains(lives),
        "promises": _promises(lives),
        "cycles": {"all": found.totals.cycles, "withoutEvent": found.totals.wakes},
        "series": _series(found),
        "waits": _quantiles([life.wait(until) for life in counted]),
        "largest": _largest(lives, found.begin, until),
    }


def _first_number(item: tuple[str, object]) -> NaturalKey:
    """Return a sort key that puts 9-64 before 65+."""
    return natural_key(item[0])


def _jobs(lives: Sequence[Life]) -> Json:
    never = sum(life.began is None and life.ended is None for life in lives)
    finished = sum(life.ended is not None and not life.withdrawn for life in lives)
    withdrawn = sum(life.withdrawn for life in lives)
    return {
        "submitted": len(lives),
        "finished": finished,
        "withdrawn": withdrawn,
        "running": len(lives) - finished - withdrawn - never,
        "waiting": never,
    }


def _slowdown(life: Life) -> float:
    took = (life.ended or 0) - life.job.submit
    runs = max(life.job.duration or 0, BOUND_SECONDS)
    return max(1.0, took / runs)


def _usage(found: Measures) -> Json:
    """Return the sums over the time, in GPU hours or CPU hours and as shares of the total."""
    totals = found.totals
    hours = {
        "available": totals.capacity,
        "used": totals.used,
        "done": totals.done,
        "stillRunning": totals.running,
        "lostToEvictions": totals.lost_to_evictions,
        "lostToFailures": totals.lost_to_failures,
        "idleWhileWaiting": totals.idle,
        "idleUnusable": totals.unusable,
    }
    lost = totals.lost_to_evictions + totals.lost_to_failures
    held = totals.used - totals.done - totals.running - lost
    hours["heldWithoutWork"] = max(0.0, held)
    whole = totals.capacity or 1
    contended = totals.contended or 1
    return {
        "hours": {name: _units(found, value / 3600) for name, value in hours.items()},
        "utilisation": round(totals.used / whole, 6),
        "goodput": round((totals.done + totals.running) / whole, 6),
        "fragmentation": round(totals.idle / whole, 6),
        "fragmentationUnusable": round(totals.unusable / whole, 6),
        "fairness": {
            "deviation": round(totals.unfairness / contended, 6),
            "jain": round(totals.jain / contended, 6) if totals.contended else 1.0,
        },
    }


def _units(found: Measures, value: float) -> float:
    return round(value if found.by_gpu else value / 1000, 3)


def _domains(lives: Sequence[Life]) -> float | None:
    counts = [life.domains for life in lives if life.job.pods > 1 and life.domains]
    return round(sum(counts) / len(counts), 3) if counts else None


def _promises(lives: Sequence[Life]) -> Json:
    """Return how many promised starts were kept, and by how many seconds others were late."""
    given = [life for life in lives if life.promised is not None]
    started = [life for life in given if life.began is not None]
    late = [max(0, (life.began or 0) - (life.promised or 0)) for life in started]
    missed = [seconds for seconds in late if seconds > 0]
    return {
        "made": len(given),
        "kept": len(started) - len(missed),
        "missed": len(missed),
        "missedBy": measures.spread(missed),
    }


def _series(found: Measures) -> Json:
    """Return the usage of each queue over time, as averages over equal parts of the time."""
    averages, width = found.buckets.averages(), found.buckets.width
    step = max(1, -(-len(averages) // MOST_PARTS))
    rows = [averages[at : at + step].mean(axis=0) for at in range(0, len(averages), step)]
    columns = list(zip(*(row.tolist() for row in rows), strict=True)) if rows else []
    names = found.queues
    values = [[_units(found, each) for each in column] for column in columns]
    if not values:
        values = [[] for _ in range(len(names) + 2)]
    return {
        "stepSeconds": width * step,
        "used": dict(zip(names, values, strict=False)),
        "waiting": values[-2],
        "unfairness": [round(float(row[-1]), 6) for row in rows],
    }


def _quantiles(values: Sequence[float]) -> list[float]:
    """Return for each of 0, 1, ... 100 % the wait that this part of the jobs stays below."""
    if not values:
        return []
    ordered = sorted(values)
    return [measures.quantile(ordered, part / (QUANTILES - 1)) for part in range(QUANTILES)]


def _largest(lives: Sequence[Life], begin: int, until: int) -> list[Json]:
    chosen = sorted(lives, key=lambda life: (-life.job.gpus, -life.job.pods, life.job.submit))
    return [
        {
            "name": life.job.name,
            "queue": life.job.queue or measures.NO_QUEUE,
            "gpus": life.job.gpus,
            "pods": life.job.pods,
            "submitted": life.job.submit - begin,
            "waited": life.wait(until),
            "runs": [[start - begin, end - begin] for start, end in life.runs],
        }
        for life in sorted(chosen[:MOST_BARS], key=lambda life: life.job.submit)
    ]


DIFFERENCES: Final = (
    ("waitMean", ("wait", "all", "mean")),
    ("waitP90", ("wait", "all", "p90")),
    ("slowdownMean", ("slowdown", "mean")),
    ("makespan", ("makespan",)),
    ("utilisation", ("utilisation",)),
    ("goodput", ("goodput",)),
    ("finished", ("jobs", "finished")),
    ("unfairness", ("fairness", "deviation")),
)


def _with_difference(policy: Json, first: Json) -> Json:
    if policy is first:
        return policy
    differences = {
        name: round(value_at(policy, path) - value_at(first, path), 6) for name, path in DIFFERENCES
    }
    return {**policy, "differences": differences}


def value_at(document: Mapping[str, Any], path: Sequence[str]) -> float:
    """Return a number in a document."""
    found: Any = document
    for name in path:
        found = found[name]
    return float(found)


def moment(document: Mapping[str, Any], seconds: float) -> str:
    """Return a time of a replay for people: the date, or the number of the day."""
    begin = document["trace"]["begin"]
    if begin is not None:
        at = datetime.fromisoformat(begin).timestamp() + seconds
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
    days, rest = divmod(round(seconds), 86_400)
    return f"day {days} {rest // 3600:02d}:{rest % 3600 // 60:02d}"
