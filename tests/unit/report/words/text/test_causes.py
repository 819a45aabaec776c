"""What people read of each kind of cause, letter by letter."""

import importlib
import pkgutil
from dataclasses import is_dataclass

import pytest

from gang_scheduler.api.annotations import ROLE
from gang_scheduler.model import causes
from gang_scheduler.model.causes.devices import (
    ClaimBeingDeleted,
    ClaimBeingWithdrawn,
    ClaimInvalid,
    ClaimNotCreated,
    ClaimObjectMissing,
    ClaimOfAnother,
    ComputeDomainApart,
    DeviceNotAttached,
    DevicesAwaited,
)
from gang_scheduler.model.causes.gangs import (
    ApiAnswer,
    AutoscalerTargets,
    BeyondMaxWorkers,
    BindingFailed,
    ClaimFailed,
    ClaimFault,
    ClaimNotWritten,
    ClaimsUnbound,
    CoolingDown,
    DecisionTooLong,
    DeviceClaimFailed,
    DomainsTooSmall,
    HeldForPodGone,
    HeldNodeGone,
    HoldEnded,
    InternalError,
    MemberGone,
    MembersMissing,
    ModeBehindPodGroup,
    ModeNotAllowed,
    NodeFault,
    NominationExpired,
    NominationLost,
    NominationTaken,
    NominationUnused,
    NotLeading,
    NotTriedYet,
    OthersAwaitClaims,
    PodsClaimFailed,
    PreemptionGivenUp,
    ReplicasContested,
    ReplicasOutside,
    ResourcesMissing,
    RoleFull,
    SavesAwaited,
    StepFailed,
    StepIncomplete,
    SurplusNotTried,
    UnboundClaim,
)
from gang_scheduler.model.causes.queues import (
    AbovePotential,
    AdmissionLimit,
    AskedAgain,
    AwaitsEvicted,
    BehindGang,
    ChecksUnanswered,
    DelaysReserved,
    FieldRefused,
    FlavorFault,
    FlavorsUnsuitable,
    GangShared,
    GangsQueuesDiffer,
    Inactivity,
    JobLimit,
    KueueManages,
    LimitMissed,
    LocalQueueStopped,
    MostOutstanding,
    NodesAwaited,
    NotProvisioned,
    PatchForbidden,
    QueueDefault,
    QueueFault,
    QueueInactive,
    QueueNamesDiffer,
    QueueNotNamed,
    QueueOnHold,
    QueueUnusable,
    QuotaShort,
    RequestLeaves,
    TemplateGone,
    TooManyPodSets,
    UnsuitableFlavor,
    WorkloadChanged,
    WorkloadGone,
)
from gang_scheduler.model.causes.specs import (
    BothInvalid,
    ClassDiffers,
    FieldsUnsupported,
    GangMissing,
    GangRequestMisplaced,
    GangsRequestsDiffer,
    InvalidInput,
    InvalidSlice,
    LayersApart,
    MinMemberAboveJobs,
    MultipleDoesNotDivide,
    MultipleNeedsMore,
    ObjectMissing,
    ObjectTwice,
    OneSided,
    OtherGangCannotStart,
    PodRequestBesideGang,
    PodsetsDiffer,
    PreemptionPolicyDiffers,
    PriorityClassMissing,
    PriorityDiffers,
    Requested,
    RoleUnknown,
    Scattered,
    SliceFault,
    UnknownLayers,
)
from gang_scheduler.model.gangs import OwnDomains, RoleCount
from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.topology import Domain
from gang_scheduler.report.words.text import text_of
from support.builders import gang_key

A, B = gang_key("a"), gang_key("b")
GROUPS = "metadata.annotations[gang.scheduling.koordinator.sh/groups]"
SPEC = "metadata.annotations[gang.scheduling.koordinator.sh/network-topology-spec]"
PODSET_GROUP = "metadata.annotations[kueue.x-k8s.io/podset-group-name]"
REQUIRED = "metadata.annotations[kueue.x-k8s.io/podset-required-topology]"
DATA = UnboundClaim("default/data", "fast")
SPINES = tuple(Domain("Spine", (name,)) for name in ("s1", "s2"))

