"""The dashboard *Training jobs*: how long gangs wait, what queues use, and what is lost."""

from tools.dashboards import panels
from tools.dashboards.panels import QUEUE, STEP, AnyPanel, quantile, rise

GPUS = 'resource_type=~".*gpu.*"'
OF_CLUSTER = f'training_cluster_resource_utilization{{queue="_cluster", {GPUS}}}'
# What is idle for those that wait, as a part of what there is: all that is free, or nothing.
IDLE = f"""\
(1 - {OF_CLUSTER}) * on (resource_type) group_left ()
label_replace(max by (resource) (pgs_idle_while_waiting) > bool 0,
"resource_type", "$1", "resource", "(.+)")"""
ENDED = "training_job_completion_seconds"
WAITED = "training_job_scheduling_duration_seconds"
# Gangs that are late, or deleted while they wait, are counted there as well.
BOUND = f'{QUEUE}, result="scheduled"'


def text() -> str:
    """Return the JSON of the dashboard."""
    return panels.written(
        "py-gang-scheduler-jobs",
        "Training jobs",
        "How long gangs wait and for what, what queues use of what they are promised, and which"
        " work is lost.",
        [panels.data_source(), panels.queues()],
        [
            ("Waiting", _waiting()),
            ("Use", _use()),
            ("Queues", _queues()),
            ("Preemption", _preemption()),
            ("Jobs", _jobs()),
            ("Placement", _placement()),
        ],
    )


def _waiting() -> list[AnyPanel]:
    return [
        panels.stacked(
            "Queue Length by Priority",
            "Gangs that wait, by the PriorityClass of their pods.",
            (f"sum by (priority) (training_job_queue_length{{{QUEUE}}})", "{{priority}}"),
        ),
        panels.dial(
            "Scheduling Latency P99",
            "From when a gang has minMember members until the last of its quorum is bound: what 99"
            " of 100 gangs needed, over the time that is shown.",
            (quantile(0.99, WAITED, where=BOUND, over="$__range"), "P99"),
            steps=[(10, "yellow"), (30, "red")],
            most=60,
        ),
        panels.stacked(
            "Waiting gangs by reason",
            "Why gangs wait, of all queues.",
            ("sum by (reason) (pgs_gangs_waiting) > 0", "{{reason}}"),
        ),
        panels.lines(
            "Wait by queue",
            "What half of the gangs, and nine of ten, waited that were bound within an hour.",
            (quantile(0.5, "pgs_gang_wait_seconds", "queue", QUEUE), "{{queue}} p50"),
            (quantile(0.9, "pgs_gang_wait_seconds", "queue", QUEUE), "{{queue}} p90"),
            unit="s",
        ),
        panels.lines(
            "Oldest wait",
            "The age of the oldest gang that waits, for each reason.",
            ("max by (reason) (pgs_oldest_wait_seconds)", "{{reason}}"),
            unit="s",
        ),
        panels.lines(
            "Oldest wait by queue, and promised start",
            "The age of the oldest gang that waits in a queue, and the time until the first one is"
            " expected to start.",
            (f"max by (queue) (pgs_queue_oldest_wait_seconds{{{QUEUE}}})", "{{queue}}"),
            (f"max by (queue) (pgs_reservation_start_seconds{{{QUEUE}}})", "{{queue}} starts in"),
            unit="s",
        ),
    ]


def _use() -> list[AnyPanel]:
    return [
        panels.lines(
            "GPUs",
            "The part of all GPUs of ready nodes that is used, that is free, and that is free while"
            " a gang waits for GPUs.",
            (f"max by (resource_type) ({OF_CLUSTER})", "{{resource_type}} used"),
            (f"1 - max by (resource_type) ({OF_CLUSTER})", "{{resource_type}} free"),
            (f"max by (resource_type) ({IDLE})", "{{resource_type}} idle while a gang waits"),
            unit="percentunit",
        ),
        panels.lines(
            "Idle while a gang waits",
            "What is free on ready nodes while a complete gang asks for it: fragments, domains that"
            " are too small, or quotas.",
            ("max by (resource) (pgs_idle_while_waiting)", "{{resource}}"),
        ),
        panels.stacked(
            "Devices",
            "Devices of claims by DeviceClass and state. One of several classes counts in each.",
            ("max by (class, state) (pgs_devices)", "{{class}} {{state}}"),
        ),
        panels.states(
            "Resource Utilization by queue",
            "What each queue uses of what it is promised: above 1 it borrows.",
            (
                f"max by (queue, resource_type) (training_cluster_resource_utilization{{{QUEUE}}})",
                "{{queue}} {{resource_type}}",
            ),
            steps=[(0.5, "yellow"), (0.9, "orange"), (1.001, "purple")],
            unit="percentunit",
        ),
    ]


