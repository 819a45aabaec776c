"""Keys of the labels and annotations that name the gang of a pod and say how to place it.

Other projects defined most of these keys. They are kept letter by letter, so that manifests
written for these projects work unchanged. Keys of our own have the prefix
`py-gang-scheduler.io/`.
"""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model import api_words

# Labels on a pod that name its PodGroup. The first one found wins, in this order.
POD_GROUP_LABEL: Final = "pod-group.scheduling.sigs.k8s.io"
POD_GROUP_LABEL_SCHED_PLUGINS: Final = "scheduling.x-k8s.io/pod-group"

# A gang without a PodGroup: every member carries the name and the quorum.
GANG_NAME: Final = "gang.scheduling.koordinator.sh/name"
GANG_MIN_AVAILABLE: Final = "gang.scheduling.koordinator.sh/min-available"
GANG_NAME_LABEL: Final = "pod-group.scheduling.sigs.k8s.io/name"
GANG_MIN_AVAILABLE_LABEL: Final = "pod-group.scheduling.sigs.k8s.io/min-available"

# On the pods of a Job: "true" makes one gang of them.
JOB_GANG_LABEL: Final = "py-gang-scheduler.io/gang"

# Labels of all objects that `submit` creates: the user, by which `list --mine` selects, and that
# `submit` created the object.
USER: Final = "py-gang-scheduler.io/user"
SUBMITTED: Final = "py-gang-scheduler.io/submitted"

# How a gang is scheduled. On the PodGroup, or on the pods of a gang without one.
GANG_GROUPS: Final = api_words.GANG_GROUPS
GANG_MODE: Final = "gang.scheduling.koordinator.sh/mode"
GANG_MATCH_POLICY: Final = "gang.scheduling.koordinator.sh/match-policy"
GANG_WAITING_TIME: Final = "gang.scheduling.koordinator.sh/waiting-time"
GANG_TOTAL_NUMBER: Final = "gang.scheduling.koordinator.sh/total-number"

# Written by Koordinator on a gang that is late. Not read here.
GANG_TIMEOUT: Final = "gang.scheduling.koordinator.sh/timeout"

# Where a gang is placed, and which rank a pod has in it.
NETWORK_TOPOLOGY_SPEC: Final = api_words.NETWORK_TOPOLOGY_SPEC
NETWORK_TOPOLOGY_INDEX: Final = "gang.scheduling.koordinator.sh/network-topology-index"

# The roles of a gang with the minimum of each, as JSON; and on a pod, its role.
ROLES: Final = api_words.ROLES
ROLE: Final = api_words.ROLE

# How a gang grows and shrinks, as JSON. On the PodGroup, the workload or its pod template.
ELASTIC: Final = "py-gang-scheduler.io/elastic"

# How long a gang must have run before it may be evicted, as a duration such as "10m".
MIN_RUNTIME: Final = "py-gang-scheduler.io/min-runtime"

# After how long a pod that is stuck on a failed node may be deleted by force, as a duration. On the
# PodGroup, a Job that is a gang, or a pod. It counts only if the administrator allows it, too.
FORCE_DELETE_STUCK_PODS: Final = "py-gang-scheduler.io/force-delete-stuck-pods"

# How long pods are expected to run: a duration such as "2h", or a number of seconds. The scheduler
# needs it to promise starts, and to let short gangs pass. On a PodGroup, a Job or pods; Kueue's key
# is a label.
EXPECTED_DURATION: Final = "py-gang-scheduler.io/expected-duration"
KUEUE_MAX_EXEC_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"

# How a gang is asked to save its work before it is evicted, how much time it gets, and the port to
# ask at in mode HTTP. On a PodGroup, a Job or pods.
CHECKPOINT: Final = "py-gang-scheduler.io/checkpoint"
CHECKPOINT_TIMEOUT: Final = "py-gang-scheduler.io/checkpoint-timeout"
CHECKPOINT_PORT: Final = "py-gang-scheduler.io/checkpoint-port"
# In mode HTTP, the path of the request. In other modes, where the checkpoint is, as reported by the
# gang.
CHECKPOINT_PATH: Final = "py-gang-scheduler.io/checkpoint-path"
# Written by the scheduler on members that are asked to save their work. The answer repeats the id.
CHECKPOINT_REQUESTED_AT: Final = "py-gang-scheduler.io/checkpoint-requested-at"
CHECKPOINT_REQUEST_ID: Final = "py-gang-scheduler.io/checkpoint-request-id"
# Written by the gang, on a member or the PodGroup, when it has saved its work.
CHECKPOINT_DONE_AT: Final = "py-gang-scheduler.io/checkpoint-done-at"
CHECKPOINT_STEP: Final = "py-gang-scheduler.io/checkpoint-step"
# Written by the scheduler with a binding: the checkpoint from which the gang continues, and how
# often the gang has resumed.
RESUME_PATH: Final = "py-gang-scheduler.io/resume-path"
RESUME_STEP: Final = "py-gang-scheduler.io/resume-step"
RESUME_COUNT: Final = "py-gang-scheduler.io/resume-count"

