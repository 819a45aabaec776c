"""How names, amounts and times read."""

import pytest

from gang_scheduler.inspection.explaining import first_sentence
from gang_scheduler.inspection.explaining.first_sentence import Names

DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (DAY * 2, "2 days"),
    ],
)
def test_durations_have_one_unit(seconds: int, text: str) -> None:
    assert text == first_sentence.duration(seconds)


def test_names_of_other_namespaces_may_be_hidden() -> None:
    names = Names("a", hides=True)

    assert ["a/x", "a gang of another namespace"] == [names.gang(each) for each in ("a/x", "b/y")]
    assert ["a/x", "2 pods of other namespaces"] == names.pods(["b/y", "a/x", "b/z"])
    assert "b/y" == Names("a").gang("b/y")


def test_lists_are_cut() -> None:
    assert "a, b, c and 2 more" == first_sentence.listed([*"abcde"])
    assert "a, b and c" == first_sentence.joined_with_and([*"abc"])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("No node is ready", "no node is ready"),
        ('PodGroup "a" does not exist', 'PodGroup "a" does not exist'),
        ("GPUs are short", "GPUs are short"),
        ("", ""),
    ],
)
def test_after_a_colon_only_kinds_have_a_capital(text: str, after: str) -> None:
    assert after == first_sentence.uncapital(text)


def test_a_question_ends_a_sentence() -> None:
    assert "did you mean a?" == first_sentence.with_end("did you mean a?")
    assert (
        "it waits." == first_sentence.with_end("it waits") == first_sentence.with_end("it waits.")
    )
