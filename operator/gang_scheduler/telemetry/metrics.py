"""The table of all metrics. A new metric is declared here, and set where its value is known.

Metrics with `of_leader` are exported only by the replica that schedules.
"""

from collections.abc import Collection, Iterable
from typing import Final

from gang_scheduler.api.pod_group import Phase
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.consequences import Result
from gang_scheduler.model.evictions import EvictionClass
from gang_scheduler.model.failures import DegradedReason
from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.model.reasons import Reason
from gang_scheduler.telemetry.family import (
    FOLDED,
    Bound,
    Closed,
    Counter,
    Gauge,
    Histogram,
    Label,
    Limited,
    MetricOf,
)

NO_QUEUE: Final = ""
"""The value of the label `queue` for gangs without a queue."""
WHOLE_CLUSTER: Final = "_cluster"
"""The value of the label `queue` for the whole cluster."""
NO_CLASS: Final = "default"
"""The value of the label `priority` for pods that name no PriorityClass."""

BY_PRIORITY: Final = "Priority"
"""The right by which a gang is evicted if there are no queues."""
DRAINED: Final = "Drained"
"""The right by which a gang is evicted if its queue is drained."""
RIGHTS: Final = (BY_PRIORITY, DRAINED, *dict.fromkeys(each.shown for each in EvictionClass))

QUEUES: Final = Limited(500)


def _one_of(*values: str) -> Bound:
    return Closed(values)


QUEUE = Label("queue", QUEUES)
JOB_TYPE = Label("job_type", Limited(64))
"""The kind of object that describes a gang, as listed in `workloads.table`."""
REASON = Label("reason", Closed(tuple(each.value for each in Reason)))
RESOURCES: Final = Limited(16)
LAYER = Label("layer", Limited(32))
KIND = Label("kind", Limited(128))
"""A kind by the name of its CRD, for example `podgroups.scheduling.sigs.k8s.io`; or `pods`."""
OUTCOME = Label("outcome", Limited(16))
API_RESOURCE = Label("resource", Limited(64))
VERB = Label("verb", _one_of("get", "list", "watch", "create", "update", "patch", "delete"))
FLAVORED = (QUEUE, Label("flavor", Limited(100)), Label("resource", RESOURCES))

UNITS: Final = "CPU in cores, memory in bytes."
SECONDS_GONE: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

# Gangs.
SCHEDULING_SECONDS = Histogram(
    "training_job_scheduling_duration_seconds",
    "Time from when a gang has minMember members until the last member of its quorum is bound.",
    *(QUEUE, JOB_TYPE, Label("result", _one_of("scheduled", "timeout", "deleted"))),
    buckets=(0.1 * 2**i for i in range(15)),
    note=(
        "`timeout`: the gang was not bound by its schedule timeout, which is counted once. "
        "`deleted`: the gang was deleted while it waited."
    ),
)
WAIT_SECONDS = Histogram(
    "pgs_gang_wait_seconds",
    "Time from when a gang has minMember members until the last member of its quorum is bound.",
    QUEUE,
    buckets=(*(1, 5, 15, 60, 300, 900, 3600), *(hours * 3600 for hours in (4, 12, 24, 72, 168))),
    note="Its buckets reach up to a week.",
)
COMPLETION_SECONDS = Histogram(
    "training_job_completion_seconds",
    "Time from when a gang was first whole until it ended.",
    *(QUEUE, JOB_TYPE, Label("status", _one_of("succeeded", "failed", "evicted", "deleted"))),
    buckets=(60 * 2**i for i in range(15)),
)
DECISIONS = Counter(
    "training_gang_scheduling_total",
    "Decisions on gangs that have minMember members, by result.",
    Label("result", _one_of("scheduled", *(each.value for each in Result))),
    Label("timeout", _one_of("true", "false")),
    note=(
        "`timeout`: whether the decision came after the schedule timeout of the gang. "
        "If a gang is refused again for the same reason, that is not counted."
    ),
)
QUEUE_LENGTH = Gauge(
    "training_job_queue_length",
    "Waiting gangs, by queue and PriorityClass.",
    *(QUEUE, Label("priority", Limited(20, other="other"), own=True)),
    of_leader=True,
)
OLDEST_WAIT = Gauge(
    "pgs_oldest_wait_seconds",
    "Age of the oldest waiting gang, by reason.",
    REASON,
    of_leader=True,
)
GANGS_WAITING = Gauge(
    "pgs_gangs_waiting",
    "Waiting gangs, by reason.",
    REASON,
    of_leader=True,
    note="[What to do about each reason](reasons.md).",
)
GANGS = Gauge(
    "pgs_gangs",
    "Gangs, by phase and by the kind of object that describes them.",
    *(Label("phase", Closed(tuple(each.value for each in Phase))), JOB_TYPE),
    of_leader=True,
)
GANG_DOMAINS = Histogram(
    "pgs_gang_domains",
    "Number of domains of each layer that the quorum of a gang was bound to.",
    LAYER,
    buckets=(1, 2, 3, 4, 6, 8, 12, 16, 32, 64),
)
LARGEST_GANG = Gauge(
    "pgs_largest_gang",
    "The largest number of members of a shape for which one domain of a layer has room now.",
    *(LAYER, Label("shape", Limited(4), own=True)),
    of_leader=True,
    note="The shapes are those in the setting `gaugeShapes`.",
)
PARTIAL_GANGS = Gauge("pgs_partial_gangs", "Gangs that are bound in part.", of_leader=True)

