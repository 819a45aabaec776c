"""The one table of all metrics, and what the replica that schedules shows of them."""

from collections.abc import Collection
from typing import Final

from prometheus_client import REGISTRY

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model.checkpoints import Outcome as CheckpointOutcome
from gang_scheduler.model.degraded import Shortage
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.provisioning import Came
from gang_scheduler.telemetry.family import FOLDED, Counter, Gauge, Histogram, Metric
from gang_scheduler.telemetry.labels import Bound, Closed, Label, Limited

NO_QUEUE: Final = ""
"""The queue of gangs that are in none."""
WHOLE_CLUSTER: Final = "_cluster"
"""What is said instead of a queue for the whole cluster."""
NO_CLASS: Final = "default"
"""The PriorityClass of pods that name none."""
JOB_TYPES: Final = (
    *("PodGroup", "annotation", "JobSet", "LeaderWorkerSet", "PyTorchJob", "TFJob", "XGBoostJob"),
    *("PaddleJob", "JAXJob", "MPIJob", "RayCluster", "RayJob", "KueuePodGroup"),
    *("SparkApplication", "StatefulSet", "Job", "Pod"),
)
"""What describes a gang; `annotation` and `Pod`: its pods do."""

BY_PRIORITY: Final = "Priority"
"""By what right a gang is evicted where there are no queues."""
DRAINED: Final = "Drained"
"""By what right it is where its queue is drained."""
RIGHTS: Final = (BY_PRIORITY, DRAINED, *dict.fromkeys(each.shown for each in EvictionClass))

QUEUES: Final = Limited(500)


def _one_of(*values: str) -> Bound:
    return Closed(values)


QUEUE = Label("queue", QUEUES)
JOB_TYPE = Label("job_type", Closed(JOB_TYPES))
REASON = Label("reason", Closed(tuple(each.value for each in Reason)))
RESOURCES: Final = Limited(16)
LAYER = Label("layer", Limited(32))
KIND = Label("kind", Limited(128))
"""A kind by the name of its CRD, as in `podgroups.scheduling.sigs.k8s.io`; `pods`, `nodes`."""
OUTCOME = Label("outcome", Limited(16))
API_RESOURCE = Label("resource", Limited(64))
VERB = Label("verb", _one_of("get", "list", "watch", "create", "update", "patch", "delete"))
FLAVORED = (QUEUE, Label("flavor", Limited(100)), Label("resource", RESOURCES))

UNITS: Final = "CPU in cores, memory in bytes."
SECONDS_GONE: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

# How gangs fare.
SCHEDULING_SECONDS = Histogram(
    "training_job_scheduling_duration_seconds",
    "Time from when a gang has minMember members until the last of its quorum is bound.",
    *(QUEUE, JOB_TYPE, Label("result", _one_of("scheduled", "timeout", "deleted"))),
    buckets=(0.1 * 2**i for i in range(15)),
    note=(
        "`timeout`: once for a gang that is not bound by its schedule timeout; `deleted`: "
        "it was deleted while it waited."
    ),
)
WAIT_SECONDS = Histogram(
    "pgs_gang_wait_seconds",
    "Time from when a gang has minMember members until the last of its quorum is bound, to a week.",
    QUEUE,
    buckets=(*(1, 5, 15, 60, 300, 900, 3600), *(hours * 3600 for hours in (4, 12, 24, 72, 168))),
)
COMPLETION_SECONDS = Histogram(
    "training_job_completion_seconds",
    "Time from when a gang was first whole until it ended.",
    *(QUEUE, JOB_TYPE, Label("status", _one_of("succeeded", "failed", "evicted", "deleted"))),
    buckets=(60 * 2**i for i in range(15)),
)
DECISIONS = Counter(
    "training_gang_scheduling_total",
    "Decisions on gangs that have minMember members, and whether after the schedule timeout.",
    Label(
        "result",
        _one_of("scheduled", "unschedulable", "waiting_for_victims", "quota", "invalid"),
    ),
    Label("timeout", _one_of("true", "false")),
    note="The same refusal again is not counted.",
)
QUEUE_LENGTH = Gauge(
    "training_job_queue_length",
    "Gangs that wait, by queue and PriorityClass.",
    *(QUEUE, Label("priority", Limited(20, other="other"), own=True)),
    of_leader=True,
)
OLDEST_WAIT = Gauge(
    "pgs_oldest_wait_seconds",
    "Age of the oldest gang that waits, by reason.",
    REASON,
    of_leader=True,
)
GANGS_WAITING = Gauge(
    "pgs_gangs_waiting",
    "Gangs that wait, by reason.",
    REASON,
    of_leader=True,
    note="[What each reason asks for](reasons.md).",
)
GANGS = Gauge(
    "pgs_gangs",
    "Gangs, by how far they have come and what describes them.",
    *(Label("phase", Closed(tuple(each.value for each in Phase))), JOB_TYPE),
    of_leader=True,
)
GANG_DOMAINS = Histogram(
    "pgs_gang_domains",
    "Over how many domains of each layer the quorum of a gang was bound.",
    LAYER,
    buckets=(1, 2, 3, 4, 6, 8, 12, 16, 32, 64),
)
LARGEST_GANG = Gauge(
    "pgs_largest_gang",
    "How many members of a shape one domain of a layer takes now.",
    *(LAYER, Label("shape", Limited(4), own=True)),
    of_leader=True,
    note="Of the shapes in `gaugeShapes`.",
)
PARTIAL_GANGS = Gauge("pgs_partial_gangs", "Gangs that are bound in part.", of_leader=True)

