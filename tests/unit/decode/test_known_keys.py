"""Misspelt keys are told from keys that are read."""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.decode import known_keys
from support.call_counts import calls_of

OURS, THEIRS = "py-gang-scheduler.io/", "gang.scheduling.koordinator.sh/"


def test_every_key_that_is_read_or_written_is_known() -> None:
    written = {each for each in vars(annotations).values() if isinstance(each, str)}

    expected = {each for each in written if each.startswith(known_keys.PREFIXES)}
    elsewhere = known_keys.OF_NAMESPACES | known_keys.OF_LEASES | known_keys.OF_CLAIMS
    assert expected == known_keys.LABELS | known_keys.ANNOTATIONS | elsewhere


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        (THEIRS + "group", f"; did you mean {THEIRS}groups?"),
        (THEIRS + "Mode", f"; did you mean {THEIRS}mode?"),
        (THEIRS + "colour", ""),
        (OURS + "gan", f"; did you mean {OURS}gang?"),
        (OURS + "min_runtime", f"; did you mean {OURS}min-runtime?"),
        (OURS, ""),
    ],
)
def test_an_unknown_annotation_is_named_with_the_nearest_key(key: str, hint: str) -> None:
    (found,) = known_keys.unknown_annotations([key])

    assert f"metadata.annotations[{key}] is unknown{hint}" == str(found)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("pod-group.scheduling.sig.k8s.io", annotations.POD_GROUP_LABEL),
        ("podgroup.scheduling.sigs.k8s.io", annotations.POD_GROUP_LABEL),
        ("pod-group.scheduling.k8s.io", annotations.POD_GROUP_LABEL),
        ("scheduling.x-k8s.io/podgroup", annotations.POD_GROUP_LABEL_SCHED_PLUGINS),
        ("py-gang-scheduler/gang", annotations.JOB_GANG_LABEL),
        ("gang.scheduling.koordinator/name", annotations.GANG_NAME),
        ("kueue.x-k8s.io/pod-set-required-topology", annotations.PODSET_REQUIRED),
        ("kueue.x-k8s.io/podgroup-name", "kueue.x-k8s.io/pod-group-name"),
        ("py-gang-scheduler.k8s.io/gang", annotations.JOB_GANG_LABEL),
        ("pod-group.scheduling.x-k8s.io", annotations.POD_GROUP_LABEL),
        ("scheduling.sigs.k8s.io/pod-group", annotations.POD_GROUP_LABEL),
        ("scheduling.k8s.io/pod-group-name", annotations.POD_GROUP_LABEL),
        ("scheduling.x-k8s.io/pod-group-name", annotations.POD_GROUP_LABEL_SCHED_PLUGINS),
        ("scheduling.k8s.io/groupName", known_keys.VOLCANO_GROUP),
        ("volcano.sh/group-name", known_keys.VOLCANO_GROUP),
        ("scheduling.koordinator.sh/gang-name", annotations.GANG_NAME),
        ("gang.koordinator.sh/name", annotations.GANG_NAME),
    ],
)
def test_a_key_that_is_misspelt_at_one_place_is_refused(key: str, meant: str) -> None:
    (label,), (annotation,) = (
        known_keys.unknown_labels([key]),
        known_keys.unknown_annotations([key]),
    )

    assert f"metadata.labels[{key}] is unknown; did you mean {meant}?" == str(label)
    assert f"metadata.annotations[{key}] is unknown; did you mean {meant}?" == str(annotation)