# Written by us on the Job of a gang, as JSON: its last checkpoint. A PodGroup has a status for it.
CHECKPOINT_LATEST: Final = "py-gang-scheduler.io/checkpoint-latest"

# Which queue a gang is charged to: labels of its PodGroup, its Job or its pods. Kueue's and
# Volcano's keys may also be annotations.
QUEUE: Final = api_words.QUEUE
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
KUEUE_PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
# On a Workload of Kueue: the uid of the workload that it manages.
KUEUE_JOB_UID: Final = "kueue.x-k8s.io/job-uid"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
VOLCANO_QUEUE_SHORT: Final = "volcano.sh/queue-name"
# On a Namespace: the queue for gangs that name none.
DEFAULT_QUEUE: Final = api_words.DEFAULT_QUEUE
# Written by the scheduler with a binding, together with QUEUE: the flavor in which each resource is
# charged, as JSON. Both decide what a bound pod is charged to, even if its labels change later.
FLAVORS: Final = "py-gang-scheduler.io/flavors"
# When the scheduler started a suspended workload. It writes this annotation and the next two on the
# workload. While this one exists, the scheduler may suspend the workload again. A workload that
# another writer suspends stays suspended.
ADMITTED_AT: Final = "py-gang-scheduler.io/admitted-at"
# The fields of the workload's pod templates as they were before its admission, as JSON.
ADMITTED_FROM: Final = "py-gang-scheduler.io/admitted-from"
# The nodes on which room is kept for the workload's pods. It tells the scheduler after a restart
# where to keep room for pods that do not exist yet.
ADMITTED_TO: Final = "py-gang-scheduler.io/admitted-to"

# Written by the scheduler with each change of the number of replicas of a workload, as JSON: the
# new number of workers, when and why it was written, and how often in a row the gang grew and the
# new workers found no room.
ELASTIC_STATE: Final = "py-gang-scheduler.io/elastic-state"

# How nodes are bought for a gang: the class of its ProvisioningRequest. On a PodGroup, a Job or
# pods.
PROVISIONING_CLASS: Final = "py-gang-scheduler.io/provisioning-class"
# On a ProvisioningRequest of ours: the gang, the uid of its object, and the digest and number of
# the attempt.
PROVISIONED_GANG: Final = "py-gang-scheduler.io/provisioned-gang"
PROVISIONED_GANG_UID: Final = "py-gang-scheduler.io/provisioned-gang-uid"
PROVISIONING_DIGEST: Final = "py-gang-scheduler.io/provisioning-digest"
PROVISIONING_ATTEMPT: Final = "py-gang-scheduler.io/provisioning-attempt"
# These keys on a pod tell the cluster autoscaler which request provided its node; the second key is
# the former name of the first.
CONSUMES_REQUEST: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
CONSUMES_REQUEST_FORMERLY: Final = "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
CONSUMES_CLASS: Final = "autoscaling.x-k8s.io/provisioning-class-name"

# Written by the scheduler on a claim of devices just before it allocates the claim: the mark of the
# allocation. After a restart it distinguishes the scheduler's own allocations from all others.
ALLOCATED: Final = "py-gang-scheduler.io/allocated"

# Written by the scheduler on the Lease, as JSON: the gangs on which decisions take too long. The
# next leader sets them aside from the start.
SET_ASIDE: Final = "py-gang-scheduler.io/set-aside"