# Room.
UTILIZATION = Gauge(
    "training_cluster_resource_utilization",
    "What a queue uses of what it is promised; _cluster: what all pods use of the ready nodes.",
    *(Label("resource_type", RESOURCES), QUEUE),
    of_leader=True,
    note="Above 1 a queue borrows.",
)
IDLE_WHILE_WAITING = Gauge(
    "pgs_idle_while_waiting",
    "What is free on ready nodes while a gang waits for it that has minMember members; else 0.",
    Label("resource", RESOURCES),
    of_leader=True,
)
NODES = Gauge(
    "pgs_nodes",
    "Nodes by state; those outside of the network tree have one of the other states, too.",
    Label("state", _one_of("ready", "not_ready", "cordoned", "outside_tree")),
    of_leader=True,
)

# Queues.
QUEUE_DEVIATION = Gauge(
    "training_queue_fairshare_deviation",
    "How far a queue is above its fair share, as a part of all that its tree is promised.",
    QUEUE,
    of_leader=True,
    note="Below 0: under it.",
)
QUEUE_NOMINAL, QUEUE_USED, QUEUE_BORROWED, QUEUE_LENT = (
    Gauge(f"pgs_queue_{name}", about, *FLAVORED, of_leader=True, note=UNITS)
    for name, about in (
        ("nominal", "What a queue and those below it are promised."),
        ("used", "What a queue and those below it use."),
        ("borrowed", "What a queue uses above its own."),
        ("lent", "What other queues use of a queue's own."),
    )
)
QUEUE_OLDEST_WAIT = Gauge(
    "pgs_queue_oldest_wait_seconds",
    "Age of the oldest gang that waits in a queue for quota or room.",
    QUEUE,
    of_leader=True,
)
QUEUE_STARVING = Gauge(
    "pgs_queue_starving",
    "1 for a queue of which a gang waits for long for no more than the queue is promised, else 0.",
    QUEUE,
    of_leader=True,
    note="The condition [`Starving`](queues.md#figures) of the Queue.",
)
RESERVATION_START = Gauge(
    "pgs_reservation_start_seconds",
    "Seconds until the estimated start of the first gang of a queue that is promised one.",
    QUEUE,
    of_leader=True,
    note="Absent where it is not known.",
)

# Preemption.
GANGS_PREEMPTED = Counter(
    "training_job_preemptions_total",
    "Gangs that lost members for another gang, by the queues of both, and by what right.",
    Label("preemptor_queue", QUEUES),
    Label("victim_queue", QUEUES),
    Label("reason", Closed(RIGHTS)),
    note=(
        "`reason` is the [class](queue-rules.md#which-gang-evicts-which), `Priority` without "
        "queues."
    ),
)
LOST_SECONDS = Counter(
    "pgs_preemption_lost_seconds_total",
    "Seconds for which evicted pods had run, summed up over these pods.",
    QUEUE,
)
EVICTIONS_REPEATED = Counter(
    "pgs_evictions_repeated_total",
    "Gangs that were evicted for a gang of a queue once more, having been evicted before.",
    QUEUE,
)
CHECKPOINT_SAVES = Counter(
    "training_checkpoint_saves_total",
    "Checkpoints of gangs, by queue, by why they were made and what came of it.",
    QUEUE,
    Label("reason", _one_of("eviction", "own")),
    Label("status", Closed(tuple(each.value for each in CheckpointOutcome))),
    note="`eviction`: the gang was asked, since it is to be evicted; `own`: it was not.",
)
PREEMPTIONS = Counter(
    "pgs_preemptions_total",
    "Preemptions by how they ended.",
    OUTCOME,
    note="`carried_out` or `withdrawn`.",
)
VICTIMS = Counter("pgs_preemption_victims_total", "Pods that were evicted to make room.")
VICTIM_SECONDS = Histogram(
    "pgs_preemption_victims_gone_seconds",
    "Time from a preemption's plan until the last of its victims is gone.",
    buckets=SECONDS_GONE,
)
VICTIMS_LINGERING = Gauge(
    "pgs_victims_lingering",
    "Evicted pods that should be gone and still hold the room that was made for gangs.",
    of_leader=True,
)

