"""How moments, numbers of things and fields of metadata are written."""

import pytest

from gang_scheduler.model import wording


@pytest.mark.parametrize(("number", "said"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_only_one_thing_is_singular(number: int, said: str) -> None:
    assert said == wording.counted(number, "pod")


def test_a_moment_is_written_as_kubernetes_does() -> None:
    assert "2023-11-14T22:13:20Z" == wording.rfc3339(1_700_000_000)


def test_fields_of_labels_and_annotations_differ() -> None:
    assert "metadata.labels[a.io/b]" == wording.label_field("a.io/b")
    assert "metadata.annotations[a.io/b]" == wording.field("a.io/b")


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (112, "112th"), (21, "21st")],
)
def test_places(number: int, text: str) -> None:
    assert text == wording.ordinal(number)
