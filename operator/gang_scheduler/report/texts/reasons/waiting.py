"""Why gangs wait: the reason of PodScheduled on each waiting pod, and of Scheduled on its gang."""

from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.problems import Reason
from gang_scheduler.report.texts.reasons.entry import Entry, Turn, passing

ENTRIES: Final[Mapping[Reason, Entry]] = {
    Reason.UNSCHEDULABLE: Entry(
        "The gang is complete and valid, was tried, and lacks room: all that it needs at once is "
        "not free on nodes that it may use. The message begins with what is short, and says "
        "whether the gang would fit the empty cluster. A cluster autoscaler adds nodes for this "
        "reason only.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "[Read what is short](troubleshooting.md#how-to-read-what-is-short). It fits the empty "
        "cluster: wait, or ask for a higher priority. It never fits: ask for less, for another "
        "layer or resource, or for larger nodes. Nodes that have room are cordoned, not ready or "
        "tainted: the platform brings them back.",
    ),
    Reason.WAITING_FOR_MEMBERS: Entry(
        "Fewer pods of the gang exist than it needs at once.",
        (Turn.SUBMITTER,),
        "Compare `MIN` and `MEMBERS` of `kubectl get podgroups`, and ask the owner of the pods why "
        "it creates no more: a quota of the namespace, a webhook, a suspended Job. Else "
        "`minMember` is higher than the number of pods. With [roles](gangs.md#roles) the message "
        "names the role that lacks members.",
    ),
    Reason.WAITING_FOR_GANGS: Entry(
        "The gang starts together with others, and one of these cannot start; or its members have "
        "not had their turn.",
        (Turn.SUBMITTER,),
        "The message names the gang: create it, complete it, or take it out of the annotation "
        "`groups`.",
    ),
    Reason.POD_GROUP_NOT_FOUND: Entry(
        "The pods name a PodGroup, or are of a workload, that does not exist or may not be read.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Create the PodGroup in the namespace of the pods, of an [API "
        "group](gangs.md#how-pods-become-a-gang) whose CRD is installed. Another kind is named "
        "where the gang is a workload of that kind: it is gone, its CRD is not installed, or the "
        "scheduler [may not read it](metrics.md).",
    ),
    Reason.INVALID_SPEC: Entry(
        "What is written of the gang, or of a member, contradicts itself or cannot be meant.",
        (Turn.SUBMITTER,),
        "The message names the field and the value: correct them. An object of another namespace "
        "that must answer, such as a gang of a group, is named too. [How to mend "
        "it](troubleshooting.md#mend-it).",
    ),
    Reason.UNKNOWN_LAYER: Entry(
        "The gang must gather in a layer that the network tree does not have.",
        (Turn.SUBMITTER, Turn.PLATFORM),
        "Ask for one of the layers that the message lists; or the platform adds the layer to "
        "`clusternetworktopology default` and labels the nodes.",
    ),
    Reason.UNSUPPORTED_FEATURE: Entry(
        "A field asks for what this scheduler cannot do, and the pod would not be placed as meant.",
        (Turn.SUBMITTER,),
        "Do without the field that the message names: [what is not "
        "built](filters.md#refused-by-name).",
    ),
    Reason.WAITING_FOR_VICTIMS: passing(
        "Room is made: pods of lower priority are ending on the nodes that the gang is nominated "
        "to.",
        "Wait for their grace periods. A pod that does not end has an Event; its kubelet or a "
        "finalizer keeps it. `kubectl get pods -A --field-selector spec.nodeName=NODE` shows it.",
    ),
    Reason.WAITING_FOR_VOLUMES: Entry(
        "The gang has nodes, and claims of its members are being bound. The room is held for "
        "`claimTimeoutSeconds`.",
        (Turn.PLATFORM,),
        "`kubectl describe pvc NAME`: the provisioner of the class is at work, or says why not.",
    ),
    Reason.QUEUE_NOT_FOUND: Entry(
        "The queue that the gang names does not exist, has queues below it, or is not for this "
        "namespace; or gangs of this namespace must name one.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Name a queue of `kubectl get queues.py-gang-scheduler.io`; its administrator says for "
        "which namespaces it is.",
    ),
    Reason.QUEUE_STOPPED: Entry(
        "The queue takes no gangs now: it is held, or something in it or above it is invalid.",
        (Turn.QUEUE_ADMIN,),
        "See the conditions of the queue: its administrator resumes it, or corrects the field that "
        "is named.",
    ),
    Reason.ADMISSION_DENIED: Entry(
        "The gang is outside what the queue admits: GPUs of one gang, or priority.",
        (Turn.SUBMITTER,),
        "Keep to the limit that the message names, or use another queue.",
    ),
    Reason.QUOTA_EXCEEDED: Entry(
        "The gang asks for more than its queue could ever have, borrowed quota included, or for "
        "flavors or resources that the queue does not have.",
        (Turn.SUBMITTER, Turn.QUEUE_ADMIN),
        "Ask for less, or use another queue: it never starts in this one as it is.",
    ),
    Reason.JOB_LIMIT_REACHED: passing(
        "As many gangs as the queue may have at once hold its quota.",
        "It starts when another one of the queue has ended.",
    ),
    Reason.WAITING_FOR_QUOTA: Entry(
        "The queue has not enough quota left, or its own is lent and not yet given back.",
        (Turn.SCHEDULER, Turn.QUEUE_ADMIN),
        "It starts when quota is given back: `kubectl get queues.py-gang-scheduler.io` shows used "
        "and borrowed, and the message names the queues that borrow. More quota, or the right to "
        "reclaim, is its administrator's to give.",
    ),
    Reason.WAITING_FOR_TURN: passing(
        "Another gang of the queue comes first, or would start later if this one were let pass.",
        "It starts after the gang that the message names. A declared end "
        "(`py-gang-scheduler.io/expected-duration`) lets a short gang pass.",
    ),
    Reason.WAITING_FOR_CHECKS: Entry(
        "The queue has admission checks, which another controller answers.",
        (Turn.PLATFORM,),
        "See whether the controller of the check runs, and what it says.",
    ),
    Reason.WAITING_FOR_CHECKPOINT: passing(
        "Room is made: gangs that are to be evicted [save their work](checkpoints.md) first.",
        "Wait: they are evicted when they have saved it, or when their time is over. The message "
        "says when that is.",
    ),
    Reason.WAITING_FOR_PROVISIONING: Entry(
        "The gang lacks nothing but room, and nodes are asked for by a ProvisioningRequest.",
        (Turn.PLATFORM,),
        "The message has the name of the request and what its autoscaler says: [nodes that are "
        "bought](provisioning.md).",
    ),
    Reason.ELASTIC_LIMIT: passing(
        "An elastic gang has all the workers that it asks for, may grow again only later, or waits "
        "for as many workers as it grows by.",
        "Nothing: the gang asks for it in its [annotation](gangs.md#elastic-at-a-pace).",
    ),
    Reason.SCATTERED: Entry(
        "Members were bound in several domains though the gang must gather in one. It runs, and "
        "its other members join the largest part.",
        (Turn.SUBMITTER,),
        "Delete the members that are elsewhere: their controller creates them again, where the "
        "others are.",
    ),
    Reason.INTERNAL_ERROR: Entry(
        "An error in the scheduler itself, met while this gang was decided. It is tried again, and "
        "other gangs are not held up.",
        (Turn.PLATFORM,),
        "The log has `internal_error` with a traceback: please report it, with the input of a [dry "
        "run](operations.md#dry-run).",
    ),
}