SAMPLES: list[tuple[Cause, str]] = [
    (InvalidInput('spec.x must be y, not "z"'), 'spec.x must be y, not "z"'),
    (
        FieldsUnsupported(("spec.a", "spec.b"), "default/a-0"),
        "pod default/a-0: spec.a, spec.b cannot be honoured by this scheduler yet",
    ),
    (
        FieldsUnsupported(("spec.affinity", "spec.a"), "default/a-0"),
        (
            "pod default/a-0: spec.affinity: the terms of this namespace about other pods would be "
            "compared with too many pods; use fewer different ones, or let them require labels "
            "that few pods have, or ask an administrator to raise maxTermComparisons; "
            "spec.a cannot be honoured by this scheduler yet"
        ),
    ),
    (
        FieldsUnsupported(("spec.a",)),
        "spec.a cannot be honoured by this scheduler yet",
    ),
    (
        FieldsUnsupported((REQUIRED.replace("topology", "topologie"), "spec.a")),
        (
            "metadata.annotations[kueue.x-k8s.io/podset-required-topologie] is unknown; did you "
            "mean kueue.x-k8s.io/podset-required-topology?; spec.a cannot be honoured by this "
            "scheduler yet"
        ),
    ),
    (BothInvalid(InvalidInput("a"), InvalidInput("b")), "a; b"),
    (ObjectMissing("PodGroup", A), 'PodGroup "default/a" does not exist'),
    (
        ObjectMissing("PyTorchJob", A),
        'PyTorchJob "default/a" does not exist, or may not be read',
    ),
    (
        ObjectTwice(A, ("x.io", "y.io")),
        'PodGroup "default/a" exists twice, in x.io and y.io: delete one',
    ),
    (
        MinMemberAboveJobs(1, 4, 3, ("default/j", "default/k")),
        (
            "1 of minMember 4 members exist; Job default/j, default/k can have 3 at once: other "
            "pods must come, or minMember be lowered to 3"
        ),
    ),
    (
        GangMissing(B.called, A),
        "gang default/b, which default/a names as one of its group, does not exist",
    ),
    (
        OneSided(A, B.called),
        (
            f"{GROUPS} of default/a names default/b, which is in another namespace and does not "
            "name default/a in turn"
        ),
    ),
    (
        OtherGangCannotStart(A, MembersMissing(1, 2)),
        "gang default/a of the same group cannot start: 1 of minMember 2 members exist",
    ),
    (MembersMissing(3, 4), "3 of minMember 4 members exist"),
    (
        MembersMissing(3, 4, (RoleCount("master", 0, 1), RoleCount("worker", 1, 3))),
        "members are missing: 0 of 1 master, 1 of 3 worker",
    ),
    (
        RoleUnknown("a/p", "x", ("master", "worker")),
        'pod a/p has role "x": its gang has master, worker',
    ),
    (
        RoleFull("worker", 8),
        "the gang has 8 members of role worker, and may have no more",
    ),
    (
        RoleUnknown("a/p", "", ("master",)),
        f"pod a/p has no role in metadata.labels[{ROLE}]: its gang has master",
    ),
    (
        RoleUnknown("a/p", "x", ()),
        (
            'pod a/p has role "x", and its gang has none: the PodGroup declares them in '
            "metadata.annotations[py-gang-scheduler.io/roles]"
        ),
    ),
    (
        ResourcesMissing(("cpu", "memory")),
        "the cluster has not enough cpu, memory free (spec.minResources)",
    ),
    (
        DomainsTooSmall(OwnDomains("pool", 1, 1, (("cpu", 1),)), 0),
        (
            "a Job of 1 pod must have a domain of pool alone; 0 domains have room for a whole Job "
            "(alpha.jobset.sigs.k8s.io/exclusive-topology)"
        ),
    ),
    (NotTriedYet(A), "gang default/a was not tried yet: others come before it"),
    (
        SurplusNotTried(A, 1),
        "gang default/a has a place; 1 more member has no place yet, and will be tried again.",
    ),
    (
        SurplusNotTried(A, 2),
        "gang default/a has a place; 2 more members have no place yet, and will be tried again.",
    ),
    (BeyondMaxWorkers(A, 8), "gang default/a has all 8 workers that it asks for (maxWorkers)"),
    (
        StepIncomplete(A, 2),
        "gang default/a waits for more workers: it grows by 2 at once (scaleUpStep)",
    ),
    (
        CoolingDown(A, 60),
        "gang default/a may grow again at 1970-01-01T00:01:00Z (scaleUpCooldown)",
    ),
    (
        ReplicasOutside(9, 2, 8, "helm"),
        "it is 9, not between minWorkers 2 and maxWorkers 8, last by helm",
    ),
    (ReplicasContested(10), "others changed it twice in 10 minutes"),
    (AutoscalerTargets("load"), "HorizontalPodAutoscaler load scales it"),
    (
        ModeBehindPodGroup(),
        (
            "mode Replicas of the annotation elastic is only for workloads without a PodGroup: "
            "start the controller without its option for gang scheduling, or use mode Bind"
        ),
    ),
    (
        ModeNotAllowed("Job"),
        (
            "mode Replicas of the annotation elastic needs the setting elasticKinds of the "
            "scheduler to list Job"
        ),
    ),
    (OthersAwaitClaims(A), "gang default/a waits for the claims of other members"),
    (
        Requested("spec.x", MembersMissing(1, 2)),
        "spec.x: 1 of minMember 2 members exist",
    ),
    (LayersApart(("l", "m")), 'the layers "l", "m" are not all in one topology'),
    (UnknownLayers(("l",)), 'layer "l" is unknown: there is no topology'),
    (
        UnknownLayers(("l", "m"), ("Spine", "Block")),
        'layer "l" and "m" is unknown: the layers are Spine, Block',
    ),
    (
        UnknownLayers(("spin",), ("Spine", "Block"), "Spine"),
        'layer "spin" is unknown: the layers are Spine, Block; did you mean Spine?',
    ),
    (
        InvalidSlice("l", SliceFault.NOT_BELOW_OTHER_SLICES),
        'the slice layer "l" must be below the layer of the slices before it',
    ),
    (
        InvalidSlice("l", SliceFault.ABOVE_GATHERING),
        'the slice layer "l" is above the layer that the members gather in',
    ),
    (MultipleDoesNotDivide(4, 6), "podCountMultiple 4 does not divide the 6 members"),
    (MultipleNeedsMore(6, 8), "6 members exist, and podCountMultiple needs 8 at once"),
    (
        ComputeDomainApart("example.com/clique"),
        "its ComputeDomain works within one example.com/clique: ask for MustGather at that layer",
    ),
    (
        Scattered(4, SPINES, SPINES[0]),
        "members are bound in 4 domains, Spine/s1, Spine/s2: the others join those in Spine/s1",
    ),
    (
        GangRequestMisplaced("default/a-0"),
        f"pod default/a-0: {SPEC} must be absent, or the same as on the PodGroup",
    ),
    (
        PodRequestBesideGang("default/a-0", "x", "y"),
        "pod default/a-0: x must be absent with y of its gang or group",
    ),
    (
        PodsetsDiffer(("default/a-0", "default/a-1"), "g"),
        (
            "pods default/a-0 and default/a-1 must ask for the same topology: both have "
            f'{PODSET_GROUP} "g"'
        ),
    ),
    (
        GangsRequestsDiffer((A, B), ("x", "y")),
        "x of default/a and y of default/b must be the same: they are of one gang group",
    ),
    (
        BindingFailed(1, 3, ApiAnswer("403: no")),
        "binding failed for 1 of 3 members: 403: no",
    ),
    (BindingFailed(1, 3), "binding failed for 1 of 3 members"),
    (ApiAnswer("403: no"), "403: no"),
    (
        ClaimsUnbound(1, 1, DATA),
        "a claim is not bound yet: default/data (StorageClass fast)",
    ),
    (
        ClaimsUnbound(2, 3, DATA),
        "2 of 3 claims are not bound yet: default/data (StorageClass fast) and 1 more",
    ),
    (
        ClaimFailed(ClaimFault.NOT_FOUND, "data"),
        'persistentvolumeclaim "data" not found',
    ),
    (
        ClaimFailed(ClaimFault.DELETING, "data"),
        'persistentvolumeclaim "data" is being deleted',
    ),
    (
        ClaimFailed(ClaimFault.NOT_PROVISIONED, "data"),
        'provisioning failed for PVC "data"',
    ),
    (
        ClaimFailed(ClaimFault.NO_PROVISIONER, "data"),
        'no provisioner makes a volume for persistentvolumeclaim "data"',
    ),
    (
        ClaimFailed(ClaimFault.VOLUME_NOT_FOUND, "pv"),
        'persistentvolume "pv" not found',
    ),
    (
        ClaimFailed(ClaimFault.VOLUME_TAKEN_BACK, "pv"),
        'ClaimRef got reset for pv "pv"',
    ),
    (
        ClaimFailed(ClaimFault.VOLUME_OUT_OF_REACH, "pv", "n1"),
        'pv "pv" node affinity doesn\'t match node "n1"',
    ),
    (
        PodsClaimFailed("default/a-0", ClaimFailed(ClaimFault.DELETING, "data")),
        'claims of pod default/a-0: persistentvolumeclaim "data" is being deleted',
    ),
    (
        ClaimNotWritten("default/data", "n1", "", "403: no"),
        "node n1 for claim default/data cannot be written: 403: no",
    ),
    (
        ClaimNotWritten("default/data", "n1", "pv", "403: no"),
        "volume pv for claim default/data cannot be written: 403: no",
    ),
    (
        DeviceClaimFailed("default/gpu", "422: no"),
        "claim default/gpu cannot get its devices: 422: no",
    ),
    (
        HeldForPodGone("default/a-0"),
        "room was held for pod default/a-0, which is gone",
    ),
    (HeldNodeGone("n1"), "node n1, on which room was held, is gone"),
    (NotLeading(), "this replica does not lead any more"),
    (WorkloadChanged(), "it was changed meanwhile, and is decided on again"),
    (WorkloadGone(), "it was deleted"),
    (GangShared("Job a/b", "Job a/c"), "Job a/b and Job a/c wait suspended in the same gang"),
    (
        KueueManages("job-a-1"),
        (
            "Kueue manages it, by its Workload job-a-1, and decides when it starts: take it from "
            "Kueue, or name a LocalQueue in place of this queue"
        ),
    ),
    (TemplateGone("spec.template"), "it has no pod template at spec.template any more"),
    (
        PatchForbidden("jobs.batch"),
        (
            "py-gang-scheduler may not patch jobs.batch: the ClusterRole of the chart allows it "
            "for the kinds in settings.manageJobs"
        ),
    ),
    (
        HoldEnded(0.5, ApiAnswer("500: no")),
        "given up after 0.5 s: 500: no",
    ),
    (HoldEnded(600.0), "given up after 600 s"),
    (
        PreemptionGivenUp(MemberGone("default/a-0")),
        "preemption: given up, pod default/a-0 is gone",
    ),
    (
        SavesAwaited(2, 1_767_268_800),
        "2 gangs that make room for it may save their work until 2026-01-01T12:00:00Z",
    ),
    (StepFailed("mark", "default/x", "403: no"), "mark default/x: 403: no"),
    (MemberGone("default/a-0"), "pod default/a-0 is gone"),
    (NominationLost("n1", NodeFault.GONE), "node n1 is gone"),
    (NominationLost("n1", NodeFault.NOT_READY), "node n1 is not ready"),
    (NominationLost("n1", NodeFault.UNSCHEDULABLE), "node n1 takes no more pods"),
    (NominationLost("n1", NodeFault.FULL), "the room on n1 was taken"),
    (
        NominationUnused("n1", 3),
        "the API server refused 3 times to bind to the room on n1",
    ),
    (
        NominationExpired("n1", 60),
        "members or gangs that it needs did not come in 60 s, with room on n1",
    ),
    (
        NominationTaken("n1", "other/b"),
        "the room on n1 goes to other/b, which has a higher priority",
    ),
    (
        QueueUnusable("team", QueueFault.NOT_FOUND),
        "queue team does not exist",
    ),
    (
        QueueUnusable("team", QueueFault.NO_LEAF),
        "queue team takes no gangs: it has queues below it",
    ),
    (FieldRefused("spec.weight", "-1"), 'spec.weight cannot be "-1"'),
    (
        QueueInactive("team", Inactivity.PARENT_NOT_FOUND, FieldRefused("spec.parent", "x")),
        'queue team is not active (ParentNotFound): spec.parent is "x", and no such queue exists',
    ),
    (
        QueueInactive("team", Inactivity.CYCLE, FieldRefused("spec.parent", "x")),
        (
            'queue team is not active (Cycle): spec.parent is "x", and the way up from there leads '
            "back to it"
        ),
    ),
    (
        QueueInactive("team", Inactivity.FLAVOR_NOT_FOUND, FieldRefused("spec.flavors", "x")),
        (
            'queue team is not active (FlavorNotFound): spec.flavors has "x", and no such '
            "ResourceFlavor exists"
        ),
    ),
    (
        QueueInactive("team", Inactivity.INVALID_SPEC, FieldRefused("spec.weight", "-1")),
        'queue team is not active (InvalidSpec): spec.weight cannot be "-1"',
    ),
    (
        QueueUnusable("a", QueueFault.NOT_FOR_NAMESPACE, "Queue", "team"),
        "Queue a is not for namespace team",
    ),
    (
        QueueUnusable(
            *("a", QueueFault.NOT_FOUND, "Queue", "team"),
            default=QueueDefault.OF_SETTINGS,
        ),
        "Queue a does not exist; it is the default by setting defaultQueue",
    ),
    (
        QueueUnusable(
            *("a", QueueFault.NOT_FOR_NAMESPACE, "Queue", "team"),
            default=QueueDefault.OF_NAMESPACE,
        ),
        (
            "Queue a is not for namespace team; it is the default by annotation "
            "py-gang-scheduler.io/default-queue of namespace team"
        ),
    ),
    (
        QueueNotNamed("team"),
        "gangs of namespace team must name a queue: label py-gang-scheduler.io/queue",
    ),
    (LocalQueueStopped("a"), "LocalQueue a is stopped: it takes no new gangs"),
    (
        QueueNamesDiffer(("Queue", "a"), ("LocalQueue", "b")),
        "Queue a and LocalQueue b are named: name one queue only",
    ),
    (
        GangsQueuesDiffer((A, B), ("x", "y")),
        "gangs default/a and default/b of one group are in queues x and y: they must be in one",
    ),
    (
        PriorityDiffers("ns/a-0", 0, 1000),
        (
            "pod ns/a-0 has priority 0, and spec.priority of its PodGroup is 1000: both must have "
            "one PriorityClass"
        ),
    ),
    (
        PreemptionPolicyDiffers("ns/a-0", preempts=True),
        (
            "pod ns/a-0 has preemptionPolicy PreemptLowerPriority, and spec.preemptionPolicy of "
            "its PodGroup is Never: both must have one PriorityClass"
        ),
    ),
    (
        ClassDiffers("ns/a-0", "", "high"),
        (
            "spec.priorityClassName of its PodGroup is high, and no member has that PriorityClass: "
            "pod ns/a-0 has none. Set priorityClassName of the pods: the priority of a "
            "gang is that of its pods"
        ),
    ),
    (
        AwaitsEvicted("team", 2),
        (
            "2 gangs of queue team hold quota, the most that it allows at once, and some of them "
            "are evicted: it is tried again once they have ended"
        ),
    ),
    (PriorityClassMissing("high"), "WorkloadPriorityClass high does not exist"),
    (QueueOnHold("team", "Hold"), "queue team has stopPolicy Hold"),
    (
        LimitMissed("team", AdmissionLimit.GPUS_PER_JOB, 9, 8),
        (
            "the members ask for 9 GPUs, and queue team admits 8 a gang "
            "(admissionControl.maxGPUsPerJob)"
        ),
    ),
    (
        LimitMissed("team", AdmissionLimit.LOWEST_PRIORITY, 1, 5),
        (
            "the priority is 1, and queue team admits none below 5 "
            "(admissionControl.priorityRange.min)"
        ),
    ),
    (
        LimitMissed("team", AdmissionLimit.HIGHEST_PRIORITY, 9, 5),
        (
            "the priority is 9, and queue team admits none above 5 "
            "(admissionControl.priorityRange.max)"
        ),
    ),
    (
        FlavorsUnsuitable(
            "team",
            "default/a-0",
            (
                UnsuitableFlavor("x", FlavorFault.NOT_DECLARED),
                UnsuitableFlavor("spot", FlavorFault.LABELS_DIFFER),
                UnsuitableFlavor("gpu", FlavorFault.TAINT_NOT_TOLERATED, "a=b:NoSchedule"),
                UnsuitableFlavor("big", FlavorFault.TOLERATION_NOT_ADDED, "c=:NoExecute"),
                UnsuitableFlavor("far", FlavorFault.OTHER_TOPOLOGY),
            ),
        ),
        (
            "no flavor of queue team suits pod default/a-0: x does not exist; spot has other node "
            "labels than the pod selects; gpu has a taint that the pod does not tolerate: "
            "a=b:NoSchedule; big tolerates a taint of its nodes, but tolerations are not added to "
            "pods: c=:NoExecute; far is in another topology"
        ),
    ),
    (
        AbovePotential("team", "default", "cpu", 9000, 8000),
        "needs 9 cpu, and queue team can have 8 at most",
    ),
    (AbovePotential("team", "", "cpu", 9000, 0), "queue team covers no cpu"),
    (
        JobLimit("team", 1),
        "1 gang of queue team holds quota, the most that it allows at once",
    ),
    (
        JobLimit("team", 2),
        "2 gangs of queue team hold quota, the most that it allows at once",
    ),
    (
        QuotaShort("team", "spot", "memory", 2**30, 0, ("x", "y")),
        "needs 1Gi memory of flavor spot, and queue team has 0 left; borrowed by x, y",
    ),
    (
        QuotaShort("", "default", "cpu", 2, 1),
        "needs 2m cpu, and gangs without a queue have 1m left",
    ),
    (
        QuotaShort("q", "default", "a", 2, 1, ("", "x")),
        "needs 2 a, and queue q has 1 left; borrowed by x, gangs without a queue",
    ),
    (
        BehindGang("team", A),
        "gang default/a comes first: queue team keeps its order",
    ),
    (
        BehindGang("team", None),
        "a gang of another namespace comes first: queue team keeps its order",
    ),
    (
        DelaysReserved("team", A, 1_767_225_600),
        (
            "it would delay the start that gang default/a of queue team is promised at "
            "2026-01-01T00:00:00Z"
        ),
    ),
    (
        DelaysReserved("team", None),
        "it would delay the start that a gang of another namespace of queue team is promised",
    ),
    (
        ChecksUnanswered("team", ("x", "y")),
        "queue team has admission checks that another controller answers: x, y",
    ),
    (
        NodesAwaited("pgs-1", "atomic", RequestState.ACCEPTED, "2 nodes come"),
        (
            "nodes are asked for by ProvisioningRequest pgs-1 of class atomic: accepted: 2 nodes "
            "come"
        ),
    ),
    (
        NodesAwaited("pgs-1", "atomic"),
        "nodes are asked for by ProvisioningRequest pgs-1 of class atomic: no answer yet",
    ),
    (
        AskedAgain(1, RequestState.FAILED, "out of stock", 1_767_225_600),
        ("nodes were asked for once: failed: out of stock; asked again at 2026-01-01T00:00:00Z"),
    ),
    (
        RequestLeaves("pgs-1"),
        "ProvisioningRequest pgs-1 asks for other nodes, and is deleted",
    ),
    (
        MostOutstanding("team", 10),
        (
            "10 ProvisioningRequests of queue team are pending, the most that a namespace may have "
            "at once"
        ),
    ),
    (
        MostOutstanding("", 10),
        (
            "10 ProvisioningRequests of gangs without a queue are pending, "
            "the most that a namespace may have at once"
        ),
    ),
    (
        NotProvisioned(4, RequestState.EXPIRED, ""),
        "nodes were asked for 4 times, the last time: the booking expired",
    ),
    (
        TooManyPodSets(33, 32),
        (
            "no nodes are asked for: members ask for nodes in 33 ways, and a ProvisioningRequest "
            "can say 32"
        ),
    ),
    (
        InternalError.of(ZeroDivisionError("planted")),
        "an error in the scheduler: ZeroDivisionError: planted",
    ),
    (
        DecisionTooLong(3.26, 2.0, 1_700_000_000),
        (
            "to decide on it took the scheduler 3.3 s, more than its share of 2 s: it is tried "
            "again at 2023-11-14T22:13:20Z, after all others"
        ),
    ),
    (
        ClaimNotCreated("gpu", "default/a-0"),
        "claim gpu of pod default/a-0 is not created yet",
    ),
    (
        ClaimBeingDeleted("default/a-0-gpu", "default/a-0"),
        "ResourceClaim default/a-0-gpu of pod default/a-0 is being deleted",
    ),
    (
        ClaimBeingWithdrawn("default/a-0-gpu", "default/a-0"),
        (
            "ResourceClaim default/a-0-gpu of pod default/a-0 is giving back the devices of an "
            "attempt that failed"
        ),
    ),
    (
        ClaimObjectMissing("ResourceClaimTemplate", "one-gpu", "gpu", "default/a-0"),
        (
            'ResourceClaimTemplate "one-gpu", which spec.resourceClaims[name=gpu] of pod '
            "default/a-0 names, does not exist"
        ),
    ),
    (
        ClaimOfAnother("default/a-0-gpu", "default/a-0"),
        "ResourceClaim default/a-0-gpu was not created for pod default/a-0",
    ),
    (
        ClaimInvalid("default/a-0-gpu", "gpu", "device class gpus does not exist"),
        "claim default/a-0-gpu, request gpu: device class gpus does not exist",
    ),
    (
        DeviceClaimFailed("default/a-0-gpu", "409: in use"),
        "claim default/a-0-gpu cannot get its devices: 409: in use",
    ),
    (
        DevicesAwaited(1, 1, "default/a-0-gpu", "d/p/gpu-0", "Attached"),
        "a device is not attached yet: d/p/gpu-0 of claim default/a-0-gpu lacks condition Attached",
    ),
    (
        DevicesAwaited(2, 3, "default/a-0-gpu", "d/p/gpu-0", "Attached"),
        (
            "2 of 3 devices are not attached yet: d/p/gpu-0 of claim default/a-0-gpu lacks "
            "condition Attached"
        ),
    ),
    (
        DeviceNotAttached("default/a-0-gpu", "d/p/gpu-0", "Failed"),
        ("device d/p/gpu-0 of claim default/a-0-gpu cannot be attached: condition Failed is True"),
    ),
    (
        DeviceNotAttached("default/a-0-gpu", "d/p/gpu-0", "Attached", 600.0),
        (
            "given up after 600 s: device d/p/gpu-0 of claim default/a-0-gpu still lacks "
            "condition Attached"
        ),
    ),
    (
        ClaimInvalid("default/a-0-gpu", "", "it asks for 33 devices"),
        "claim default/a-0-gpu: it asks for 33 devices",
    ),
]


