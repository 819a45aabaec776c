"""What a user with rights in one namespace can write to harm others. docs/security.md lists it.

Each attack is a list of objects of namespace `evil`, about as large as etcd takes them, or as many.
"""

import json
from collections.abc import Callable
from typing import Any

from gang_scheduler.api import annotations
from support.api_objects import node_body, pod_body, pod_group_body

Body = dict[str, Any]
HERE = "evil"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LABEL = "pod-group.scheduling.sigs.k8s.io"
GROUPS = "gang.scheduling.koordinator.sh/groups"
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
NODES, GOOD, SIZE = 40, 5, 4
LONGEST = 256 << 10
"""As many bytes all annotations of an object may have."""
DELETED = "2024-01-01T00:00:00Z"

ATTACKS: dict[str, Callable[[], list[Body]]] = {}


def attack(make: Callable[[], list[Body]]) -> Callable[[], list[Body]]:
    """Add an attack to the table, by its name."""
    ATTACKS[make.__name__] = make
    return make


def world() -> list[Body]:
    """Return nodes, and the gangs of others, which fit several times over."""
    found = [
        node_body(f"n{i}", metadata={"labels": {"zone": f"z{i % 4}", "rack": f"r{i % 8}"}})
        for i in range(NODES)
    ]
    for name in (f"good{i}" for i in range(GOOD)):
        found.append(pod_group_body(name, min_member=SIZE))
        found += [pod_body(f"{name}-{i}", gang=name) for i in range(SIZE)]
    return found


def pod(name: str, gang: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Body:
    """Return a pod of the tenant."""
    own = {LABEL: gang} if gang else {}
    metadata = {"namespace": HERE, "uid": f"evil-{name}", "labels": {**own, **(labels or {})}}
    return pod_body(name, metadata=metadata, **spec)


def group(name: str, minimum: int = 1, **options: str) -> Body:
    """Return a PodGroup of the tenant; `options` are annotations by the names of `annotations`."""
    present = {getattr(annotations, key): text for key, text in options.items()}
    metadata = {"namespace": HERE, "uid": f"evil-{name}", "annotations": present}
    return pod_group_body(name, min_member=minimum, metadata=metadata)


def annotated(body: Body, **options: str) -> Body:
    """Return an object with more annotations, by the names of `annotations`."""
    more = {getattr(annotations, key): text for key, text in options.items()}
    metadata = body["metadata"]
    return {
        **body,
        "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **more}},
    }


def _is_key(name: str) -> bool:
    found = getattr(annotations, name)
    return isinstance(found, str) and "/" in found


def asking(requests: dict[str, str]) -> list[Body]:
    """Return the containers of a pod that asks for this."""
    return [{"name": "c", "resources": {"requests": requests}}]


def workload(kind: str, api_version: str, spec: Body) -> Body:
    """Return a suspended workload that names a queue."""
    metadata = {"name": kind.lower(), "namespace": HERE, "uid": kind, "labels": QUEUE}
    body = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return {**body, "spec": {"suspend": True, **spec}}


def job_spec(number: int) -> Body:
    """Return the spec of a Job of so many pods."""
    counts = {"parallelism": number, "completions": number, "completionMode": "Indexed"}
    template = {"spec": {"schedulerName": "py-gang-scheduler", "containers": asking({"cpu": "1"})}}
    return {**counts, "template": template}


def job_set(replicas: int, pods: int, kinds: int = 1) -> Body:
    """Return a JobSet of so many Jobs, of so many pods each."""
    job = {"spec": job_spec(pods)}
    jobs = [{"name": f"w{i}", "replicas": replicas, "template": job} for i in range(kinds)]
    return workload("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": jobs})


def expression(owner: str, number: int) -> Body:
    """Return a requirement with so many values that no other has."""
    return {"key": "zone", "operator": "In", "values": [f"{owner}-{i}" for i in range(number)]}


@attack
def long_node_affinity() -> list[Body]:
    """Return pods with a thousand terms of required node affinity each."""
    return [
        pod(
            f"a{p}",
            affinity={
                "nodeAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [expression(f"{p}-{i}", 5)]} for i in range(1000)
                        ]
                    }
                }
            },
        )
        for p in range(3)
    ]


@attack
def long_pod_anti_affinity() -> list[Body]:
    """Return pods that keep away from a thousand kinds of pods each."""
    return [
        pod(
            f"a{p}",
            affinity={
                "podAntiAffinity": {
                    REQUIRED: [
                        {
                            "topologyKey": "zone",
                            "labelSelector": {"matchLabels": {"x": f"{p}-{i}"}},
                            "namespaceSelector": {},
                        }
                        for i in range(1000)
                    ]
                }
            },
        )
        for p in range(2)
    ]


