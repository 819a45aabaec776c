"""Logs and metrics: set up here, written by the loop and around it, never by the core."""

import logging
import sys

import structlog
from prometheus_client import Counter, Gauge, Histogram

from gang_scheduler.settings import LogFormat, Settings

CYCLES = Histogram(
    "pgs_cycle_seconds",
    "Time to decide one cycle: the snapshot and the plan.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
BINDINGS = Counter("pgs_bindings_total", "Bindings by how they ended.", ["outcome"])
BINDINGS_WAITING = Gauge("pgs_bindings_waiting", "Bindings that wait for a worker.")
GANGS_BOUND = Counter("pgs_gangs_bound_total", "Gangs and single pods of which a plan was bound.")
GANG_SECONDS = Histogram(
    "pgs_gang_bind_seconds",
    "Time from a gang's plan to its last binding.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
CLAIMS_SECONDS = Histogram(
    "pgs_claims_bound_seconds",
    "Time from a gang's plan until all claims of its members are bound.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)
PREEMPTIONS = Counter("pgs_preemptions_total", "Preemptions by how they ended.", ["outcome"])
VICTIMS = Counter("pgs_preemption_victims_total", "Pods that were evicted to make room.")
VICTIM_SECONDS = Histogram(
    "pgs_preemption_victims_gone_seconds",
    "Time from a preemption's plan until the last of its victims is gone.",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
)
GANGS_WAITING = Gauge("pgs_gangs_waiting", "Gangs that wait, by reason.", ["reason"])
OBJECTS_SEEN = Counter("pgs_objects_seen_total", "Watch events taken in, by kind.", ["kind"])
OBJECTS_BROKEN = Counter(
    "pgs_objects_broken_total", "Objects left out because they cannot be read.", ["kind"]
)
SOURCE_RESTARTS = Counter("pgs_source_restarts_total", "How often the watching had to start anew.")
SWEPT = Counter("pgs_swept_total", "Objects whose deletion no watch had told.", ["kind"])
USAGE_DIFFERENCES = Counter(
    "pgs_queue_usage_differences_total",
    "Figures of queues that were not the sum of what their pods are charged: errors of ours.",
)
WRITES = Counter(
    "pgs_writes_total", "Status and Event writes by what and outcome.", ["what", "outcome"]
)
QUEUE_LENGTH = Gauge(
    "training_job_queue_length",
    "Gangs that wait, by queue and PriorityClass.",
    ["queue", "priority"],
)
QUEUE_UTILIZATION = Gauge(
    "training_cluster_resource_utilization",
    "What a queue uses of what it is promised, on the nodes of all flavors.",
    ["resource_type", "queue"],
)
QUEUE_DEVIATION = Gauge(
    "training_queue_fairshare_deviation",
    "How far a queue is above its fair share, as a part of all that its tree is promised.",
    ["queue"],
)
QUEUE_NOMINAL, QUEUE_USED, QUEUE_BORROWED, QUEUE_LENT = (
    Gauge(f"pgs_queue_{name}", description, ["queue", "flavor", "resource"])
    for name, description in (
        ("nominal", "What a queue and those below it are promised."),
        ("used", "What a queue and those below it use."),
        ("borrowed", "What a queue uses above its own."),
        ("lent", "What other queues use of a queue's own."),
    )
)
QUEUE_OLDEST_WAIT = Gauge(
    "pgs_queue_oldest_wait_seconds", "Age of the oldest gang that waits in a queue.", ["queue"]
)
RESERVATION_START = Gauge(
    "pgs_reservation_start_seconds",
    "Seconds until the estimated start of the first gang of a queue that is promised one.",
    ["queue"],
)
SCHEDULING_SECONDS = Histogram(
    "training_job_scheduling_duration_seconds",
    "Time from when a gang has minMember members until its last binding.",
    ["queue", "job_type", "result"],
    buckets=[0.1 * 2**i for i in range(15)],
)
GANGS_SCHEDULED = Counter(
    "training_gang_scheduling_total",
    "Gangs whose plan was carried out, by how, and whether within the schedule timeout.",
    ["result", "timeout"],
)
QUEUE_PREEMPTIONS = Counter(
    "training_job_preemptions_total",
    "Gangs that were evicted for a gang of a queue, by the queues of both, and by what right.",
    ["preemptor_queue", "victim_queue", "reason"],
)
EVICTIONS_REPEATED = Counter(
    "pgs_evictions_repeated_total",
    "Gangs that were evicted for a gang of a queue once more, having been evicted before.",
)
INTERNAL_ERRORS = Counter(
    "pgs_internal_errors_total", "Errors of ours that were kept to one gang, by step.", ["step"]
)
LEADER = Gauge("pgs_leader", "1 while this replica schedules.")

KINDS_NOT_SERVED = "Unresolved resources cannot be served"
HANDSHAKE_FAILED = "Fatal error on SSL protocol"
SOCKET_IN_USE = "is used by transport"
WATCH_CLOSED = "an error occurred during closing of asynchronous generator"

_own = logging.getLogger("gang_scheduler")


def is_debugging() -> bool:
    """Return whether lines of level debug are written: what costs much to say is said only then."""
    return _own.isEnabledFor(logging.DEBUG)


def configure(settings: Settings) -> None:
    """Send our log lines, and the libraries' warnings, to stderr in the chosen format."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if settings.log_format is LogFormat.CONSOLE:
        renderer = structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    _own.setLevel(level)
    _route_standard_logging(level, shared, renderer)


def _route_standard_logging(
    level: int,
    shared: list[structlog.typing.Processor],
    renderer: structlog.typing.Processor,
) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _warn_of_retries],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    handler.addFilter(_is_no_repetition)
    handler.addFilter(_is_no_abandoned_handshake)
    handler.addFilter(_is_no_watch_cut_short)
    handler.addFilter(_is_no_mistaken_socket)
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
    # Kopf logs every handled event at INFO, and every watch that ends and is opened again.
    logging.getLogger("kopf").setLevel(max(level, logging.WARNING))


def _is_no_repetition(record: logging.LogRecord) -> bool:
    """Drop what Kopf says of CRDs that are absent, several times a start: a line of ours has it."""
    return not str(record.msg).startswith(KINDS_NOT_SERVED)


def _is_no_abandoned_handshake(record: logging.LogRecord) -> bool:
    """Drop what uvloop says of a connection that was given up while TLS began.

    It goes on with the handshake and finds its own transport closed. The attempt has ended with an
    error of its own, which is told.
    """
    error = record.exc_info[1] if record.exc_info else None
    is_closed = isinstance(error, RuntimeError) and "the handler is closed" in str(error)
    return not (is_closed and str(record.msg).startswith(HANDSHAKE_FAILED))


def _is_no_mistaken_socket(record: logging.LogRecord) -> bool:
    """Drop what Kopf says of a watch whose new socket uvloop takes for an old one of that number.

    It happens where many connections break at once. Kopf is started again, and a line says why.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, RuntimeError) and SOCKET_IN_USE in str(error))


def _is_no_watch_cut_short(record: logging.LogRecord) -> bool:
    """Drop what asyncio says of a watch of Kopf that it closes as the process ends.

    Kopf's generators go on after they were told to end, where a connection breaks at that moment.
    """
    error = record.exc_info[1] if record.exc_info else None
    went_on = isinstance(error, RuntimeError) and "didn't stop after athrow()" in str(error)
    return not (went_on and str(record.msg).startswith(WATCH_CLOSED))


def _warn_of_retries(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Make a warning of a request that Kopf repeats: Kopf logs an error.

    An API server answers 429 for a moment to every request for a kind that was just installed.
    """
    if "failed; will retry" in str(event.get("event")):
        event["level"] = "warning"
    return event
