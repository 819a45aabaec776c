"""The gangs that appear in answers."""

from collections.abc import Iterator

from gang_scheduler.model import refs
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.core import Metadata
from gang_scheduler.workloads import table


def described(cache: Cache) -> Iterator[GangInfo]:
    """Yield all gangs, except workloads whose pods name other gangs."""
    infos = cache.gang_queue.infos
    # Only gangs without members need a search in pods, and they are few.
    bare = {key for key, info in infos.items() if not info.observed.members}
    pods = cache.pods() if bare else ()
    elsewhere = {key for pod in pods for key in _of_workloads(pod) if key != pod.gang}
    for key, info in infos.items():
        if key not in bare or key not in elsewhere:
            yield info


def _of_workloads(pod: Pod) -> Iterator[GangKey]:
    """Yield the gangs of a pod by its Job, and by its other workloads."""
    yield GangKey(refs.JOB.name, pod.namespace, pod.job)
    labels, present = dict(pod.labels), dict(pod.annotations)
    source = pod_wire.Pod(Metadata(namespace=pod.namespace, labels=labels, annotations=present))
    for each in table.PODS:
        if name := each.name_of(source):
            yield GangKey(each.source.name, pod.namespace, name)
