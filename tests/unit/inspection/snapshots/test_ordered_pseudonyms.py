"""Pseudonyms of words keep the order of names."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.inspection.snapshots import kept_words, ordered_pseudonyms
from gang_scheduler.model.refs import natural_key

NAMES = st.lists(st.text("abcmnsz-.019AB_E", min_size=1, max_size=8), min_size=2, max_size=30)


@given(NAMES.map(lambda names: [each.replace("__", "-") for each in names]))
def test_names_are_in_the_same_order_by_numbers_and_by_letters(names: list[str]) -> None:
    by = ordered_pseudonyms.word_pseudonyms(
        (each for name in names for each in ordered_pseudonyms.words_of(name)), kept_words.WORDS
    )
    renamed = [ordered_pseudonyms.renamed_words(name, by) for name in names]

    assert [ordered_pseudonyms.renamed_words(name, by) for name in sorted(names)] == sorted(renamed)
    naturally = [
        ordered_pseudonyms.renamed_words(name, by) for name in sorted(names, key=natural_key)
    ]
    assert naturally == sorted(renamed, key=natural_key)


def test_words_that_are_kept_stay_and_others_go_in_between() -> None:
    found = ordered_pseudonyms.word_pseudonyms(
        ["falcon", "worker", "llama", "zebra", "alpha"], {"worker", "false"}
    )

    assert {
        "alpha": "aaa",
        "falcon": "aab",
        "llama": "aac",
        "worker": "worker",
        "zebra": "xaa",
    } == found


def test_parts_of_a_name_have_the_pseudonyms_that_they_have_alone() -> None:
    by = ordered_pseudonyms.word_pseudonyms(["claim", "pod"], ())

    pod, claim, joined = (
        ordered_pseudonyms.renamed_words(each, by) for each in ("pod-3", "claim", "pod-3-claim")
    )
    assert f"{pod}-{claim}" == joined


def test_the_zones_of_a_volume_have_the_pseudonyms_of_the_zones() -> None:
    by = ordered_pseudonyms.word_pseudonyms(["a", "b"], ())

    assert f"{by['a']}__{by['b']}" == ordered_pseudonyms.renamed_words("a__b", by)


def test_between_any_two_words_that_are_kept_there_is_room() -> None:
    kept = sorted(kept_words.WORDS)
    others = [f"{word}{end}" for word in kept for end in ("zzz", "_")]

    found = ordered_pseudonyms.word_pseudonyms([*kept, *others, "A", "a"], kept_words.WORDS)

    assert [*found.values()] == sorted(found.values())
    assert len({*found.values()}) == len(found)
    assert all(word == found[word] for word in kept)


def test_many_words_have_longer_pseudonyms() -> None:
    many = ["".join(each) for each in itertools.product("abcdefghij", repeat=3)]

    found = ordered_pseudonyms.word_pseudonyms(many, ())

    assert [*found.values()] == sorted(found.values())
    assert {4} == {len(each) for each in found.values()}


def test_between_a_word_and_the_same_with_an_a_there_is_no_room() -> None:
    with pytest.raises(ValueError, match="no word of letters below a"):
        ordered_pseudonyms.word_pseudonyms(["b", "bA", "ba"], {"b", "ba"})
