"""Pods that run by themselves in a random world, of ours and of others, and what protects them."""

from search import manifests
from search.drawing import Drawing
from search.manifests import Manifest

ENDS_LATER, ENDED_LONG_AGO = 5_000, -5_000


def draw(drawing: Drawing) -> None:
    """Draw single pods on the nodes, and budgets."""
    dice = drawing.dice
    for name in ("x", "y", "z")[: dice.randint(1, 3) if "budgets" in drawing.has else 0]:
        drawing.add(manifests.budget(name, {f"budget-{name}": "yes"}, dice.choice((0, 0, 1, 2))))
    most = dice.randint(2, 10) if "full" in drawing.has else dice.randint(0, 2)
    for number in range(most):
        asked = drawing.ask()
        node = drawing.put_on([*drawing.nodes], asked)
        if node:
            drawing.add(_bound_pod(drawing, f"run{number}", asked, node))


def _bound_pod(drawing: Drawing, name: str, asked: dict[str, int], node: str) -> Manifest:
    body = manifests.pod(
        name,
        asked,
        namespace=drawing.namespace(),
        created=drawing.moment(),
        labels=labels_of_one_that_runs(drawing),
        spec={"nodeName": node, "priority": drawing.priority(runs=True)},
        status=status_of_one_that_runs(drawing),
    )
    if drawing.sometimes("others", 0.3):
        body["spec"]["schedulerName"] = "default-scheduler"
    if drawing.sometimes("protected", 0.1):
        _give_to_a_daemon_set(body, node)
    leave(drawing, body)
    return body


def _give_to_a_daemon_set(body: Manifest, node: str) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d"}
    body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    named = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    terms = {"nodeSelectorTerms": [{"matchFields": named}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    body["spec"]["affinity"] = {"nodeAffinity": required}


def labels_of_one_that_runs(drawing: Drawing) -> dict[str, str]:
    """Return labels by which budgets cover a pod, others look for it, or it is protected."""
    labels = {f"budget-{n}": "yes" for n in "xyz" if drawing.sometimes("budgets", 0.35)}
    if drawing.sometimes("pod affinity", 0.4):
        labels["app"] = "x"
    if drawing.sometimes("protected", 0.15):
        labels["scheduling.koordinator.sh/disable-preemptible"] = "true"
    return labels


def status_of_one_that_runs(drawing: Drawing) -> Manifest:
    """Return since when a pod runs, if that is known."""
    started = drawing.dice.choice((None, 0, 100, 400))
    return {} if started is None else {"startTime": manifests.when(started)}


def leave(drawing: Drawing, body: Manifest) -> None:
    """Let a pod be on its way out, at times, or hang there, or be marked as a victim."""
    if drawing.sometimes("leaving", 0.25):
        ends = ENDS_LATER if drawing.chance(0.8) else ENDED_LONG_AGO
        body["metadata"]["deletionTimestamp"] = manifests.when(ends)
        body["metadata"]["deletionGracePeriodSeconds"] = 30
    elif drawing.sometimes("marked", 0.25):
        mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
        body["status"].setdefault("conditions", []).append(mark)