@attack
def a_thousand_spread_constraints() -> list[Body]:
    """Return pods that are to be spread over a thousand keys each."""
    return [
        pod(
            f"a{p}",
            topologySpreadConstraints=[
                {
                    "topologyKey": f"k{i}",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"x": f"{p}-{i}"}},
                }
                for i in range(1000)
            ],
        )
        for p in range(3)
    ]


@attack
def two_thousand_resources() -> list[Body]:
    """Return pods that ask for two thousand resources each, of which there is none."""
    return [
        pod(f"a{p}", containers=asking({f"example.com/r{p}-{i}": "1" for i in range(2000)}))
        for p in range(2)
    ]


@attack
def impossible_amounts() -> list[Body]:
    """Return pods with amounts that no machine has, or that are none."""
    texts = ("1E30", "1e-30", "9E", "1e999", "-1", "9" * 4000, "0." + "0" * 4000 + "1", "\u0663")
    return [pod(f"a{i}", containers=asking({"cpu": text})) for i, text in enumerate(texts)]


@attack
def impossible_durations() -> list[Body]:
    """Return gangs that ask for a minimum run time of a billion years, or of none."""
    texts = ("999999999999h", "1h" * 50_000, "1e9h", "9" * 100_000 + "h", "-1s")
    return [
        each
        for i, text in enumerate(texts)
        for each in (group(f"g{i}", MIN_RUNTIME=text), pod(f"a{i}", f"g{i}"))
    ]


@attack
def a_minimum_of_2_to_the_31() -> list[Body]:
    """Return gangs that can never be whole."""
    total = group("h", 2, GANG_TOTAL_NUMBER="999999999")
    return [group("g", 2**31 - 1), total, *(pod(f"a{i}", "gh"[i % 2]) for i in range(10))]


@attack
def deep_json() -> list[Body]:
    """Return PodGroups whose annotations are nested deeply."""
    texts = ("[" * 100_000, '{"a":' * 50_000, "[" * 200 + "]" * 200, "\x1b[2J\u202e")
    found = [group(f"g{i}", NETWORK_TOPOLOGY_SPEC=text) for i, text in enumerate(texts)]
    return [*found, *(pod(f"a{i}", f"g{i}") for i in range(len(texts)))]


@attack
def a_gang_of_thousands() -> list[Body]:
    """Return one gang that is larger than the cluster."""
    return [group("g", 2000), *(pod(f"a{i}", "g") for i in range(2000))]


@attack
def thousands_of_pod_groups() -> list[Body]:
    """Return PodGroups without pods."""
    return [group(f"g{i}") for i in range(10_000)]


@attack
def hundreds_of_pods_that_fit_nowhere() -> list[Body]:
    """Return pods of which no two are alike."""
    return [pod(f"a{i}", containers=asking({"cpu": f"{9000 + i}"})) for i in range(400)]


@attack
def groups_with_gangs_of_others() -> list[Body]:
    """Return a gang that wants to start together with those of another namespace, or never."""
    names = json.dumps([f"{HERE}/g", *(f"default/good{i}" for i in range(GOOD))])
    return [group("g", 5, GANG_GROUPS=names), pod("a", "g")]


@attack
def a_gang_of_another_namespace() -> list[Body]:
    """Return pods that name gangs of the same names as those of others."""
    return [pod(f"a{i}", f"good{i % GOOD}") for i in range(20)]


@attack
def groups_that_overlap() -> list[Body]:
    """Return gangs of which each names sixty others."""
    return [
        each
        for i in range(200)
        for each in (
            group(
                f"g{i}",
                GANG_GROUPS=json.dumps([f"{HERE}/g{j % 200}" for j in range(i, i + 60)]),
            ),
            pod(f"a{i}", f"g{i}"),
        )
    ]


@attack
def a_job_of_2_to_the_31_pods() -> list[Body]:
    """Return a suspended Job of as many pods as fit the field."""
    return [workload("Job", "batch/v1", job_spec(2**31 - 1))]


@attack
def a_job_of_a_hundred_thousand_pods() -> list[Body]:
    """Return a suspended Job of as many pods as an indexed one can have."""
    return [workload("Job", "batch/v1", job_spec(100_000))]


@attack
def a_job_set_of_a_hundred_million_pods() -> list[Body]:
    """Return a suspended JobSet whose product is large."""
    return [job_set(100_000, 1000)]