# Failed nodes.
DEGRADED_GANGS = Gauge(
    "pgs_degraded_gangs",
    "Gangs that run with fewer members on healthy nodes than they need, by the reason.",
    Label("reason", Closed(tuple(each.value for each in Shortage))),
    of_leader=True,
)
PODS_STUCK = Gauge(
    "pgs_stuck_pods",
    "Pods of gangs that were deleted and do not go, since their nodes have failed.",
    of_leader=True,
)
SPARE_NODES = Gauge(
    "pgs_spare_nodes",
    "Free nodes that are kept for members that replace lost ones, by layer.",
    LAYER,
    of_leader=True,
)

# Elastic gangs.
ELASTIC_CHANGES = Counter(
    "pgs_elastic_changes_total",
    "Gangs that grew or shrank by a decision of the scheduler.",
    *(QUEUE, Label("direction", _one_of("up", "down")), Label("mode", _one_of("Bind"))),
)
ELASTIC_MEMBERS = Gauge(
    "pgs_elastic_members",
    "Members of elastic gangs that run: the fewest there may be, those there are, and the most.",
    *(QUEUE, Label("bound", _one_of("min", "now", "max"))),
    of_leader=True,
)

# Decisions and bindings.
CYCLES = Histogram(
    "pgs_cycle_seconds",
    "Time to decide one cycle: the snapshot and the plan.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
GANGS_UNTRIED = Gauge(
    "pgs_gangs_untried",
    "Gangs that the last cycle left to the next one, since it had done its share of work.",
)
GANGS_BOUND = Counter("pgs_gangs_bound_total", "Gangs and single pods of which a plan was bound.")
GANG_SECONDS = Histogram(
    "pgs_gang_bind_seconds",
    "Time from a gang's plan to its last binding.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    note="Rises with `pgs_bindings_waiting`.",
)
BINDINGS = Counter(
    "pgs_bindings_total",
    "Bindings by how they ended.",
    OUTCOME,
    note=(
        "`bound`; `gone`: deleted meanwhile; `lost`: another writer binds the same pods; "
        "`gave_up`, `refused`: look at the API server; `without_volumes`: claims of the "
        "gang were not bound."
    ),
)
BINDINGS_WAITING = Gauge(
    "pgs_bindings_waiting",
    "Bindings that wait for a worker.",
    of_leader=True,
    note="Above 0 for long: the API server is the limit, or `bindConcurrency`.",
)
CLAIMS_SECONDS = Histogram(
    "pgs_claims_bound_seconds",
    "Time from a gang's plan until all claims of its members are bound.",
    buckets=SECONDS_GONE,
)
WRITES = Counter(
    "pgs_writes_total",
    "Writes other than bindings, by what and outcome.",
    *(Label("what", Limited(32)), OUTCOME),
    note=(
        "`throttled`, `dropped`: late statuses, lost Events (`event`: of gangs, "
        "`pod_event`: of their members)."
    ),
)
PROVISIONING_REQUESTS = Counter(
    "pgs_provisioning_requests_total",
    "ProvisioningRequests, by what came of them.",
    Label("state", Closed(tuple(each.value for each in Came))),
)

# What is seen of the cluster.
OBJECTS_SEEN = Counter(
    "pgs_objects_seen_total",
    "Watch events taken in, by kind.",
    KIND,
    note=(
        "Its rate times the [cost of an event](speed.md#where-the-time-goes) is the CPU "
        "that watching takes."
    ),
)
OBJECTS_BROKEN = Counter(
    "pgs_objects_broken_total",
    "Objects left out because they cannot be read.",
    KIND,
    note="An Event on each says why.",
)
SOURCE_RESTARTS = Counter("pgs_source_restarts_total", "How often the watching had to start anew.")
RELISTS = Counter(
    "pgs_relists_total",
    "Lists of a kind after the first one: a watch could not go on where it was.",
    KIND,
)
WATCH_AGE = Gauge(
    "pgs_watch_age_seconds",
    "Seconds since a watch gave a sign of life: an event, or a new watch that is answered.",
    KIND,
)
WATCHES_BEGUN_ANEW = Counter(
    "pgs_watches_begun_anew_total",
    "Watches that told nothing for 60 s, although the API server answers, and were begun anew.",
    KIND,
)
SWEPT = Counter("pgs_swept_total", "Objects whose deletion no watch had told.", KIND)
KIND_FORBIDDEN = Gauge(
    "pgs_kind_forbidden",
    "1 for a kind of workloads that may not be read: its pods wait with PodGroupNotFound.",
    KIND,
    note="Update the ClusterRole.",
)

# The API server.
API_REQUESTS = Counter(
    "pgs_api_requests_total",
    "Requests to the API server, by the status of the answer; 0: none came.",
    *(VERB, API_RESOURCE, Label("code", Limited(32))),
)
API_SECONDS = Histogram(
    "pgs_api_request_seconds",
    "Time from a request to the end of its answer; of a watch to its beginning.",
    *(VERB, API_RESOURCE),
    buckets=(0.005 * 2**i for i in range(12)),
)

# The process.
LEADER = Gauge("pgs_leader", "1 while this replica schedules.")
HANDOVER_SECONDS = Histogram(
    "pgs_handover_seconds",
    "Time from the last sign of the leader before until this replica schedules.",
    Label("ended", _one_of("released", "expired")),
    buckets=(0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 8, 10, 12, 15, 20, 30, 60, 120),
    note=(
        "`released`: it gave the Lease up, as in an update; `expired`: it did not renew it. "
        "Without a leader before, nothing is counted."
    ),
)
LOOP_LAG = Histogram(
    "pgs_loop_lag_seconds",
    "How much later than it was due the event loop went on.",
    buckets=(0.001 * 2**i for i in range(12)),
)
LOOP_HELD = Counter(
    "pgs_loop_held_total",
    "How often work of one kind kept the event loop for 2 s and more.",
    Label("work", _one_of("cycle", "event", "report", "write", "other")),
    note="Stays 0. `loop_held` in the log has what it was about, and the stack.",
)
COSTLY_DECISIONS = Counter(
    "pgs_costly_decisions_total",
    "Decisions on one group of gangs that took 2 s of CPU time and more in a cycle.",
    note="Stays 0. After two of a gang it is [set aside](reasons.md#setaside).",
)
BUILD_INFO = Gauge(
    "pgs_build_info",
    "1, with the version and what watches the cluster.",
    *(Label("version", Limited(1)), Label("source", _one_of("kopf", "reflector"))),
)
USAGE_DIFFERENCES = Counter(
    "pgs_queue_usage_differences_total",
    "Figures of queues that were not the sum of what their pods are charged: errors of ours.",
    note="Stays 0.",
)
INTERNAL_ERRORS = Counter(
    "pgs_internal_errors_total",
    "Errors of ours that were kept to one gang, by step.",
    Label("step", Limited(32)),
    note="Please report them.",
)

TABLE: Final[tuple[Metric, ...]] = (
    *(each for each in tuple(vars().values()) if isinstance(each, Metric) and each is not FOLDED),
    FOLDED,
)
"""All metrics, in the order of the reference."""

for _metric in TABLE:
    if not _metric.of_leader:
        _metric.expose(REGISTRY)


def lead() -> None:
    """Show from now on how the cluster is: this replica schedules."""
    LEADER.set(1)
    for metric in TABLE:
        metric.expose(REGISTRY)


def most_queues(number: int) -> None:
    """Let so many queues have series of their own."""
    QUEUES.most = number


def keep_queues(names: Collection[str]) -> None:
    """Show nothing any more of queues that are not among these."""
    gone = QUEUES.keep({NO_QUEUE, WHOLE_CLUSTER, *names})
    for metric in TABLE if gone else ():
        for label in metric.labels_declared:
            if label.bound is QUEUES:
                metric.drop(label.name, gone)
