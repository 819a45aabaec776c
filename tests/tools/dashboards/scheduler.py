"""The dashboard *Scheduler*: whether it decides, how fast, and how its API server answers."""

from tools.dashboards import panels
from tools.dashboards.panels import STEP, AnyPanel, per_second, quantile, rise

DECISIONS = "training_gang_scheduling_total"


def text() -> str:
    """Return the JSON of the dashboard."""
    return panels.written(
        "py-gang-scheduler",
        "Scheduler",
        "Whether py-gang-scheduler decides, how fast, and how the API server answers it.",
        [panels.data_source()],
        [
            ("Replicas", _replicas()),
            ("Decisions", _decisions()),
            ("Bindings", _bindings()),
            ("API server", _api_server()),
            ("What is seen", _seen()),
            ("Room that is made", _room()),
            ("Errors", _errors()),
        ],
    )


def _replicas() -> list[AnyPanel]:
    def ours(expression: str) -> str:
        """Return only what is of our replicas: every process has these metrics."""
        return f"{expression} and on (job, instance) pgs_leader"

    return [
        panels.states(
            "Leader",
            "Which replica schedules: exactly one.",
            ("max by (instance) (pgs_leader)", "{{instance}}"),
            steps=[(1, "blue")],
        ),
        panels.values(
            "Version",
            "What runs, and what watches the cluster.",
            ("count by (version, source) (pgs_build_info)", "{{version}} {{source}}"),
        ),
        panels.lines(
            "Event loop lag",
            "How much later than it was due the event loop went on: half of the time, and the worst"
            " hundredth.",
            (quantile(0.5, "pgs_loop_lag_seconds", "instance", over=STEP), "{{instance}} p50"),
            (quantile(0.99, "pgs_loop_lag_seconds", "instance", over=STEP), "{{instance}} p99"),
            unit="s",
        ),
        panels.lines(
            "CPU",
            "Near one core for long: see the page about speed.",
            (ours(f"rate(process_cpu_seconds_total[{STEP}])"), "{{instance}}"),
        ),
        panels.lines(
            "Memory",
            "Beside the limit of the container.",
            (ours("process_resident_memory_bytes"), "{{instance}}"),
            unit="bytes",
        ),
        panels.lines(
            "Nodes",
            "Nodes by state. Those outside of the tree have one of the other states, too.",
            ("max by (state) (pgs_nodes)", "{{state}}"),
        ),
    ]


def _decisions() -> list[AnyPanel]:
    return [
        panels.lines(
            "Cycle",
            "The time to decide: of half of the cycles, and of 99 in 100.",
            (quantile(0.5, "pgs_cycle_seconds", over=STEP), "p50"),
            (quantile(0.99, "pgs_cycle_seconds", over=STEP), "p99"),
            unit="s",
        ),
        panels.lines(
            "Left to the next cycle",
            "Gangs that a cycle had no more time for. Above 0 for long: too much waits.",
            ("sum(pgs_gangs_untried)", "gangs"),
        ),
        panels.lines(
            "Decisions a second",
            "Decisions on complete gangs; the same refusal again is not counted.",
            per_second(DECISIONS, "result"),
            (per_second(DECISIONS, "", 'timeout="true"')[0], "after the schedule timeout"),
            unit="ops",
        ),
        panels.lines(
            "Gangs bound a second",
            "Gangs and single pods of which a plan was bound.",
            (per_second("pgs_gangs_bound_total", "")[0], "bound"),
            unit="ops",
        ),
    ]


def _bindings() -> list[AnyPanel]:
    return [
        panels.stacked(
            "Bindings by outcome",
            "Bindings a second.",
            per_second("pgs_bindings_total", "outcome"),
            unit="ops",
        ),
        panels.lines(
            "Bindings that wait",
            "Above 0 for long: the API server is the limit, or bindConcurrency.",
            ("sum(pgs_bindings_waiting)", "waiting"),
        ),
        panels.lines(
            "From plan to last binding",
            "Of half of the gangs, and of 99 in 100; and until all claims of a gang are bound, of"
            " nine in ten.",
            (quantile(0.5, "pgs_gang_bind_seconds", over=STEP), "bindings p50"),
            (quantile(0.99, "pgs_gang_bind_seconds", over=STEP), "bindings p99"),
            (quantile(0.9, "pgs_claims_bound_seconds", over="1h"), "claims p90"),
            unit="s",
        ),
        panels.lines(
            "Claims of devices",
            "Claims written a second for gangs, by result, and searches for devices that ended"
            " without an answer.",
            per_second("pgs_claim_writes_total", "result"),
            (per_second("pgs_device_search_cut_total", "")[0], "searches cut off"),
            unit="ops",
        ),
    ]