# Room.
UTILIZATION = Gauge(
    "training_cluster_resource_utilization",
    "Share of its quota that a queue uses; _cluster: share of the ready nodes that all pods use.",
    *(Label("resource_type", RESOURCES), QUEUE),
    of_leader=True,
    note="Above 1, the queue borrows.",
)
IDLE_WHILE_WAITING = Gauge(
    "pgs_idle_while_waiting",
    "Free amount on ready nodes while a gang that has minMember members waits for it, else 0.",
    Label("resource", RESOURCES),
    of_leader=True,
)
NODES = Gauge(
    "pgs_nodes",
    "Nodes by state; a node outside of the network tree also has one of the other states.",
    Label("state", _one_of("ready", "not_ready", "cordoned", "outside_tree")),
    of_leader=True,
)

# Queues.
QUEUE_DEVIATION = Gauge(
    "training_queue_fairshare_deviation",
    "How far a queue is above its fair share, as a part of the whole quota of its tree.",
    QUEUE,
    of_leader=True,
    note="Below 0, the queue is under its fair share.",
)
QUEUE_NOMINAL, QUEUE_USED, QUEUE_BORROWED, QUEUE_LENT = (
    Gauge(f"pgs_queue_{name}", about, *FLAVORED, of_leader=True, note=UNITS)
    for name, about in (
        ("nominal", "Quota of a queue and of the queues below it."),
        ("used", "Amount that a queue and the queues below it use."),
        ("borrowed", "Amount that a queue uses beyond its own quota."),
        ("lent", "Amount of a queue's quota that other queues use."),
    )
)
QUEUE_OLDEST_WAIT = Gauge(
    "pgs_queue_oldest_wait_seconds",
    "Age of the oldest gang of a queue that waits for quota or room.",
    QUEUE,
    of_leader=True,
)
QUEUE_STARVING = Gauge(
    "pgs_queue_starving",
    "1 if a gang of the queue waits for long and needs no more than the queue's quota, else 0.",
    QUEUE,
    of_leader=True,
    note="This is the condition [`Starving`](queues.md#figures) of the Queue.",
)
RESERVATION_START = Gauge(
    "pgs_reservation_start_seconds",
    "Seconds until the promised start of the first gang of a queue with such a promise.",
    QUEUE,
    of_leader=True,
    note="Absent if the start is not known.",
)

