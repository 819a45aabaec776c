"""One run: users and faults beside each other, then rest, then the judgement."""

import datetime as dt
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.support.auditing import Audit, auditing
from tools.chaos import (
    logs,
    releases,
    report,
    settled,
    site,
    stepped_clock,
    stopwatch,
    storm,
    workload,
)
from tools.chaos.faults import Fault
from tools.chaos.replica import Replica
from tools.chaos.site import Say, Site
from tools.chaos.storm import Struck
from tools.chaos.users import Users
from tools.chaos.witness import Violation, Witness, violations
from tools.controlplane.wholeness import Spell

LONG_SECONDS = 30.0
LONGEST = 2000
"""So many of the last characters of a traceback are shown."""
AUDIT = ("--partial-seconds=240", "--leftover-seconds=240", "--skew-seconds=10")
"""A gang may stay in part, and a nomination without effect, for as long as faults keep all replicas
from ending what was begun. While watches stall, decisions rest on what was."""


@dataclass(frozen=True)
class Plan:
    """What a run is made of; the same plan gives the same workload and the same faults."""

    seconds: float
    seed: int
    faults: tuple[type[Fault], ...]
    replicas: int = 2
    source: str = "kopf"
    pace: float = workload.PODS_A_SECOND
    more_nodes: int = 0


@dataclass(frozen=True)
class Seen:
    """What a run came to. `violations` and `unsettled` are empty if all was as it must be."""

    struck: list[Struck]
    rows: list[report.Row]
    pods: int
    bound: int
    writes: int
    restarts: int
    begun_anew: int
    times: list[stopwatch.Row]
    violations: list[Violation] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    in_part: list[str] = field(default_factory=list)


def run(plan: Plan, say: Say, keep: Path | None = None) -> Seen:
    """Let it storm on a control plane of its own. Logs and the audit's record go to `keep`."""
    with site.running(plan.replicas, plan.source, say, plan.more_nodes) as there:
        there.old_source = releases.unpacked(there.plane.directory / "last-release")
        steps = workload.steps(plan.seed, plan.seconds, there.namespace.name, plan.pace)
        users = Users(there.namespace, steps)
        there.on_crd = users.create_again
        with (
            Witness(there.plane, there.namespace.name) as witness,
            auditing(there.plane, there.plane.directory, *AUDIT) as audit,
        ):
            try:
                users.start()
                struck = storm.rage(there, storm.schedule(plan.seed, plan.seconds, plan.faults))
                for proxy in there.proxies:
                    proxy.end_faults()
                users.join()
                say("the storm is over; waiting for rest")
                sizes = {name: gang.min_member for name, gang in users.every.items()}
                unsettled = settled.wrong(there, users.living, witness.was_whole(sizes))
            finally:
                audit.end()
                _keep_logs(there, audit, keep)
            return _seen(there, users, witness, audit, struck=struck, unsettled=unsettled)


def _seen(
    there: Site,
    users: Users,
    witness: Witness,
    audit: Audit,
    *,
    struck: list[Struck],
    unsettled: list[str],
) -> Seen:
    timed = witness.timed()
    sizes = {name: gang.min_member for name, gang in users.every.items()}
    found = [
        *violations(timed, workload.NODE_CPU),
        *(Violation(at, words) for at, words in there.log.foreign()),
        *_findings(audit),
        *(Violation(time.monotonic(), each) for each in _tracebacks(there)),
        *(Violation(time.monotonic(), each) for each in _dead_watches(there)),
    ]
    bindings = witness.bindings()
    last = timed[-1][1].received_at if timed else 0.0
    return Seen(
        struck=struck,
        rows=report.rows(struck, bindings, found),
        pods=users.pods,
        bound=len(bindings),
        writes=len(there.log.writes),
        restarts=sum(each.starts for each in there.replicas),
        begun_anew=sum(_log_of(each).count('"watch_begun_anew"') for each in there.replicas),
        times=stopwatch.rows(stepped_clock.times_of(each.clock) for each in there.replicas),
        violations=found,
        unsettled=unsettled,
        in_part=[_told(each, last) for each in _long(witness.spells_in_part(sizes), last)],
    )


def _findings(audit: Audit) -> list[Violation]:
    """Return what the auditor has found, and that it has failed itself."""
    since = time.monotonic() - time.time()
    found = [
        Violation(
            since + dt.datetime.fromisoformat(each["at"]).timestamp(),
            f"audit, {each['rule']}: {each['about']}: {each['message']}",
        )
        for each in audit.findings
    ]
    if audit.status not in (0, 1):
        found.append(Violation(time.monotonic(), f"the auditor ended with {audit.status}"))
    return found


def _tracebacks(there: Site) -> list[str]:
    return [
        f"{each.name}: {found[-LONGEST:]}"
        for each in there.replicas
        for found in logs.unexpected(_log_of(each).splitlines())
    ]


def _dead_watches(there: Site) -> list[str]:
    """Return the watches that had stopped, and that a new beginning did not help."""
    return [
        f"{each.name}: {line}"
        for each in there.replicas
        for line in _log_of(each).splitlines()
        if '"watch_dead"' in line
    ]


def _log_of(replica: Replica) -> str:
    return replica.log.read_text(errors="replace")


def _long(spells: Sequence[Spell], last: float) -> list[Spell]:
    found = [each for each in spells if each.seconds(last) > LONG_SECONDS]
    return sorted(found, key=lambda each: -each.seconds(last))


def _told(spell: Spell, last: float) -> str:
    return f"{spell.gang}: {len(spell.bound)} of {spell.min_member}, {spell.seconds(last):.0f} s"


def _keep_logs(there: Site, audit: Audit, keep: Path | None) -> None:
    if keep is None:
        return
    keep.mkdir(parents=True, exist_ok=True)
    for path in (*(each.log for each in there.replicas), audit.out, audit.err, audit.record):
        shutil.copyfile(path, keep / path.name)
