"""Which object an Event of a gang is about."""

from gang_scheduler.decode.workloads import table
from gang_scheduler.report.events import About
from gang_scheduler.state.gangs.gang_info import GangInfo


def about(info: GangInfo) -> About:
    """Return the object that describes a gang; or else its first member, of which it has some."""
    spec = info.observed.spec
    if spec is not None and spec.gvr is not None:
        version = f"{spec.gvr.group}/{spec.gvr.version}"
        kind = table.BY_NAME[info.key.source].object_kind
        owner = info.key.name.partition("/")[0]  # A JobSet's gang is called after its job, too.
        return About(version, kind, info.key.namespace, owner, spec.uid, info.key)
    pods = info.observed.living or info.observed.members.values()
    pod = min(pods, key=lambda each: each.name)
    return About("v1", "Pod", pod.namespace, pod.name, pod.uid)
