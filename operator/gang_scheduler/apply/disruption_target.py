"""The mark of a victim: the Kubernetes condition DisruptionTarget, which names the preemptor."""

from dataclasses import dataclass

from gang_scheduler.client.interfaces import Body
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import rfc3339

TYPE = "DisruptionTarget"
REASON = pod_decode.MARK
WITHDRAWN = "PreemptionWithdrawn"
STUCK = "NodeFailed"
DEGRADED = pod_decode.MARK_OF_DEGRADED
BEGINNING = pod_decode.OUR_MARK
DRAINING = pod_decode.OUR_DRAIN


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of preemptors and victims in messages.

    `hides_foreign`: a message in another namespace shows only the uid.
    """

    hides_foreign: bool = False

    def preemptor(self, preemption: Preemption, namespace: str) -> str:
        """Return the preemptor as a namespace may know it, or the drained queue."""
        if not preemption.gangs:
            return f"queue {preemption.drained}"
        gang = preemption.gangs[0]
        return self._named(gang.key.namespace, namespace, str(gang.key), gang.uid)

    def pod(self, pod: Pod, namespace: str) -> str:
        """Return the name of a pod, or its uid in a namespace that may not know the name."""
        return self._named(pod.namespace, namespace, pod.key, pod.uid)

    def gang(self, key: GangKey, uid: str, namespace: str) -> str:
        """Return the name of a gang, or its `uid` in a namespace that may not know the name."""
        return self._named(key.namespace, namespace, str(key), uid)

    def _named(self, own: str, namespace: str, name: str, uid: str) -> str:
        return uid if self.hides_foreign and own != namespace else name


def mark(preemption: Preemption, namespace: str, naming: Naming, now: int) -> Body:
    """Return the condition of a victim in this namespace. `now` is in seconds."""
    if preemption.to_start_anew:
        return {
            "type": TYPE,
            "status": "True",
            "reason": DEGRADED,
            "message": f"py-gang-scheduler: gang {preemption.gangs[0].key} starts again",
            "lastTransitionTime": rfc3339(now),
        }
    preemptor = naming.preemptor(preemption, namespace)
    if preemption.nominations:
        trigger = naming.pod(preemption.nominations[0].pod, namespace)
        message = f"{BEGINNING}, preemptor: {preemptor}, triggerpod: {trigger}"
    else:
        message = f"{DRAINING} {preemptor}"
    # Without lastTransitionTime, kube-controller-manager would reset the mark at once as stale.
    return {
        "type": TYPE,
        "status": "True",
        "reason": REASON,
        "message": message,
        "lastTransitionTime": rfc3339(now),
    }


def stuck(node: str, now: int) -> Body:
    """Return the condition of a pod that is removed because its node failed.

    `now` is in seconds.
    """
    return {
        "type": TYPE,
        "status": "True",
        "reason": STUCK,
        "message": f"py-gang-scheduler: node {node} has failed, and the pod stays Terminating",
        "lastTransitionTime": rfc3339(now),
    }


def unmark(now: int) -> Body:
    """Return the condition of a pod that is no longer a victim. `now` is in seconds."""
    return {
        "type": TYPE,
        "status": "False",
        "reason": WITHDRAWN,
        "message": "py-gang-scheduler: the preemption was given up",
        "lastTransitionTime": rfc3339(now),
    }
