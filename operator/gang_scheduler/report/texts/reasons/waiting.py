"""Why gangs wait: the reason of PodScheduled on each waiting pod, and of Scheduled on its gang."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.problems import Reason
from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

ENTRIES: Final[Mapping[Reason, Entry]] = {
    Reason.UNSCHEDULABLE: Entry(
        "The gang is complete and valid, and the scheduler has tried it, but it lacks room: the "
        "nodes that it may use do not have everything free that it needs at once. The message "
        "begins with what is short, and says whether the gang would fit the empty cluster. A "
        "cluster autoscaler adds nodes for this reason only.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "[Read what is short](troubleshooting.md#how-to-read-what-is-short). If the gang fits the"
        " empty cluster, wait, or ask for a higher priority. If it never fits, ask for less, for "
        "another layer or resource, or for larger nodes. If nodes with room are cordoned, not "
        "ready or tainted, the platform brings them back.",
    ),
    Reason.WAITING_FOR_MEMBERS: Entry(
        "The gang has fewer pods than it needs at once.",
        (Turn.SUBMITTER,),
        "Compare `MIN` and `MEMBERS` of `kubectl get podgroups`. Look at the owner of the pods to"
        " see why it creates no more: a quota of the namespace, a webhook, or a suspended Job. "
        "Otherwise `minMember` is higher than the number of pods. With [roles](gangs.md#roles) "
        "the message names the role that lacks members.",
    ),
    Reason.WAITING_FOR_GANGS: Entry(
        "The gang starts together with other gangs, and one of these cannot start. Or the members "
        "of the gang have not been tried yet.",
        (Turn.SUBMITTER,),
        "The message names the other gang: create it, complete it, or remove it from the "
        "annotation `groups`.",
    ),
    Reason.POD_GROUP_NOT_FOUND: Entry(
        "The pods name a PodGroup, or belong to a workload, that does not exist or that the "
        "scheduler may not read.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Create the PodGroup in the namespace of the pods, in an [API "
        "group](gangs.md#how-pods-become-a-gang) whose CRD is installed. If the gang is a "
        "workload of another kind, the message names that kind: the workload is gone, its CRD is "
        "not installed, or the scheduler [may not read it](metrics.md).",
    ),
    Reason.INVALID_SPEC: Entry(
        "The spec of the gang, or of a member, contradicts itself or has an impossible value.",
        (Turn.SUBMITTER,),
        "The message names the field and the value: correct them. If the fault is in an object of"
        " another namespace, such as another gang of the group, the message names that object, "
        "too. [How to mend it](troubleshooting.md#mend-it).",
    ),
    Reason.UNKNOWN_LAYER: Entry(
        "The gang must gather in a layer that the network tree does not have.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Ask for one of the layers that the message lists. Or let the platform add the layer to "
        "`clusternetworktopology default` and label the nodes.",
    ),
    Reason.UNSUPPORTED_FEATURE: Entry(
        "A field asks for a feature that this scheduler does not have, so the pod would not be "
        "placed as intended.",
        (Turn.SUBMITTER,),
        "Remove the field that the message names: [what is not built](filters.md#refused-by-name).",
    ),
    Reason.WAITING_FOR_VICTIMS: passing(
        "The scheduler makes room: pods of lower priority are ending on the nodes that the gang "
        "is nominated to.",
        "Wait for their grace periods. If a pod does not end, it has an Event: its kubelet or a "
        "finalizer keeps it. `kubectl get pods -A --field-selector spec.nodeName=NODE` shows it.",
    ),
    Reason.WAITING_FOR_VOLUMES: Entry(
        "The gang has nodes, and the claims of its members are being bound. The scheduler holds "
        "the room for `claimTimeoutSeconds`.",
        (Turn.PLATFORM,),
        "Run `kubectl describe pvc NAME`: it shows that the provisioner of the class is at work, "
        "or why it is not.",
    ),
    Reason.QUEUE_NOT_FOUND: Entry(
        "The queue that the gang names does not exist, has queues below it, or is not for this "
        "namespace. Or the gang names no queue, and gangs of this namespace must name one.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Name a queue of `kubectl get queues.py-gang-scheduler.io`. The administrator of the "
        "queue can say which namespaces it is for.",
    ),
    Reason.QUEUE_STOPPED: Entry(
        "The queue takes no gangs now: it is held, or it or a queue above it is invalid.",
        (Turn.QUEUE_ADMIN,),
        "Look at the conditions of the queue. Its administrator resumes it, or corrects the field"
        " that the condition names.",
    ),
    Reason.ADMISSION_DENIED: Entry(
        "The queue does not admit such a gang: it has too many GPUs, or a priority that is not "
        "allowed.",
        (Turn.SUBMITTER,),
        "Keep to the limit that the message names, or use another queue.",
    ),
    Reason.QUOTA_EXCEEDED: Entry(
        "The gang asks for more than its queue could ever have, including borrowed quota, or for "
        "flavors or resources that the queue does not have.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Ask for less, or use another queue. The gang never starts in this queue unless one of "
        "both is changed.",
    ),
    Reason.JOB_LIMIT_REACHED: passing(
        "The maximum number of gangs of the queue hold quota already.",
        "Wait: the gang starts when another gang of the queue has ended.",
    ),
    Reason.WAITING_FOR_QUOTA: Entry(
        "The queue does not have enough quota left, or its own quota is lent and not yet given "
        "back.",
        (Turn.SCHEDULER, Turn.QUEUE_ADMIN),
        "Wait: the gang starts when quota becomes free. `kubectl get queues.py-gang-scheduler.io`"
        " shows used and borrowed quota, and the message names the queues that borrow. Only the "
        "administrator of the queue can give it more quota, or the right to reclaim.",
    ),
    Reason.WAITING_FOR_TURN: passing(
        "Another gang of the queue comes first, or another gang would start later if this one "
        "were allowed to pass.",
        "Wait: the gang starts after the gang that the message names. A short gang may pass if "
        "you declare its end (`py-gang-scheduler.io/expected-duration`).",
    ),
    Reason.WAITING_FOR_CHECKS: Entry(
        "The queue has admission checks that another controller must answer.",
        (Turn.PLATFORM,),
        "Check that the controller of the check runs, and what it says.",
    ),
    Reason.WAITING_FOR_CHECKPOINT: passing(
        "The scheduler makes room: gangs that it will evict [save their work](checkpoints.md) "
        "first.",
        "Wait: those gangs are evicted when they have saved their work, or when their time is "
        "over. The message says when that is.",
    ),
    Reason.WAITING_FOR_PROVISIONING: Entry(
        "The gang lacks only room, and a ProvisioningRequest asks for nodes.",
        (Turn.PLATFORM,),
        "The message has the name of the request and the answer of its autoscaler: [nodes that "
        "are bought](provisioning.md).",
    ),
    Reason.ELASTIC_LIMIT: passing(
        "One of three things holds for an elastic gang: it has all the workers that it asks for, "
        "it may grow again only later, or it waits for as many workers as it grows by.",
        "Nothing: the [annotation](gangs.md#elastic-at-a-pace) of the gang asks for this.",
    ),
    Reason.SCATTERED: Entry(
        "Members were bound in several domains although the gang must gather in one. The gang "
        "runs, and its other members join the largest part.",
        (Turn.SUBMITTER,),
        "Delete the members in other domains: their controller creates them again, and they are "
        "placed with the others.",
    ),
    Reason.SET_ASIDE: Entry(
        "Decisions on the gang took more than 2 s of CPU time, twice. The gang is tried again "
        "after ten times as long as the last decision took, then after twice as long each time. "
        "Gangs that wait meanwhile are always tried first. A restart of the scheduler does not "
        "forget this.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Make the gang easier to decide: use fewer members in one gang, and fewer affinity terms,"
        " spread constraints or alternatives. A changed gang is tried sooner. [What the platform "
        "does](liveness.md#gangs-that-are-hard-to-decide).",
    ),
    Reason.INTERNAL_ERROR: Entry(
        "The scheduler had an internal error while it decided this gang. It tries the gang again,"
        " and other gangs are not held up.",
        (Turn.PLATFORM,),
        "The log has `internal_error` with a traceback: please report it, with the input of a "
        "[dry run](simulate.md).",
    ),
}
