"""Law: no text or list, however long, costs more than some milliseconds of CPU, wherever it stands.

CPU is measured, and compared with that of a loop on the same machine: to a count of calls, a slow
regular expression is one call.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import corpora, long_texts
from fuzz.test_objects_are_read_or_refused import ROWS, taken_in
from fuzz.test_texts_are_read_or_refused import PARSERS, outcome
from support import cpu
from support.thoroughness import cases

TEXTS = tuple(long_texts.texts())
A_PARSER = 60
"""More units than a parser takes for a text of 250,000 characters."""
OF_FIELDS = {
    **dict.fromkeys(
        ("JSON", "JSON list", "JSON object", "roles", "elastic", "request of a pod"), 400
    ),
    "network-topology-spec": 400,
    "YAML": 2000,
}
"""What reads field by field, and says what is wrong with each. Of JSON an annotation has 16 KiB,
and files are read whole that people give to commands."""
AN_OBJECT = 100
"""More than an object takes that has such a text; its copy and its JSON are some."""
A_LIST = 400
"""And than one takes that has such a list: each of its thousands of entries is read."""


@pytest.mark.parametrize("name", PARSERS)
def test_no_parser_takes_long_for_any_long_text(name: str) -> None:
    bound = OF_FIELDS.get(name, A_PARSER)
    for text in TEXTS:
        cpu.at_most(bound, lambda text=text: outcome(PARSERS[name], text), text[:20])  # type: ignore[misc]


@pytest.mark.parametrize("name", ROWS)
@given(data=st.data(), how=st.sampled_from(["dict", "bytes"]))
@settings(max_examples=cases(8, thorough=150))
def test_no_kind_takes_long_for_a_long_text_in_any_field(
    name: str, data: st.DataObject, how: str
) -> None:
    whole = data.draw(st.sampled_from(corpora.by_kind()[name]))
    path = data.draw(st.sampled_from(long_texts.ways_to_texts(whole)))
    text = data.draw(st.sampled_from(TEXTS))
    namespace = "default" if ROWS[name].namespaced else ""
    made = corpora.identified(long_texts.with_text(whole, path, text), namespace, "u")

    cpu.at_most(AN_OBJECT, lambda: taken_in(ROWS[name], made, how), f"{path}: {text[:20]}")


@pytest.mark.parametrize("name", ROWS)
@given(data=st.data(), how=st.sampled_from(["dict", "bytes"]))
@settings(max_examples=cases(4, thorough=150))
def test_no_kind_takes_long_for_a_long_list_in_any_field(
    name: str, data: st.DataObject, how: str
) -> None:
    whole = data.draw(st.sampled_from(corpora.by_kind()[name]))
    path = data.draw(st.sampled_from(long_texts.ways_to_lists(whole)))
    namespace = "default" if ROWS[name].namespaced else ""
    made = corpora.identified(long_texts.with_long_list(whole, path), namespace, "u")

    cpu.at_most(A_LIST, lambda: taken_in(ROWS[name], made, how), str(path))
