"""The state after the storm, judged: one that a run without faults allows.

A scheduler that met no fault would find nothing left to do in it: `simulate` is asked for that.
"""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.chaos.faults.servers import KWOK
from tools.chaos.replica import OPERATOR
from tools.chaos.site import POLICY, Site
from tools.chaos.workload import Gang
from tools.demo import placements

PATIENCE_SECONDS = 600.0
LOOK_SECONDS = 3.0
HEARTBEAT_SECONDS = 15.0
LEAVING, LEAVING_SECONDS = "pods are leaving", 45.0
"""After so long it is KWOK that has forgotten them: they have 3 seconds at most."""
DEVICES = "apis/resource.k8s.io/v1"
GANGS = "apis/scheduling.sigs.k8s.io/v1alpha1"
AGE = re.compile(r'^pgs_watch_age_seconds\{kind="([^"]+)"\} (\S+)$', re.MULTILINE)
SILENT_SECONDS = 60.0
"""After so long without a sign of life a watch has stopped."""
Pod = Mapping[str, Any]


def wrong(
    site: Site,
    living: Mapping[str, Gang],
    were_whole: set[str],
    patience_seconds: float = PATIENCE_SECONDS,
) -> list[str]:
    """Return what is still wrong when the patience has ended; nothing, as soon as all is well.

    Well means twice in a row.
    """
    until = time.monotonic() + patience_seconds
    was_well, said_at = False, time.monotonic()
    none_left_at, leaving_seconds = time.monotonic(), LEAVING_SECONDS
    while True:
        # The last takes seconds: not before it can be all that is left.
        found = sorted({*_wrong_now(site, living, were_whole)}) or sorted({*undone(site)})
        if LEAVING not in found:
            none_left_at = time.monotonic()
        elif time.monotonic() - none_left_at > leaving_seconds:
            # A new KWOK waits until the Leases of the former one are over: the next has more time.
            none_left_at, leaving_seconds = time.monotonic(), 2 * leaving_seconds
            site.say("  pods do not leave: restart of KWOK")
            site.plane.stop_component(KWOK)
            site.plane.start_component(KWOK)
        if found and time.monotonic() - said_at > HEARTBEAT_SECONDS:
            said_at = time.monotonic()
            site.say(f"  not at rest yet in {len(found)} ways, such as: {found[0]}")
        if (not found and was_well) or time.monotonic() > until:
            return found
        was_well = not found
        time.sleep(LOOK_SECONDS)


def _wrong_now(site: Site, living: Mapping[str, Gang], were_whole: set[str]) -> Iterator[str]:
    pods = placements.items(site.plane, f"api/v1/namespaces/{site.namespace.name}/pods")
    yield from in_part(pods, living, were_whole)
    yield from left_over(pods)
    path = f"{DEVICES}/namespaces/{site.namespace.name}/resourceclaims"
    yield from held_in_vain(pods, placements.items(site.plane, path))
    groups = placements.items(site.plane, f"{GANGS}/namespaces/{site.namespace.name}/podgroups")
    yield from statuses(pods, groups)
    for each in site.replicas:
        for words in stopped_watches(each.get("/metrics") or ""):
            yield f"{each.name}: {words}"


def in_part(pods: Sequence[Pod], living: Mapping[str, Gang], were_whole: set[str]) -> Iterator[str]:
    """Yield the gangs that have some of their pods bound, and never had enough."""
    bound = Counter(placements.gang_of(each) for each in pods if _holds_node(each))
    for name, gang in sorted(living.items()):
        if 0 < bound[name] < gang.min_member and name not in were_whole:
            yield f"in part: {bound[name]} of {gang.min_member} of {name} ({gang.source})"


def left_over(pods: Sequence[Pod]) -> Iterator[str]:
    """Yield the marks and nominations that a preemption left, while no pod leaves."""
    if any("deletionTimestamp" in each["metadata"] for each in pods):
        yield LEAVING
        return
    for each in pods:
        name, status = each["metadata"]["name"], each["status"]
        if "nodeName" not in each["spec"] and status.get("nominatedNodeName"):
            yield f"nominated, and nothing leaves: {name}"
        marked = any(
            condition["type"] == "DisruptionTarget"
            and condition["status"] == "True"
            and condition.get("reason") == "PreemptionByScheduler"
            for condition in status.get("conditions", ())
        )
        if marked and status.get("phase") not in ("Failed", "Succeeded"):
            yield f"marked, and not evicted: {name}"


def held_in_vain(pods: Sequence[Pod], claims: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield claims with devices that no bound pod uses, and devices that two claims have."""
    bound = {each["metadata"]["uid"] for each in pods if "nodeName" in each["spec"]}
    users: dict[str, str] = {}
    for each in claims:
        name, status = each["metadata"]["name"], each.get("status") or {}
        allocation = status.get("allocation")
        reserved = [user["uid"] for user in status.get("reservedFor") or ()]
        if (allocation or reserved) and not (reserved and bound.issuperset(reserved)):
            yield f"claim {name} has devices, and a user that is not bound, or none"
        for device in (allocation or {}).get("devices", {}).get("results", ()):
            key = f"{device['pool']}/{device['device']}"
            if users.setdefault(key, name) != name:
                yield f"device {key} is in claims {users[key]} and {name}"


def statuses(pods: Sequence[Pod], groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the PodGroups whose status says another number of bound pods than there is."""
    bound = Counter(placements.gang_of(each) for each in pods if _holds_node(each))
    for each in groups:
        name = each["metadata"]["name"]
        said = each.get("status", {}).get("scheduled", 0)
        if said != bound[name]:
            yield f"status of {name}: {said} scheduled, and it is {bound[name]}"


def stopped_watches(exposition: str) -> Iterator[str]:
    """Yield the watches of a replica that tell nothing any more, from its metrics."""
    for kind, age in AGE.findall(exposition):
        if float(age) > SILENT_SECONDS:
            yield f"the watch of {kind} has received nothing for {float(age):.0f} s"


def undone(site: Site) -> Iterator[str]:
    """Yield what a scheduler would do now that has no history."""
    path = site.plane.directory / "settled.yaml"
    _ours("snapshot", f"--kubeconfig={site.plane.kubeconfig}", f"--output={path}")
    said = json.loads(_ours("simulate", f"--filename={path}", "--output=json", *POLICY))
    for each in said["bindings"]:
        yield f"could be bound: {each['pod']} of {each['gang']}"
    for each in said["victims"]:
        yield f"could be evicted: {each['pod']} for {each['preemptor']}"
    for each in said.get("admissions", ()):
        yield f"could be started: {each}"


def _ours(*arguments: str) -> str:
    command = ["env", f"PYTHONPATH={OPERATOR}", sys.executable, "-m", "gang_scheduler", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def _holds_node(pod: Pod) -> bool:
    alive = pod["status"].get("phase") != "Failed" and "deletionTimestamp" not in pod["metadata"]
    return "nodeName" in pod["spec"] and alive
