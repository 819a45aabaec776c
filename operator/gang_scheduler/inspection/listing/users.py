"""The users of scarce resources: pods on nodes by namespace, user and scheduler.

Pods of all schedulers count.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import devices, nodes, table_layout
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json
from gang_scheduler.inspection.listing.states_and_orders import USER
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.resources import quantity, quantity_of
from gang_scheduler.model.wording import counted

_DROPS: Final = ("PODS", "SCHEDULER")


@dataclass(frozen=True, slots=True)
class UserLine:
    """Pods of one namespace, user and scheduler; `used` has the sum of their requests by resource.

    `user` is "" without the label for it.
    """

    namespace: str
    user: str
    scheduler: str
    pods: int
    used: tuple[tuple[str, int], ...]


def lines(cluster: Cluster, namespace: str = "") -> list[UserLine]:
    """Return the users of scarce resources, the largest user first."""
    resources = nodes.scarce(devices.offered(cluster))
    found: defaultdict[tuple[str, str, str], list[Pod]] = defaultdict(list)
    for pod in _on_nodes(cluster, namespace):
        if any(name in resources and number for name, number in pod.pod_class.requests):
            found[pod.namespace, pod.labels.get(USER, ""), pod.scheduler].append(pod)
    made = [UserLine(*who, len(pods), _used(pods, resources)) for who, pods in found.items()]
    return sorted(
        made,
        key=lambda each: (
            *(-number for _, number in each.used),
            *(each.namespace, each.user, each.scheduler),
        ),
    )


def foreign(cluster: Cluster, namespace: str = "") -> str:
    """Return how many GPUs the pods of other schedulers use, in words; "" if they use none."""
    pods = [
        pod
        for pod in _on_nodes(cluster, namespace)
        if pod.scheduler not in cluster.cache.schedulers
    ]
    used = Counter[str]()
    gpus = cluster.policy.rules.queues.gpu_resources
    for pod in pods:
        asked = dict(pod.pod_class.requests)
        used.update({name: asked.get(name, 0) for name in gpus})
    shown = [f"{number} {name}" for name, number in sorted(used.items()) if number]
    if not shown:
        return ""
    of = {name for name in used if used[name]}
    number = sum(1 for pod in pods if of & {name for name, n in pod.pod_class.requests if n})
    use = "uses" if number == 1 else "use"
    return (
        f"{counted(number, 'pod')} of other schedulers {use} {' and '.join(shown)} more: "
        "cluster --users says whose"
    )


def _on_nodes(cluster: Cluster, namespace: str) -> Iterator[Pod]:
    for pod in cluster.cache.pods():
        if pod.node and not pod.terminal and namespace in ("", pod.namespace):
            yield pod


def _used(pods: Iterable[Pod], resources: Collection[str]) -> tuple[tuple[str, int], ...]:
    used = Counter(dict.fromkeys(resources, 0))
    for pod in pods:
        asked = dict(pod.pod_class.requests)
        used.update({name: asked.get(name, 0) for name in resources})
    return tuple(used.items())


def table(found: Sequence[UserLine], page: Page) -> Iterator[str]:
    """Yield the lines of a table, one for each namespace, user and scheduler."""
    names = [name for name, _ in found[0].used] if found else []
    headings = ("NAMESPACE", "USER", "SCHEDULER", "PODS", *names)
    rows = [
        [
            *(each.namespace, each.user or table_layout.NOTHING, each.scheduler, str(each.pods)),
            *(quantity(*used) for used in each.used),
        ]
        for each in found
    ]
    shown = table_layout.without_silent(headings, rows, ("USER",))
    yield from table_layout.table_lines(*shown, page, ("PODS", *names), _DROPS)


def document(found: Sequence[UserLine], cluster: Cluster) -> Json:
    """Return the users as a document of kind UserList."""
    return {
        "apiVersion": API_VERSION,
        "kind": "UserList",
        **inspection_cluster.origin_document(cluster),
        "items": [
            {
                "namespace": each.namespace,
                "user": each.user or None,
                "scheduler": each.scheduler,
                "pods": each.pods,
                "used": {name: quantity_of(name, number) for name, number in each.used},
            }
            for each in found
        ],
    }