# Preemption.
GANGS_PREEMPTED = Counter(
    "training_job_preemptions_total",
    "Gangs that lost members to another gang, by the queues of both and by the right to evict.",
    Label("preemptor_queue", QUEUES),
    Label("victim_queue", QUEUES),
    Label("reason", Closed(RIGHTS)),
    note=(
        "`reason` is the [class](queue-rules.md#which-gang-evicts-which), or `Priority` if there "
        "are no queues."
    ),
)
LOST_SECONDS = Counter(
    "pgs_preemption_lost_seconds_total",
    "Seconds of work that evicted pods lost, since their last checkpoint or since they started.",
    QUEUE,
)
EVICTIONS_REPEATED = Counter(
    "pgs_evictions_repeated_total",
    "Evictions of gangs that had been evicted before, by the queue of the evicted gang.",
    QUEUE,
    note="Only evictions by the rules of queues count.",
)
CHECKPOINT_SAVES = Counter(
    "training_checkpoint_saves_total",
    "Checkpoints of gangs, by queue, reason and outcome.",
    QUEUE,
    Label("reason", _one_of("eviction", "own")),
    Label("status", Closed(tuple(each.value for each in CheckpointOutcome))),
    note=(
        "`eviction`: the scheduler asked the gang to save before an eviction; `own`: the gang "
        "saved by itself."
    ),
)
PREEMPTIONS = Counter(
    "pgs_preemptions_total",
    "Preemptions by outcome.",
    OUTCOME,
    note="`carried_out` or `withdrawn`.",
)
VICTIMS = Counter("pgs_preemption_victims_total", "Pods that were evicted to make room.")
VICTIM_SECONDS = Histogram(
    "pgs_preemption_victims_gone_seconds",
    "Time from the plan of a preemption until the last of its victims is gone.",
    buckets=SECONDS_GONE,
)
VICTIMS_LINGERING = Gauge(
    "pgs_victims_lingering",
    "Evicted pods that should be gone but still hold the room that gangs wait for.",
    of_leader=True,
)

# Failed nodes.
DEGRADED_GANGS = Gauge(
    "pgs_degraded_gangs",
    "Gangs that run with fewer members on healthy nodes than they need, by reason.",
    Label("reason", Closed(tuple(each.value for each in DegradedReason))),
    of_leader=True,
)
PODS_STUCK = Gauge(
    "pgs_stuck_pods",
    "Deleted pods of gangs that stay because their nodes have failed.",
    of_leader=True,
)
SPARE_NODES = Gauge(
    "pgs_spare_nodes",
    "Free nodes that are kept for members that replace lost members, by layer.",
    LAYER,
    of_leader=True,
)

# Elastic gangs.
ELASTIC_CHANGES = Counter(
    "pgs_elastic_changes_total",
    "Times that a gang grew or shrank by a decision of the scheduler.",
    *(QUEUE, Label("direction", _one_of("up", "down")), Label("mode", _one_of("Bind", "Replicas"))),
)
ELASTIC_MEMBERS = Gauge(
    "pgs_elastic_members",
    "Members of running elastic gangs: the minimum, the present number, and the maximum.",
    *(QUEUE, Label("bound", _one_of("min", "now", "max"))),
    of_leader=True,
)