def _queues() -> list[AnyPanel]:
    def amounts(name: str) -> str:
        return f"sum by (queue, resource) (pgs_queue_{name}{{{QUEUE}}})"

    return [
        panels.lines(
            "Used, and promised",
            "What each queue uses, beside its nominal quota.",
            (amounts("used"), "{{queue}} {{resource}} used"),
            (amounts("nominal"), "{{queue}} {{resource}} nominal"),
        ),
        panels.lines(
            "Borrowed, and lent",
            "What each queue uses above its own, and what others use of its own.",
            (amounts("borrowed") + " > 0", "{{queue}} {{resource}} borrowed"),
            (amounts("lent") + " > 0", "{{queue}} {{resource}} lent"),
        ),
        panels.lines(
            "Fair Share Deviation",
            "How far each queue is above its fair share, as a part of all that its tree is"
            " promised; below 0: under it.",
            (f"max by (queue) (training_queue_fairshare_deviation{{{QUEUE}}})", "{{queue}}"),
            unit="percentunit",
        ).min(-1),
        panels.states(
            "Starving",
            "1 while a gang waits for long for no more than its queue is promised: see what the"
            " queue has lent, and whether it may take that back.",
            (f"max by (queue) (pgs_queue_starving{{{QUEUE}}})", "{{queue}}"),
            steps=[(1, "red")],
        ),
    ]


def _preemption() -> list[AnyPanel]:
    victims = 'victim_queue=~"$queue"'
    return [
        panels.bars(
            "Preemption Events by victim queue",
            "Gangs that lost members for another gang, and by what right.",
            rise("training_job_preemptions_total", "victim_queue, reason", victims),
        ),
        panels.bars(
            "Lost work",
            "Seconds for which evicted pods had run, summed up over these pods.",
            rise("pgs_preemption_lost_seconds_total", "queue", QUEUE),
            unit="s",
        ),
        panels.bars(
            "Saves",
            "Gangs that saved their work, asked before an eviction or by themselves.",
            rise("training_checkpoint_saves_total", "reason, status", QUEUE),
        ),
        panels.bars(
            "Evicted once more",
            "Gangs that were evicted, and had been before.",
            rise("pgs_evictions_repeated_total", "queue", QUEUE),
        ),
    ]


def _jobs() -> list[AnyPanel]:
    return [
        panels.distribution(
            "Job Completion Time Distribution",
            "From when a gang was first whole until it ended.",
            (f"sum by (le) (increase({ENDED}_bucket{{{QUEUE}}}[{STEP}]))", "{{le}}"),
            unit="s",
        ),
        panels.bars(
            "Jobs that ended",
            "Gangs that ended, by how.",
            rise(f"{ENDED}_count", "status", QUEUE),
        ),
        panels.stacked(
            "Gangs",
            "All gangs, by how far they have come and what describes them.",
            ("sum by (phase, job_type) (pgs_gangs) > 0", "{{phase}} {{job_type}}"),
        ),
    ]


def _placement() -> list[AnyPanel]:
    changes, _ = rise("pgs_elastic_changes_total", "direction", QUEUE, "1h")
    domains = "sum by (layer) (rate(pgs_gang_domains_{}[1h]))"
    return [
        panels.lines(
            "Domains a gang",
            "Over how many domains of each layer the gangs of an hour were spread, on average.",
            (f"{domains.format('sum')} / {domains.format('count')}", "{{layer}}"),
        ),
        panels.lines(
            "Largest gang that fits",
            "How many members of a shape one domain of each layer takes now.",
            ("max by (layer, shape) (pgs_largest_gang)", "{{layer}} {{shape}}"),
        ),
        panels.lines(
            "Elastic gangs",
            "Members of elastic gangs that run: the fewest there may be, those there are, and the"
            " most; and how often a gang grew or shrank within an hour.",
            (f"sum by (bound) (pgs_elastic_members{{{QUEUE}}})", "{{bound}}"),
            (changes, "{{direction}} within an hour"),
        ),
    ]