def _api_server() -> list[AnyPanel]:
    return [
        panels.stacked(
            "Requests by code",
            "Requests a second, by the status of the answer; 0: none came.",
            per_second("pgs_api_requests_total", "code"),
            unit="reqps",
        ),
        panels.lines(
            "Answer time",
            "Of 99 in 100 requests; of a watch until it begins.",
            (
                quantile(0.99, "pgs_api_request_seconds", "verb, resource", over=STEP),
                "{{verb}} {{resource}}",
            ),
            unit="s",
        ),
        panels.stacked(
            "Statuses and Events written",
            "Writes other than bindings a second, by how they ended.",
            per_second("pgs_writes_total", "what, outcome"),
            unit="wps",
        ),
    ]


def _seen() -> list[AnyPanel]:
    return [
        panels.lines(
            "Watch age",
            "The time since the last sign of life of each kind.",
            ("max by (kind) (pgs_watch_age_seconds)", "{{kind}}"),
            unit="s",
        ),
        panels.bars(
            "Begun again",
            "Lists after the first one, watches that stopped, restarts of all, missed deletions.",
            (rise("pgs_relists_total", "kind")[0], "{{kind}} listed"),
            (rise("pgs_source_restarts_total")[0], "all watches"),
            (rise("pgs_swept_total", "kind")[0], "{{kind}} swept"),
            (rise("pgs_watches_begun_anew_total", "kind")[0], "{{kind}} had stopped"),
        ),
        panels.lines(
            "Watch events a second",
            "What the API server tells, by kind.",
            per_second("pgs_objects_seen_total", "kind"),
            unit="ops",
        ),
    ]


def _room() -> list[AnyPanel]:
    return [
        panels.bars(
            "Preemptions",
            "By how they ended, and the pods that were evicted.",
            rise("pgs_preemptions_total", "outcome"),
            (rise("pgs_preemption_victims_total")[0], "victims"),
        ),
        panels.lines(
            "Until victims are gone",
            "From the plan of a preemption: of half of them, and of nine in ten.",
            (quantile(0.5, "pgs_preemption_victims_gone_seconds"), "p50"),
            (quantile(0.9, "pgs_preemption_victims_gone_seconds"), "p90"),
            unit="s",
        ),
        panels.lines(
            "Held for nothing",
            "Gangs that are bound in part, and victims that should be gone.",
            ("max(pgs_partial_gangs)", "gangs bound in part"),
            ("max(pgs_victims_lingering)", "victims past their time"),
        ),
        panels.lines(
            "Failed nodes",
            "Gangs that lack members since nodes have failed, pods stuck there, and spare nodes.",
            ("max by (reason) (pgs_degraded_gangs)", "gangs: {{reason}}"),
            ("max(pgs_stuck_pods)", "pods that are stuck"),
            ("sum(max by (layer) (pgs_spare_nodes))", "spare nodes"),
        ),
        panels.stacked(
            "Requests for nodes",
            "ProvisioningRequests a second, by what came of them.",
            per_second("pgs_provisioning_requests_total", "state"),
        ),
    ]


def _errors() -> list[AnyPanel]:
    return [
        panels.bars(
            "Errors of the scheduler",
            "Please report them.",
            rise("pgs_internal_errors_total", "step"),
            (rise("pgs_queue_usage_differences_total")[0], "figures of queues"),
            (rise("pgs_costly_decisions_total")[0], "decisions of 2 s and more"),
        ),
        panels.bars(
            "Objects that cannot be read",
            "They are left out of all decisions; and kinds that may not be read.",
            rise("pgs_objects_broken_total", "kind"),
            ("max by (kind) (pgs_kind_forbidden) > 0", "{{kind}} forbidden"),
        ),
        panels.bars(
            "Folded label sets",
            "Values that were counted as _other, since a metric had as many label sets as it may.",
            (rise("pgs_metrics_folded_total")[0], "values"),
        ),
    ]