@attack
def a_leader_worker_set_of_2_to_the_31_groups() -> list[Body]:
    """Return one whose every replica would be a gang."""
    template = {"size": 1, "workerTemplate": job_spec(1)["template"]}
    spec = {"replicas": 2**31 - 1, "leaderWorkerTemplate": template}
    return [workload("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", spec)]


@attack
def a_job_set_of_jobs_without_pods() -> list[Body]:
    """Return a suspended JobSet of five million Jobs."""
    return [job_set(100_000, 0, kinds=50)]


@attack
def queues_that_do_not_exist() -> list[Body]:
    """Return pods that name a queue each."""
    key = annotations.QUEUE
    return [pod(f"a{i}", labels={key: f"q{i}"}) for i in range(500)]


@attack
def layers_that_do_not_exist() -> list[Body]:
    """Return gangs that ask for a layer each."""
    rules = [
        json.dumps({"gatherStrategy": [{"layer": f"L{i}", "strategy": "MustGather"}]})
        for i in range(200)
    ]
    return [
        each
        for i, text in enumerate(rules)
        for each in (group(f"g{i}", NETWORK_TOPOLOGY_SPEC=text), pod(f"a{i}", f"g{i}"))
    ]


@attack
def objects_that_never_go() -> list[Body]:
    """Return gangs and pods that were deleted, and that a finalizer keeps."""
    found = [
        each
        for i in range(50)
        for each in (
            group(f"g{i}", 2),
            pod(f"w{i}", f"g{i}"),
            pod(f"r{i}", f"g{i}", nodeName=f"n{i % NODES}"),
        )
    ]
    for each in found:
        each["metadata"] |= {"deletionTimestamp": DELETED, "finalizers": ["example.com/never"]}
    return found


@attack
def bounds_of_elastic_gangs() -> list[Body]:
    """Return gangs that grow and shrink between bounds that make no sense."""
    pairs: tuple[tuple[object, object], ...] = (
        (5, 2),
        (0, 0),
        (-1, 3),
        (1, 2**31),
        (2**63, 2**63),
        (1.5, 2),
        ("1", "2"),
        (None, {}),
    )
    texts = [json.dumps({"minWorkers": low, "maxWorkers": high}) for low, high in pairs]
    policy = {"scaleUpStep": 2**31, "scaleUpCooldown": "9" * 1000 + "h"}
    texts += ["{}", "[]", "null", json.dumps({"minWorkers": 1, "scalePolicy": policy})]
    return [
        each
        for i, text in enumerate(texts)
        for each in (
            group(f"g{i}", ELASTIC=text),
            pod(f"a{i}", f"g{i}"),
            annotated(pod(f"b{i}"), ELASTIC=text),
        )
    ]


