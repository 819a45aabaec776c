"""What kept members from nodes, counted by reason."""

from collections import Counter

import numpy as np

from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial


def diagnose(pod_class: PodClass, trial: Trial, profile: Profile) -> tuple[tuple[str, int], ...]:
    """Return (reason, nodes) for one more pod of this class, most nodes first.

    The first filter that rejects a node gives its reason, as in kube-scheduler. Called once a
    gang that does not fit.
    """
    counts: Counter[str] = Counter()
    left = np.ones(len(trial.nodes), dtype=np.bool_)
    for each in profile.node_filters:
        rejected = left & ~each.passes(pod_class, trial.nodes)
        if rejected.any():
            counts += each.reasons(pod_class, trial.nodes, rejected)
            left &= ~rejected
    for room in (*profile.room_filters, *profile.coupled_filters):
        if not room.concerns(pod_class, trial):
            continue
        rejected = left & (room.slots(pod_class, trial) == 0)
        if rejected.any():
            counts += room.reasons(pod_class, trial, rejected)
            left &= ~rejected
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
