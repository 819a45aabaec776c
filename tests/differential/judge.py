"""Compares both verdicts on all pods of a case, and looks twice before it says that they differ.

kube-scheduler's watches of different kinds may lag behind each other, so a first answer may be of
a cluster that was not yet whole. A second one is not.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from differential import explanations, oracle, stage
from differential.explanations import Difference
from differential.oracle import Oracle, Verdict
from differential.ours import Opinion, Ours
from differential.report import Report
from differential.stage import Stage
from differential.worlds import Drawn, Manifest, World

MOST_QUESTIONS: Final = 20
AGAIN: Final = "-again"
NO_OPINION: Final = Opinion(frozenset(), frozenset(), Counter(), ("it is not tried at all",))


class Judge:
    """Judges case by case, and writes what it finds into a report."""

    def __init__(self, where: Stage, theirs: Oracle, report: Report) -> None:
        self._stage = where
        self._oracle = theirs
        self._report = report
        self._ours = Ours()

    def judge(self, world: World) -> None:
        """Put up a case, compare all verdicts on it, and clear it away."""
        # 1. Everything but the pods that wait.
        self._put_up(world)
        # 2. The pods that wait, judged by both.
        found = list(self._differences(world, world.pending))
        # 3. Where they differ without a reason, both are asked again.
        doubtful = {_name(each) for each in found if explanations.explain(each) is None}
        settled = [each for each in found if _name(each) not in doubtful]
        repeated = [_again(pod) for pod in world.pending if pod.name in doubtful]
        settled.extend(self._differences(world, repeated))
        # 4. What is left is true.
        self._report.cases += 1
        self._report.again += len(repeated)
        for each in settled:
            self._report.note_difference(each)
        self._stage.clear(world)

    def _put_up(self, world: World) -> None:
        """Return once kube-scheduler knows of everything that was created."""
        node, last = stage.canaries(world)
        world.nodes.append(node)
        world.bound.append(last)
        self._stage.put_up(world)
        for number in range(MOST_QUESTIONS):
            asked = stage.question(world, number)
            self._stage.create([asked])
            verdict = self._verdicts([asked])[asked.name]
            if any("free ports" in words for words in verdict.reasons):
                return
        raise AssertionError(f"kube-scheduler does not see the objects of case {world.seed}")

    def _differences(self, world: World, pods: Sequence[Drawn]) -> Iterator[Difference]:
        """Create pods that wait, and yield where verdicts on them differ."""
        if not pods:
            return
        made = self._stage.create(pods)
        self._report.invalid += len(pods) - len(made)
        judged = [pod for pod in made if "schedulingGates" not in pod.spec]
        verdicts = self._verdicts(judged)
        everything = self._stage.everything()
        opinions = self._opinions(world, made, everything)
        nodes = [node["metadata"]["name"] for node in everything["Node"]]
        self._report.held += len(made) - len(judged)
        for pod in made:
            opinion = opinions[pod.name]
            if pod not in judged:
                assert opinion is None, f"{pod.name} has gates, and is tried"
                continue
            verdict = verdicts[pod.name]
            if pod in world.pending:
                self._report.note(pod.features, len(nodes), len(verdict.passed))
            yield from _between(world.seed, pod, nodes, opinion or NO_OPINION, verdict)

    def _opinions(
        self, world: World, pods: Sequence[Drawn], everything: dict[str, list[Manifest]]
    ) -> dict[str, Opinion | None]:
        """Return our verdicts, of a cache that has seen all cases: they are those of a new one."""
        fresh = Ours()
        for each in (self._ours, fresh):
            each.see(everything, world.seed)
        opinions = {pod.name: self._ours.opinion(pod.name) for pod in pods}
        for name, opinion in opinions.items():
            assert opinion == fresh.opinion(name), f"of {name} a new cache says another thing"
        return opinions

    def _verdicts(self, pods: Sequence[Drawn]) -> dict[str, Verdict]:
        def judged() -> dict[str, Verdict]:
            found = ((pod, self._oracle.verdict(pod)) for pod in self._stage.pods())
            return {pod["metadata"]["name"]: verdict for pod, verdict in found if verdict}

        return oracle.wait_for([pod.name for pod in pods], judged, self._stage.plane)


def _between(
    seed: int, pod: Drawn, nodes: Sequence[str], ours: Opinion, theirs: Verdict
) -> Iterator[Difference]:
    """Yield where two verdicts on a pod differ: on which nodes, or else in words alone."""
    told = (pod.manifest, pod.features)
    for node in nodes:
        if (node in ours.passed) != (node in theirs.passed):
            yield Difference(seed, *told, node, ours, theirs)
    if ours.like_theirs == theirs.passed and (theirs.wholly or ours.reasons != theirs.reasons):
        yield Difference(seed, *told, "", ours, theirs)


def _again(pod: Drawn) -> Drawn:
    other = copy.deepcopy(pod)
    other.manifest["metadata"]["name"] += AGAIN
    for claim in other.own:
        name = claim.body["metadata"]["name"].replace(pod.name, pod.name + AGAIN)
        claim.body["metadata"]["name"] = name
    return other


def _name(difference: Difference) -> str:
    return str(difference.pod["metadata"]["name"])
