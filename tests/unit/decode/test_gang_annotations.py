"""What annotations say of how a gang is scheduled, a row of the contract's table after another."""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import gang_annotations
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.model.gangs import MatchPolicy
from gang_scheduler.model.pods import GangAnnotations
from gang_scheduler.model.refs import GangName

PREFIX = "gang.scheduling.koordinator.sh/"


def read(key: str, text: str) -> GangOptions:
    return gang_annotations.read({PREFIX + key: text})


def test_without_annotations_all_are_the_defaults() -> None:
    expected = GangOptions((), True, MatchPolicy.ONCE_SATISFIED, None, None)  # noqa: FBT003
    assert expected == gang_annotations.read({}) == gang_annotations.read({"example.com/mode": "x"})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[]", ()),
        ('["team/a"]', (GangName("team", "a"),)),
        (' ["a/b", "c/d.e-f"] ', (GangName("a", "b"), GangName("c", "d.e-f"))),
    ],
)
def test_row_groups_names_gangs(text: str, names: tuple[GangName, ...]) -> None:
    assert names == read("groups", text).groups


@pytest.mark.parametrize(("text", "strict"), [("Strict", True), ("NonStrict", False)])
def test_row_mode(text: str, *, strict: bool) -> None:
    assert strict is read("mode", text).strict


@pytest.mark.parametrize("text", ["only-waiting", "waiting-and-running", "once-satisfied"])
def test_row_match_policy(text: str) -> None:
    assert MatchPolicy(text) is read("match-policy", text).match_policy


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5m", 30),
        ("1.s", 1),
        ("1m0.5s", 61),
        ("1500ms", 2),
        ("1ms", 1),
        ("1ns", 1),
        ("1us", 1),
        ("3000000000ns", 3),
        ("2000000us", 2),
        ("2000000\u00b5s", 2),
        ("2000000\u03bcs", 2),
        ("100ms", 1),
        ("1100ms", 2),
        ("0.1s0.2s0.7s", 1),
        ("+90s", 90),
    ],
)
def test_row_waiting_time_is_a_go_duration(text: str, seconds: int) -> None:
    assert seconds == read("waiting-time", text).timeout_seconds


@pytest.mark.parametrize(("text", "total"), [("1", 1), ("8", 8), ("100000", 100000)])
def test_row_total_number(text: str, total: int) -> None:
    assert total == read("total-number", text).total


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("groups", ""),
        ("groups", "team/a"),
        ("groups", "{}"),
        ("groups", "[3]"),
        ("groups", "[null]"),
        ("groups", '["team/a"'),
        ("groups", '"team/a"'),
        ("groups", "\udc80"),
        ("mode", ""),
        ("mode", "strict"),
        ("mode", "Loose"),
        ("match-policy", ""),
        ("match-policy", "Only-Waiting"),
        ("match-policy", "always"),
        ("waiting-time", ""),
        ("waiting-time", "0"),
        ("waiting-time", "0s"),
        ("waiting-time", "-1s"),
        ("waiting-time", "90"),
        ("waiting-time", "ten minutes"),
        ("waiting-time", "1 m"),
        ("waiting-time", " 1m"),
        ("waiting-time", "1m\n"),
        ("waiting-time", "1d"),
        ("waiting-time", "1M"),
        ("waiting-time", "s"),
        ("waiting-time", ".s"),
        ("waiting-time", "1e3s"),
        ("waiting-time", "9" * 400 + "h"),
        ("waiting-time", "\u0661s"),
        ("total-number", ""),
        ("total-number", "0"),
        ("total-number", "-1"),
        ("total-number", "2.5"),
        ("total-number", "many"),
        ("total-number", "1_0"),
        ("total-number", "\u0661"),
        ("total-number", "9" * 5000),
    ],
)
def test_what_cannot_be_understood_is_refused_with_field_and_value(key: str, text: str) -> None:
    with pytest.raises(InvalidField) as caught:
        read(key, text)

    assert (f"metadata.annotations[{PREFIX}{key}]", text) == (
        caught.value.field,
        caught.value.value,
    )


@pytest.mark.parametrize("name", ["a", "/a", "team/", "", "team /a", " team/a"])
def test_a_name_that_is_none_is_refused_with_field_and_name(name: str) -> None:
    with pytest.raises(InvalidField) as caught:
        read("groups", f'["good/one", "{name}"]')

    assert (f"metadata.annotations[{PREFIX}groups]", name) == (
        caught.value.field,
        caught.value.value,
    )


def test_a_pod_that_says_nothing_of_its_gang_is_like_most() -> None:
    assert gang_annotations.gang_annotations_of("ns/p", {}) is None
    assert gang_annotations.gang_annotations_of("ns/p", {annotations.ROLES: "{}"}) is None


def test_the_options_that_a_pod_says_are_kept_with_their_annotations() -> None:
    said = {f"{PREFIX}mode": "NonStrict", f"{PREFIX}total-number": "4"}

    expected = ((f"{PREFIX}mode", "strict", False), (f"{PREFIX}total-number", "total", 4))
    assert GangAnnotations(options=expected) == gang_annotations.gang_annotations_of("ns/p", said)


def test_how_the_gang_of_a_pod_grows_is_kept_with_them() -> None:
    said = gang_annotations.gang_annotations_of(
        "ns/p", {annotations.ELASTIC: '{"minWorkers": 2, "maxWorkers": 4}'}
    )

    assert said is not None
    assert (2, True) == (said.elastic and said.elastic.min_workers, said.has_elastic)


def test_what_cannot_be_read_of_a_member_is_said() -> None:
    said = gang_annotations.gang_annotations_of("ns/p", {annotations.MIN_RUNTIME: "soon"})

    assert said is not None
    assert said.options_problem is not None
    cause = str(said.options_problem.cause)
    assert "pod ns/p: " in cause
    assert f"[{annotations.MIN_RUNTIME}] must be a duration" in cause