# Labels of a pod that must not be evicted to make room.
DISABLE_PREEMPTIBLE: Final = "scheduling.koordinator.sh/disable-preemptible"
QUOTA_PREEMPTIBLE: Final = "quota.scheduling.koordinator.sh/preemptible"
# On the API server's copy of a pod that the kubelet runs from a file.
MIRROR_POD: Final = "kubernetes.io/config.mirror"

# Written by the scheduler with a binding. After a crash they distinguish a partially bound gang
# from a gang that lost a member.
PLAN_ID: Final = "py-gang-scheduler.io/plan-id"
PLAN_SIZE: Final = "py-gang-scheduler.io/plan-size"
# How many members of the gang the plan left out, and how many gangs the plan starts together;
# absent: no member, and only this gang.
PLAN_LEFT_OUT: Final = "py-gang-scheduler.io/plan-left-out"
PLAN_GANGS: Final = "py-gang-scheduler.io/plan-gangs"
PLAN_GANG: Final = "py-gang-scheduler.io/plan-gang"
"""The gang that a plan binds.

If labels change later, the pod may become a member of another gang.
"""
OF_BINDINGS: Final = frozenset(
    {
        *(QUEUE, FLAVORS, PLAN_ID, PLAN_SIZE, PLAN_LEFT_OUT, PLAN_GANGS, PLAN_GANG),
        *(RESUME_PATH, RESUME_STEP, RESUME_COUNT),
    }
)
"""All annotations that a pod gets with its binding. No template has one of them."""

# Kueue's annotations on a pod template: how its pods are to be placed together.
KUEUE_PODSET_PREFIX: Final = "kueue.x-k8s.io/podset-"
PODSET_REQUIRED: Final = api_words.PODSET_REQUIRED
PODSET_PREFERRED: Final = api_words.PODSET_PREFERRED
PODSET_UNCONSTRAINED: Final = api_words.PODSET_UNCONSTRAINED
PODSET_SLICE_LAYER: Final = api_words.PODSET_SLICE_LAYER
PODSET_SLICE_SIZE: Final = api_words.PODSET_SLICE_SIZE
PODSET_SLICE_LAYERS: Final = api_words.PODSET_SLICE_LAYERS
PODSET_GROUP: Final = api_words.PODSET_GROUP
PODSET_KEYS: Final = api_words.PODSET_KEYS
# A pod group of Kueue: its name is a label of its pods, and their number an annotation. Another
# annotation lets Kueue start it before all pods exist.
KUEUE_POD_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
KUEUE_POD_GROUP_TOTAL: Final = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_POD_GROUP_FAST: Final = "kueue.x-k8s.io/pod-group-fast-admission"

# The spellings of false and true in Go, in which Kueue is written.
GO_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
GO_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})

# On the pods of a JobSet: the name of the JobSet, and of the replicatedJob.
JOB_SET_LABEL: Final = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB_LABEL: Final = "jobset.sigs.k8s.io/replicatedjob-name"

# On all objects inside an AppWrapper, and on their pods: the name of the AppWrapper.
APP_WRAPPER_LABEL: Final = "workload.codeflare.dev/appwrapper"

# On a JobSet or in the template of a replicatedJob: each Job gets a domain of this node label for
# itself. Pod affinity that JobSet's webhook adds enforces it; with the other key, node labels that
# an administrator set by hand do.
EXCLUSIVE_TOPOLOGY: Final = api_words.EXCLUSIVE_TOPOLOGY
NODE_SELECTOR_STRATEGY: Final = "alpha.jobset.sigs.k8s.io/node-selector"

# On a claim: the node for which its volume is to be made.
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"


def ask_for_gang(labels: Mapping[str, str], present: Mapping[str, str]) -> bool:
    """Return whether the pods of a Job are to be a gang: by our label, or a topology request."""
    return labels.get(JOB_GANG_LABEL) == "true" or ask_for_topology(present)


def ask_for_topology(present: Mapping[str, str]) -> bool:
    """Return whether annotations request that members are placed together, even by unknown keys.

    If so, the pods of a Job are a gang. An unconstrained podset is a gang, too: it may be on any
    nodes, but Kueue starts it as a whole. The index of a member requests nothing.
    """
    return any(_asks(key, text) for key, text in present.items())


def _asks(key: str, text: str) -> bool:
    if key == PODSET_UNCONSTRAINED and text in GO_FALSE:
        return False
    return key == NETWORK_TOPOLOGY_SPEC or key.startswith(KUEUE_PODSET_PREFIX)