@attack
def annotations_of_256_kib() -> list[Body]:
    """Return PodGroups and pods that have each annotation that is read, as long as may be."""
    keys = sorted(key for key in vars(annotations) if key.isupper() and _is_key(key))
    texts = ("x" * LONGEST, "9" * LONGEST, "[" + ",".join(['"evil/g"'] * (LONGEST // 9)) + "]")
    return [
        each
        for i, key in enumerate(keys)
        for text in texts
        for each in (
            group(f"g{i}-{text[0]}", 1, **{key: text}),
            annotated(pod(f"a{i}-{text[0]}", f"g{i}-{text[0]}"), **{key: text}),
        )
    ]


@attack
def thousands_of_keys() -> list[Body]:
    """Return objects with as many keys as may be, all nearly ones that are read."""
    prefixes = ("py-gang-scheduler.io/min-runtim", "pod-group.scheduling.sigs.k8s.io/na", "q")
    found = []
    for place, prefix in enumerate(prefixes):
        keys = {f"{prefix}{number}": "1" for number in range(8000)}
        for owner in (group(f"g{place}"), pod(f"a{place}"), pod(f"b{place}", f"g{place}")):
            found.append(owner)
            owner["metadata"]["annotations"] = keys
            owner["metadata"]["labels"] = {**owner["metadata"].get("labels", {}), **keys}
        job = workload("Job", "batch/v1", job_spec(3))
        job["metadata"] |= {"uid": f"j{place}", "name": f"j{place}", "annotations": keys}
        job["metadata"]["labels"] = {**QUEUE, **keys}
        job["spec"]["template"]["metadata"] = {"labels": keys, "annotations": keys}
        found.append(job)
    return found


@attack
def names_that_are_nearly_right() -> list[Body]:
    """Return PodGroups without pods, and pods that misspell their names."""
    name = "ab" * 29
    return [
        each
        for i in range(990)
        for each in (group(f"{name}-{i:03}x"), pod(f"a{i}", f"{name}-{i:03}y"))
    ]


@attack
def annotations_that_are_nearly_durations() -> list[Body]:
    """Return Jobs, PodGroups and pods with durations that are as long as may be."""
    keys = ("EXPECTED_DURATION", "MIN_RUNTIME", "GANG_WAITING_TIME", "FORCE_DELETE_STUCK_PODS")
    found = []
    for number in range(10):
        long = dict.fromkeys(keys, "111111111111." + "1" * (LONGEST // 4))
        job = workload("Job", "batch/v1", {**job_spec(2), "suspend": False})
        job["metadata"] |= {"uid": f"j{number}", "name": f"j{number}"}
        of_pods = {"GANG_NAME": f"of-pods-{number}", "GANG_MIN_AVAILABLE": "1"}
        found += [
            annotated(job, **long),
            annotated(group(f"g{number}"), **long),
            annotated(pod(f"a{number}", f"g{number}"), **long),
            annotated(pod(f"b{number}"), **long, **of_pods),
        ]
    return found


@attack
def names_with_control_characters() -> list[Body]:
    """Return gangs, roles and queues whose names move the cursor, or break lines."""
    keys = ("GANG_NAME", "ROLE", "KUEUE_QUEUE", "VOLCANO_QUEUE", "PROVISIONING_CLASS")
    texts = ("a\nb", "\x1b[2J", "\u202egpj", "a\x00", "../../etc", "\ud7ff", "a/b", "/", "*")
    return [
        annotated(pod(f"a{i}-{key.lower()}"), **{"GANG_MIN_AVAILABLE": "1", key: text})
        for i, text in enumerate(texts)
        for key in keys
    ]


@attack
def names_that_collide() -> list[Body]:
    """Return gangs of all sources of one name, and of the names of others and of single pods."""
    names = ("g", "good0", "good0-0", "job", "jobset-w", "jobset")
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "Job"}
    found = [workload("Job", "batch/v1", job_spec(3)), job_set(2, 2)]
    for number, name in enumerate(names):
        native = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup"}
        metadata = {"name": name, "namespace": HERE, "uid": f"native-{name}"}
        policy = {"gang": {"minCount": 2}}
        found += [
            group(name, 2),
            {**native, "metadata": metadata, "spec": {"schedulingPolicy": policy}},
            pod(name, name),
            annotated(pod(f"a{number}"), GANG_NAME=name, GANG_MIN_AVAILABLE="2"),
            pod(f"b{number}", schedulingGroup={"podGroupName": name}),
            pod(f"c{number}", labels={annotations.JOB_SET_LABEL: name}),
        ]
        of_job = pod(f"d{number}", labels={annotations.JOB_GANG_LABEL: "true"})
        of_job["metadata"]["ownerReferences"] = [{**owner, "name": name, "controller": True}]
        found.append(of_job)
    return found


@attack
def forged_annotations() -> list[Body]:
    """Return pods and workloads that say what only the scheduler writes, true of no plan."""
    job = workload("Job", "batch/v1", {**job_spec(1000), "suspend": False})
    nodes = ",".join(f"n{i}*25" for i in range(NODES))
    admitted = {"ADMITTED_AT": DELETED, "ADMITTED_TO": nodes, "ADMITTED_FROM": "{}"}
    plan = {"PLAN_ID": "forged-1", "PLAN_SIZE": "9", "PLAN_GANG": "PodGroup/g", "PLAN_GANGS": "3"}
    saves = {
        "CHECKPOINT_REQUESTED_AT": "9999-01-01T00:00:00Z",
        "CHECKPOINT_REQUEST_ID": "r",
        "CHECKPOINT_DONE_AT": "9999-01-01T00:00:00Z",
        "RESUME_COUNT": "9" * 16,
        "RESUME_PATH": "x",
        "CHECKPOINT_LATEST": '{"doneAt": "9999-01-01T00:00:00Z", "step": 1}',
    }
    charged = {"QUEUE": "theirs", "FLAVORS": '{"cpu": "none"}'}
    written = {**plan, **saves, **charged}
    bought = {"PROVISIONED_GANG": "PodGroup/good0", "PROVISIONED_GANG_UID": "uid-good0"}
    return [
        annotated(job, **admitted, **charged),
        group("g", 5, GANG_GROUPS='["default/good0"]'),
        *(annotated(pod(f"w{i}", "g"), **written, **bought) for i in range(4)),
        *(annotated(pod(f"r{i}", "g", nodeName=f"n{i}"), **written) for i in range(2)),
        *(annotated(pod(f"s{i}", nodeName=f"n{i}"), **written) for i in range(2)),
    ]
