"""One proposal carried out: the cluster as it was explained, the change, and whether it came true.

For each proposal the cluster is made again, since what one of them does would change the others.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from e2e.support.manifest_worlds import NAMESPACE, Body, World
from e2e.support.waiting import until
from gang_scheduler.cli import main
from support.proposed_changes import Proposal, changed, of_document

AT_ONCE: Final = {"terminationGracePeriodSeconds": 0}
"""No kubelet ends what is evicted."""


class Trial(NamedTuple):
    """A proposal for a gang, and how many members had nodes in the end, of those it needs."""

    gang: str
    proposal: Proposal
    bound: int
    needed: int

    @property
    def started(self) -> bool:
        """Whether the gang started."""
        return self.bound >= self.needed


def carried_out(world: World, bodies: Sequence[Body], only: str = "") -> Iterator[Trial]:
    """Yield a trial of each proposal for each gang of a cluster; `only` those of one change.

    Raises AssertionError when a gang that shall start does not within a minute.
    """
    bodies = [*map(without_grace, bodies)]
    tried: set[tuple[str, Proposal]] = set()
    while True:
        world.put(bodies)
        proposals = _proposals(world, bodies)
        left = [each for each in proposals if each not in tried and only in ("", each[1].change)]
        if left:
            tried.add(left[0])
            yield _trial(world, bodies, *left[0])
        world.clear()
        if len(left) < 2:
            return


def without_grace(body: Body) -> Body:
    """Return a manifest; a pod leaves at once when it is evicted."""
    return {**body, "spec": {**AT_ONCE, **body["spec"]}} if body["kind"] == "Pod" else body


def _proposals(world: World, bodies: Sequence[Body]) -> list[tuple[str, Proposal]]:
    """Return the proposals for all gangs that wait, once the operator has nothing more to do."""
    names = [each["metadata"]["name"] for each in bodies if each["kind"] == "PodGroup"]
    documents = {name: _once_settled(world, name) for name in names}
    return [
        (name, of_document(each))
        for name, found in documents.items()
        for each in found.get("wouldStart", ())
    ]


def _once_settled(world: World, name: str) -> Any:
    return until(lambda: _settled(world, name))


def _settled(world: World, name: str) -> Any:
    """Return what is explained of a gang, None while it is being started or makes room."""
    (group,) = world.of_name("PodGroup", name)
    conditions = group.get("status", {}).get("conditions", [])
    decided = any(each["type"] == "Scheduled" for each in conditions)
    found = explained(world, name) if decided else None
    # No verdict: nothing of it waits. It need not run: some nodes of these worlds have no kubelet.
    return found if found is not None and found["verdict"] in ("Waits", None) else None


def _trial(world: World, bodies: Sequence[Body], name: str, proposal: Proposal) -> Trial:
    after = [*changed(bodies, name, proposal)]
    needed = next(
        each["spec"]["minMember"]
        for each in after
        if (each["kind"], each["metadata"]["name"]) == ("PodGroup", name)
    )
    world.become(after)

    def bound() -> int:
        return len(world.of_name("Pod", name)) - len(world.waiting(name))

    try:
        until(lambda: bound() >= needed)
    except AssertionError:
        summary = explained(world, name)["summary"]
        raise AssertionError(f"{name} did not start by {proposal}: {summary}") from None
    return Trial(name, proposal, bound(), needed)


def explained(world: World, name: str) -> Any:
    """Return the document of a gang, of the cluster as it is."""
    kubeconfig: Path = world.cluster.kubeconfig
    command = ["explain", name, f"--namespace={NAMESPACE}", "--output=json"]
    done = CliRunner().invoke(main, [*command, f"--kubeconfig={kubeconfig}"])
    if done.exit_code:
        raise AssertionError(done.output)
    return json.loads(done.stdout)