@pytest.mark.parametrize(
    "key",
    [
        *("kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"),
        *("kueue.x-k8s.io/podset", "kueue.x-k8s.io/tas", "kueue.x-k8s.io/queue-name"),
        *("quota.scheduling.koordinator.sh/name", "scheduling.koordinator.sh/reservation"),
        *("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name"),
        *("jobset.sigs.k8s.io/jobset-name", "batch.kubernetes.io/job-name", "runai/queue"),
        *("scheduling.k8s.io/pod-group", "scheduling.k8s.io/workload-name"),
        *("app.kubernetes.io/name", "scheduling.x-k8s.io/pod-group", "pod-template-hash"),
        *("jobset.sigs.k8s.io/group-name", "leaderworkerset.sigs.k8s.io/group-key"),
        *("yunikorn.apache.org/task-groups", "example.com/pod-group", "group-name", "pod-group"),
        *(
            "quota.scheduling.koordinator.sh/tree-id",
            "volcano.sh/job-name",
            "gang",
            "example.com/gang",
        ),
    ],
)
def test_keys_of_other_products_are_no_misspellings(key: str) -> None:
    assert "" == known_keys.meant_by(key)


def test_a_name_of_a_pod_group_in_an_annotation_must_be_a_label() -> None:
    key = annotations.POD_GROUP_LABEL

    (found,) = known_keys.unknown_annotations([key])

    assert f"metadata.annotations[{key}] must be a label" == str(found)
    assert [] == [*known_keys.unknown_annotations([key], [key])]


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        (annotations.PODSET_REQUIRED, "must be an annotation"),
        ("kueue.x-k8s.io/podset-require-topology", "is unknown; did you mean"),
    ],
)
def test_a_request_of_kueue_in_a_label_is_refused(key: str, wrong: str) -> None:
    (found,) = known_keys.unknown_labels([key])

    assert str(found).startswith(f"metadata.labels[{key}] {wrong}")


def test_a_key_is_compared_with_others_once_however_many_pods_have_it() -> None:
    key = "app.kubernetes.io/compared-once"
    known_keys.meant_by(key)

    again = calls_of(lambda: [known_keys.meant_by(key) for _ in range(100)])

    assert 0 == again["known_keys._is_near"]


@pytest.mark.parametrize("key", ["py-gang-scheduler.io/min-runtim", "pod-group.schedulin", "q"])
def test_of_thousands_of_keys_few_are_compared_and_it_is_said_that_there_are_more(key: str) -> None:
    present = [f"{key}{number}" for number in range(8000)]

    cost = calls_of(
        lambda: [
            *known_keys.unknown_labels(present),
            *known_keys.unknown_annotations(present),
        ]
    )
    said = [*map(str, known_keys.unknown_labels(present))]

    assert cost.total() < 100_000
    assert len(said) <= known_keys.MOST_LOOKED_AT + 1
    if key != "q":
        more = (
            f"must have at most {known_keys.MOST_LOOKED_AT} keys that resemble keys with a meaning"
        )
        assert f"metadata.labels {more}, not 8000" == said[-1]
        assert known_keys.has_odd_labels(present)


def test_keys_of_others_are_not_looked_at() -> None:
    others = ["app", "scheduling.koordinator.sh/mod", "batch.kubernetes.io/job-name", "gang"]

    assert [] == [
        *known_keys.unknown_labels(others),
        *known_keys.unknown_annotations(others),
    ]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("match-policy", f": write the annotation {THEIRS}match-policy"),
        ("name", ": write it as a label"),
        ("podgroup", f": write the label {annotations.POD_GROUP_LABEL}"),
        ("pod-group-name", f": write the label {annotations.POD_GROUP_LABEL}"),
        ("min-availabel", f"; did you mean {annotations.GANG_MIN_AVAILABLE_LABEL}?"),
        ("mod", f": {annotations.POD_GROUP_LABEL} names a PodGroup"),
    ],
)
def test_keys_beside_those_that_name_a_gang_are_not_read(name: str, hint: str) -> None:
    key = known_keys.POD_GROUP_PREFIX + name

    (found,) = known_keys.not_read([annotations.GANG_NAME_LABEL], [key])

    assert f"metadata.annotations[{key}] is not read{hint}" == str(found)


def test_fields_of_other_products_are_reported_with_the_product() -> None:
    key = "pod-group-name"

    found = [*known_keys.foreign([key], [key])]

    expected = [f"metadata.{where}[{key}]" for where in ("annotations", "labels")]
    assert [(where, "KAI-Scheduler") for where in expected] == found
