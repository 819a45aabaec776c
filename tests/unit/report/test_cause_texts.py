"""What people read of each kind of cause, letter by letter."""

import pytest

from gang_scheduler.model import causes
from gang_scheduler.model.causes import (
    AdmissionLimit,
    ClaimFault,
    FlavorFault,
    NodeFault,
    SliceFault,
    UnboundClaim,
    UnsuitableFlavor,
)
from gang_scheduler.model.network.topology import Domain
from gang_scheduler.model.problems import Cause
from gang_scheduler.report.cause_texts import TEXTS, text_of
from support.builders import gang_key

A, B = gang_key("a"), gang_key("b")
GROUPS = "metadata.annotations[gang.scheduling.koordinator.sh/groups]"
SPEC = "metadata.annotations[gang.scheduling.koordinator.sh/network-topology-spec]"
PODSET_GROUP = "metadata.annotations[kueue.x-k8s.io/podset-group-name]"
REQUIRED = "metadata.annotations[kueue.x-k8s.io/podset-required-topology]"
DATA = UnboundClaim("default/data", "fast")
SPINES = tuple(Domain("Spine", (name,)) for name in ("s1", "s2"))

SAMPLES: list[tuple[Cause, str]] = [
    (causes.InvalidInput('spec.x must be y, not "z"'), 'spec.x must be y, not "z"'),
    (
        causes.FieldsUnsupported(("spec.a", "spec.b"), "default/a-0"),
        "pod default/a-0: spec.a, spec.b cannot be honoured by this scheduler yet",
    ),
    (
        causes.FieldsUnsupported(("spec.a",)),
        "spec.a cannot be honoured by this scheduler yet",
    ),
    (
        causes.FieldsUnsupported((REQUIRED.replace("topology", "topologie"), "spec.a")),
        (
            "metadata.annotations[kueue.x-k8s.io/podset-required-topologie] is unknown; did you "
            "mean kueue.x-k8s.io/podset-required-topology?; spec.a cannot be honoured by this "
            "scheduler yet"
        ),
    ),
    (causes.ObjectMissing("PodGroup", A), 'PodGroup "default/a" does not exist'),
    (
        causes.ObjectTwice(A, ("x.io", "y.io")),
        'PodGroup "default/a" exists twice, in x.io and y.io: delete one',
    ),
    (
        causes.MinMemberAboveJobs(1, 4, 3, ("default/j", "default/k")),
        (
            "1 of minMember 4 members exist; Job default/j, default/k can have 3 at once: other "
            "pods must come, or minMember be lowered"
        ),
    ),
    (
        causes.GangMissing(B.called, A),
        "gang default/b, which default/a names as one of its group, does not exist",
    ),
    (
        causes.OneSided(A, B.called),
        (
            f"{GROUPS} of default/a names default/b, which is in another namespace and does not "
            "name default/a in turn"
        ),
    ),
    (
        causes.MateCannotStart(A, causes.MembersMissing(1, 2)),
        "gang default/a of the same group cannot start: 1 of minMember 2 members exist",
    ),
    (causes.MembersMissing(3, 4), "3 of minMember 4 members exist"),
    (
        causes.ResourcesMissing(("cpu", "memory")),
        "spec.minResources: the cluster has not enough cpu, memory free",
    ),
    (causes.NotTriedYet(A), "gang default/a was not tried yet: others come before it"),
    (
        causes.SurplusNotTried(A, 1),
        "gang default/a has a place; 1 more member has none yet, and will be tried again.",
    ),
    (
        causes.SurplusNotTried(A, 2),
        "gang default/a has a place; 2 more members have none yet, and will be tried again.",
    ),
    (causes.OthersAwaitVolumes(A), "gang default/a waits for the claims of other members"),
    (
        causes.Requested("spec.x", causes.MembersMissing(1, 2)),
        "spec.x: 1 of minMember 2 members exist",
    ),
    (causes.LayersApart(("l", "m")), 'the layers "l", "m" are not all in one topology'),
    (causes.UnknownLayers(("l",)), 'layer "l" is unknown: there is no topology'),
    (
        causes.UnknownLayers(("l", "m"), ("Spine", "Block")),
        'layer "l" and "m" is unknown: the layers are Spine, Block',
    ),
    (
        causes.UnknownLayers(("spin",), ("Spine", "Block"), "Spine"),
        'layer "spin" is unknown: the layers are Spine, Block; did you mean Spine?',
    ),
    (
        causes.InvalidSlice("l", SliceFault.NOT_BELOW_OTHER_SLICES),
        'the slice layer "l" must be below the layer of the slices before it',
    ),
    (
        causes.InvalidSlice("l", SliceFault.ABOVE_GATHERING),
        'the slice layer "l" is above the layer that the members gather in',
    ),
    (causes.MultipleDoesNotDivide(4, 6), "podCountMultiple 4 does not divide the 6 members"),
    (causes.MultipleNeedsMore(6, 8), "6 members exist, and podCountMultiple needs 8 at once"),
    (
        causes.Scattered(4, SPINES, SPINES[0]),
        "members are bound in 4 domains, Spine/s1, Spine/s2: the others join those in Spine/s1",
    ),
    (
        causes.GangRequestMisplaced("default/a-0"),
        f"pod default/a-0: {SPEC} must be absent, or the same as on the PodGroup",
    ),
    (
        causes.PodRequestBesideGang("default/a-0", "x", "y"),
        "pod default/a-0: x must be absent beside y of its gang or group",
    ),
    (
        causes.PodsetsDiffer(("default/a-0", "default/a-1"), "g"),
        (
            "pods default/a-0 and default/a-1 must ask for the same topology: both have "
            f'{PODSET_GROUP} "g"'
        ),
    ),
    (
        causes.GangsRequestsDiffer((A, B), ("x", "y")),
        "x of default/a and y of default/b must be the same: they are of one gang group",
    ),
    (
        causes.BindingFailed(1, 3, causes.ApiAnswer("403: no")),
        "binding failed for 1 of 3 members: 403: no",
    ),
    (causes.BindingFailed(1, 3), "binding failed for 1 of 3 members: "),
    (causes.ApiAnswer("403: no"), "403: no"),
    (
        causes.ClaimsUnbound(1, 1, DATA),
        "a claim is not bound yet: default/data (StorageClass fast)",
    ),
    (
        causes.ClaimsUnbound(2, 3, DATA),
        "2 of 3 claims are not bound yet: default/data (StorageClass fast) and 1 more",
    ),
    (
        causes.ClaimFailed(ClaimFault.NOT_FOUND, "data"),
        'persistentvolumeclaim "data" not found',
    ),
    (
        causes.ClaimFailed(ClaimFault.DELETING, "data"),
        'persistentvolumeclaim "data" is being deleted',
    ),
    (
        causes.ClaimFailed(ClaimFault.NOT_PROVISIONED, "data"),
        'provisioning failed for PVC "data"',
    ),
    (
        causes.ClaimFailed(ClaimFault.NO_PROVISIONER, "data"),
        'no provisioner makes a volume for persistentvolumeclaim "data"',
    ),
    (
        causes.ClaimFailed(ClaimFault.VOLUME_NOT_FOUND, "pv"),
        'persistentvolume "pv" not found',
    ),
    (
        causes.ClaimFailed(ClaimFault.VOLUME_TAKEN_BACK, "pv"),
        'ClaimRef got reset for pv "pv"',
    ),
    (
        causes.ClaimFailed(ClaimFault.VOLUME_OUT_OF_REACH, "pv", "n1"),
        'pv "pv" node affinity doesn\'t match node "n1"',
    ),
    (
        causes.PodsClaimFailed("default/a-0", causes.ClaimFailed(ClaimFault.DELETING, "data")),
        'claims of pod default/a-0: persistentvolumeclaim "data" is being deleted',
    ),
    (
        causes.ClaimNotWritten("default/data", "n1", "", "403: no"),
        "node n1 for claim default/data cannot be written: 403: no",
    ),
    (
        causes.ClaimNotWritten("default/data", "n1", "pv", "403: no"),
        "volume pv for claim default/data cannot be written: 403: no",
    ),
    (
        causes.HeldForPodGone("default/a-0"),
        "pod default/a-0 is gone, for which room was held",
    ),
    (causes.HeldNodeGone("n1"), "node n1 is gone, where room was held"),
    (causes.NotLeading(), "this replica does not lead any more"),
    (
        causes.HoldEnded(0.5, causes.ApiAnswer("500: no")),
        "given up after 0.5 s: 500: no",
    ),
    (causes.HoldEnded(600.0), "given up after 600 s: "),
    (
        causes.PreemptionGivenUp(causes.MemberGone("default/a-0")),
        "preemption: given up, pod default/a-0 is gone",
    ),
    (causes.StepFailed("mark", "default/x", "403: no"), "mark default/x: 403: no"),
    (causes.MemberGone("default/a-0"), "pod default/a-0 is gone"),
    (causes.NominationLost("n1", NodeFault.GONE), "node n1 is gone"),
    (causes.NominationLost("n1", NodeFault.NOT_READY), "node n1 is not ready"),
    (causes.NominationLost("n1", NodeFault.UNSCHEDULABLE), "node n1 takes no more pods"),
    (causes.NominationLost("n1", NodeFault.FULL), "the room on n1 was taken"),
    (
        causes.NominationTaken("n1", "other/b"),
        "the room on n1 goes to other/b, which has a higher priority",
    ),
    (
        causes.QueueUnusable("team", causes.QueueFault.NOT_FOUND),
        "queue team does not exist",
    ),
    (
        causes.QueueUnusable("team", causes.QueueFault.NO_LEAF),
        "queue team takes no gangs: it has queues below it",
    ),
    (causes.FieldRefused("spec.weight", "-1"), 'spec.weight cannot be "-1"'),
    (
        causes.QueueInactive(
            "team", causes.Inactivity.PARENT_NOT_FOUND, causes.FieldRefused("spec.parent", "x")
        ),
        'queue team is not active (ParentNotFound): spec.parent is "x", and no such queue exists',
    ),
    (
        causes.QueueInactive(
            "team", causes.Inactivity.CYCLE, causes.FieldRefused("spec.parent", "x")
        ),
        (
            'queue team is not active (Cycle): spec.parent is "x", and the way up from there leads '
            "back to it"
        ),
    ),
    (
        causes.QueueInactive(
            "team", causes.Inactivity.FLAVOR_NOT_FOUND, causes.FieldRefused("spec.flavors", "x")
        ),
        (
            'queue team is not active (FlavorNotFound): spec.flavors has "x", and no such '
            "ResourceFlavor exists"
        ),
    ),
    (
        causes.QueueInactive(
            "team", causes.Inactivity.INVALID_SPEC, causes.FieldRefused("spec.weight", "-1")
        ),
        'queue team is not active (InvalidSpec): spec.weight cannot be "-1"',
    ),
    (
        causes.QueueUnusable("a", causes.QueueFault.NOT_FOR_NAMESPACE, "Queue", "team"),
        "Queue a is not for namespace team",
    ),
    (
        causes.QueueUnusable(
            *("a", causes.QueueFault.NOT_FOUND, "Queue", "team"),
            default=causes.QueueDefault.OF_SETTINGS,
        ),
        "Queue a does not exist; it is the default by setting defaultQueue",
    ),
    (
        causes.QueueUnusable(
            *("a", causes.QueueFault.NOT_FOR_NAMESPACE, "Queue", "team"),
            default=causes.QueueDefault.OF_NAMESPACE,
        ),
        (
            "Queue a is not for namespace team; it is the default by annotation "
            "py-gang-scheduler.io/default-queue of namespace team"
        ),
    ),
    (
        causes.QueueNotNamed("team"),
        "gangs of namespace team must name a queue: label py-gang-scheduler.io/queue",
    ),
    (causes.LocalQueueStopped("a"), "LocalQueue a is stopped: it takes no new gangs"),
    (
        causes.QueueNamesDiffer(("Queue", "a"), ("LocalQueue", "b")),
        "Queue a and LocalQueue b are named: name one queue only",
    ),
    (
        causes.GangsQueuesDiffer((A, B), ("x", "y")),
        "gangs default/a and default/b of one group are in queues x and y: they must be in one",
    ),
    (causes.PriorityClassMissing("high"), "WorkloadPriorityClass high does not exist"),
    (causes.QueueOnHold("team", "Hold"), "queue team is stopped: Hold"),
    (
        causes.LimitMissed("team", AdmissionLimit.GPUS_PER_JOB, 9, 8),
        "admissionControl.maxGPUsPerJob of queue team is 8, and the members ask for 9",
    ),
    (
        causes.LimitMissed("team", AdmissionLimit.LOWEST_PRIORITY, 1, 5),
        "admissionControl.priorityRange.min of queue team is 5, and the priority is 1",
    ),
    (
        causes.LimitMissed("team", AdmissionLimit.HIGHEST_PRIORITY, 9, 5),
        "admissionControl.priorityRange.max of queue team is 5, and the priority is 9",
    ),
    (
        causes.FlavorsUnsuitable(
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
        causes.AbovePotential("team", "default", "cpu", 9000, 8000),
        "cpu: 9 asked for, and queue team can have 8 at most",
    ),
    (causes.AbovePotential("team", "", "cpu", 9000, 0), "queue team covers no cpu"),
    (
        causes.JobLimit("team", 1),
        "1 gang of queue team holds quota, as many as may at once",
    ),
    (
        causes.JobLimit("team", 2),
        "2 gangs of queue team hold quota, as many as may at once",
    ),
    (
        causes.QuotaShort("team", "spot", "memory", 2**30, 0, ("x", "y")),
        "memory of flavor spot: 1Gi asked for, and 0 left for queue team; borrowed by x, y",
    ),
    (
        causes.QuotaShort("", "default", "cpu", 2, 1),
        "cpu: 2m asked for, and 1m left for gangs without a queue",
    ),
    (
        causes.QuotaShort("q", "default", "a", 2, 1, ("", "x")),
        "a: 2 asked for, and 1 left for queue q; borrowed by x, gangs without a queue",
    ),
    (
        causes.BehindGang("team", A),
        "gang default/a comes first: queue team keeps its order",
    ),
    (causes.BeyondFirst("team", 1000), "1000 gangs of queue team are tried first"),
    (
        causes.DelaysReserved("team", A, 1_767_225_600),
        (
            "it would delay gang default/a of queue team, which is promised a start at "
            "2026-01-01T00:00:00Z"
        ),
    ),
    (
        causes.DelaysReserved("team", None),
        "it would delay a gang of another namespace of queue team, which is promised a start",
    ),
    (
        causes.ChecksUnanswered("team", ("x", "y")),
        "queue team has admission checks that another controller answers: x, y",
    ),
    (causes.InternalError.of(ZeroDivisionError("planted")), "ZeroDivisionError: planted"),
]


def kinds() -> set[type[Cause]]:
    """Return every kind of cause that there is."""
    return {
        each
        for each in vars(causes).values()
        if isinstance(each, type) and issubclass(each, Cause) and each is not Cause
    }


@pytest.mark.parametrize(("cause", "text"), SAMPLES)
def test_a_cause_has_its_text(cause: Cause, text: str) -> None:
    assert text == text_of(cause)


def test_every_kind_has_a_text_and_a_sample() -> None:
    assert kinds() == TEXTS.keys() == {type(cause) for cause, _ in SAMPLES}


def test_causes_are_values() -> None:
    assert len(SAMPLES) == len({cause for cause, _ in SAMPLES})