# Decisions and bindings.
CYCLES = Histogram(
    "pgs_cycle_seconds",
    "Time to decide one cycle, that is the snapshot and the plan.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
GANGS_UNTRIED = Gauge(
    "pgs_gangs_untried",
    "Gangs that the last cycle left to the next one, because it had used up its bound of work.",
)
GANGS_BOUND = Counter(
    "pgs_gangs_bound_total", "Gangs and single pods whose planned pods were all bound."
)
GANG_SECONDS = Histogram(
    "pgs_gang_bind_seconds",
    "Time from the plan of a gang to its last binding.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    note="It rises with `pgs_bindings_waiting`.",
)
BINDINGS = Counter(
    "pgs_bindings_total",
    "Bindings by outcome.",
    OUTCOME,
    note=(
        "`bound`; `gone`: the pod was deleted meanwhile; `lost`: another writer binds the same "
        "pods; `gave_up`, `refused`: look at the API server; `without_volumes`: claims of the "
        "gang were not bound; `without_devices`: its claims did not get their devices."
    ),
)
BINDINGS_WAITING = Gauge(
    "pgs_bindings_waiting",
    "Bindings that wait for a worker.",
    of_leader=True,
    note="If it is above 0 for long, the API server or `bindConcurrency` is the limit.",
)
CLAIMS_SECONDS = Histogram(
    "pgs_claims_bound_seconds",
    "Time from the plan of a gang until all claims of its members are bound.",
    buckets=SECONDS_GONE,
)
CLAIMS_WITHDRAWN = Counter(
    "pgs_claims_withdrawn_total",
    "Claims of devices that were allocated for a gang which was then not bound, and lost them.",
)
CLAIM_WRITES = Counter(
    "pgs_claim_writes_total",
    "Claims of devices that were to be written for gangs, by result.",
    Label("result", _one_of("reserved", "failed", "withdrawn", "not_withdrawn")),
    note=(
        "`reserved`: the claim has its devices for the members; `failed`: it could not be written, "
        "or the plan ended first, and the gang is tried again; `withdrawn` and `not_withdrawn`: "
        "the devices of a gang that was not bound were freed, or could not be. Requests are "
        "counted in `pgs_writes_total`."
    ),
)
DEVICES = Gauge(
    "pgs_devices",
    "Devices that drivers publish, by driver, DeviceClass and state.",
    Label("driver", Limited(50), own=True),
    Label("class", Limited(160), own=True),
    Label("state", _one_of("free", "used", "tainted")),
    of_leader=True,
    most=500,
    note=(
        "A device of several classes counts in each of them; `class` is empty for devices that no "
        "class selects. `used`: a claim has the device, or a share of it. Of devices that share "
        "counters, as a card and its partitions, as many count as can be used at once. Idle "
        "devices of incomplete or invalid pools do not count."
    ),
)
SLICES_SKIPPED = Gauge(
    "pgs_slices_skipped",
    "ResourceSlices that name the nodes of their devices in a way that is not known.",
    of_leader=True,
    note="Their devices are not allocated. A newer version of the scheduler may know the way.",
)
DEVICE_SEARCH_STEPS = Histogram(
    "pgs_device_search_steps",
    "Steps of all searches for devices in a cycle that searched for some.",
    buckets=(10**i for i in range(1, 7)),
)
DEVICE_SEARCHES_CUT = Counter(
    "pgs_device_search_cut_total",
    "Searches for devices on a node that ended at their bound of steps without an answer.",
    note="The node counts as one without the devices. Ask for devices in a simpler way.",
)
WRITES = Counter(
    "pgs_writes_total",
    "Writes other than bindings, by kind of write and outcome.",
    *(Label("what", Limited(32)), OUTCOME),
    note=(
        "With `throttled` a status is late, with `dropped` an Event is lost (`event`: an Event on "
        "a gang, `pod_event`: an Event on a member)."
    ),
)
PROVISIONING_REQUESTS = Counter(
    "pgs_provisioning_requests_total",
    "ProvisioningRequests, by outcome.",
    Label("state", Closed(tuple(each.value for each in RequestState))),
)

# Watching the cluster.
OBJECTS_SEEN = Counter(
    "pgs_objects_seen_total",
    "Watch events that were taken in, by kind.",
    KIND,
    note=(
        "The rate times the [cost of an event](speed.md#where-the-time-goes) is the CPU that "
        "watching takes."
    ),
)
OBJECTS_BROKEN = Counter(
    "pgs_objects_broken_total",
    "Objects that were left out because they cannot be read.",
    KIND,
    note="An Event on each object says why.",
)
SOURCE_RESTARTS = Counter(
    "pgs_source_restarts_total",
    "How often Kopf, or the watch of a kind by the reflector, had to be started again.",
)
RELISTS = Counter(
    "pgs_relists_total",
    "Lists of a kind after the first one: a watch could not continue where it was.",
    KIND,
)
WATCH_AGE = Gauge(
    "pgs_watch_age_seconds",
    "Seconds since the last sign of life of a watch: an event, or the answer to a new watch.",
    KIND,
)
WATCHES_BEGUN_ANEW = Counter(
    "pgs_watches_begun_anew_total",
    "Watches that were silent for 60 s although the API server answered, and were started again.",
    KIND,
)
SWEPT = Counter("pgs_swept_total", "Objects whose deletion no watch had reported.", KIND)
KIND_FORBIDDEN = Gauge(
    "pgs_kind_forbidden",
    "1 for a kind of workloads that may not be read, so that its pods wait with PodGroupNotFound.",
    KIND,
    note="To fix it, update the ClusterRole.",
)

# The API server.
API_REQUESTS = Counter(
    "pgs_api_requests_total",
    "Requests to the API server, by the status of the answer; 0: there was no answer.",
    *(VERB, API_RESOURCE, Label("code", Limited(32))),
)
API_SECONDS = Histogram(
    "pgs_api_request_seconds",
    "Time from a request to the end of its answer; for a watch, to the beginning of the answer.",
    *(VERB, API_RESOURCE),
    buckets=(0.005 * 2**i for i in range(12)),
)

# The process.
LEADER = Gauge("pgs_leader", "1 while this replica schedules.")
HANDOVER_SECONDS = Histogram(
    "pgs_handover_seconds",
    "Time from the last sign of the previous leader until this replica schedules.",
    Label("ended", _one_of("released", "expired")),
    buckets=(0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 8, 10, 12, 15, 20, 30, 60, 120),
    note=(
        "`released`: the previous leader gave the Lease up, as in an update; `expired`: it did not "
        "renew the Lease. If there was no leader before, nothing is counted."
    ),
)
LOOP_LAG = Histogram(
    "pgs_loop_lag_seconds",
    "How much later than scheduled the event loop continued.",
    buckets=(0.001 * 2**i for i in range(12)),
)
LOOP_HELD = Counter(
    "pgs_loop_held_total",
    "How often one kind of work held up the event loop for 2 s or more.",
    Label("work", _one_of("cycle", "event", "report", "write", "other")),
    note="Must stay 0. The log line `loop_held` says what the work was about, with the stack.",
)
COSTLY_DECISIONS = Counter(
    "pgs_costly_decisions_total",
    "Decisions on one group of gangs that took 2 s or more of CPU time in a cycle.",
    note="Must stay 0. After two such decisions a gang is [set aside](reasons.md#setaside).",
)
BUILD_INFO = Gauge(
    "pgs_build_info",
    "Always 1; the labels have the version and the source that watches the cluster.",
    *(Label("version", Limited(1)), Label("source", _one_of("kopf", "reflector"))),
)
USAGE_DIFFERENCES = Counter(
    "pgs_queue_usage_differences_total",
    "Figures of queues that differed from the sum charged for their pods: our own errors.",
    note="Must stay 0.",
)
RECORDING_FAILING = Gauge(
    "pgs_recording_failing",
    "1 while `recordTo` is set and nothing can be recorded there, else 0.",
    of_leader=True,
    note="The log says why, as `recording_failed`. Gangs are scheduled all the same.",
)
RECORDING_ERRORS = Counter(
    "pgs_recording_errors_total",
    "Failures after which the recorder began another file, by the name of the system's error.",
    Label("error", Limited(16)),
    of_leader=True,
    note="For example `ENOSPC` if the disk is full. What happened until then is missing.",
)
RECORDED_BYTES = Counter(
    "pgs_recorded_bytes_total",
    "Bytes written to recordings, compressed.",
    of_leader=True,
)
INTERNAL_ERRORS = Counter(
    "pgs_internal_errors_total",
    "Errors of the scheduler that were kept to one gang, by step.",
    Label("step", Limited(32)),
    note="Please report them.",
)

TABLE: Final[tuple[MetricOf, ...]] = (
    *(each for each in tuple(vars().values()) if isinstance(each, MetricOf) and each is not FOLDED),
    FOLDED,
)
"""All metrics, in the order in which the reference lists them."""


def expose() -> None:
    """Export the metrics of the process from now on."""
    _expose(each for each in TABLE if not each.of_leader)


def lead() -> None:
    """Export the metrics of the cluster from now on, because this replica schedules."""
    LEADER.set(1)
    _expose(TABLE)


def _expose(shown: Iterable[MetricOf]) -> None:
    from prometheus_client import REGISTRY  # noqa: PLC0415 - for processes that show metrics.

    for metric in shown:
        metric.expose(REGISTRY)


def most_queues(number: int) -> None:
    """Allow at most this many queues to have series of their own."""
    QUEUES.most = number


def keep_queues(names: Collection[str]) -> None:
    """Drop the series of all queues except these."""
    gone = QUEUES.keep({NO_QUEUE, WHOLE_CLUSTER, *names})
    for metric in TABLE if gone else ():
        for label in metric.labels_declared:
            if label.bound is QUEUES:
                metric.drop(label.name, gone)