def kinds() -> set[type[Cause]]:
    """Return every kind of cause that there is."""
    modules = [
        importlib.import_module(f"{causes.__name__}.{each.name}")
        for each in pkgutil.iter_modules(causes.__path__)
    ]
    return {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Cause) and each is not Cause
    }


@pytest.mark.parametrize(("cause", "text"), SAMPLES)
def test_a_cause_has_its_text(cause: Cause, text: str) -> None:
    assert text == text_of(cause)


def test_every_kind_has_words_and_a_sample() -> None:
    assert kinds() == {type(cause) for cause, _ in SAMPLES}
    assert [] == [each.__name__ for each in kinds() if each.text is Cause.text]


def test_what_users_wrote_moves_no_cursor() -> None:
    cause = Requested("spec.layer", InvalidInput("\x1b[2J is unknown"))

    assert "spec.layer: \\u001b[2J is unknown" == text_of(cause)


def test_causes_are_values() -> None:
    assert len(SAMPLES) == len({cause for cause, _ in SAMPLES})


def test_causes_cost_next_to_nothing_at_import() -> None:
    """Python compiles five functions for a dataclass, and each command imports all causes."""
    assert kinds()
    assert [] == [each.__name__ for each in kinds() if is_dataclass(each)]
    assert [] == [each.__name__ for each in kinds() if not each.__struct_config__.frozen]
