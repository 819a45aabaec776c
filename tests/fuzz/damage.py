"""Ways to damage an object or a text, for hypothesis to choose from.

Those of `property.mutants`, and some that matter to a reader of all kinds: a value of one field in
another, names of fields of other kinds, and parts that are very long.
"""

import copy
import functools
import json
from typing import Any

from hypothesis import strategies as st

from fuzz import corpora
from property.mutants import HOWS, JUNK, mutate, paths

Manifest = dict[str, Any]
LONG = 3000
ALPHABET = "0123456789+-.eEmkKMGTPi%nuµshd:/[]{}\",'\\ \n\t\x00TZax_=()!\u0663\ud800\U0001f600"
"""What numbers, quantities, durations, times, selectors and JSON are made of, and what is not."""
LENGTHENED = ("long text", "long list", "long map")


@functools.cache
def words() -> tuple[str, ...]:
    """Return the names of all fields, and all short texts, that stand in the corpora."""
    found = set()
    for manifests in corpora.by_kind().values():
        for each in manifests:
            for path in paths(each):
                found |= {step for step in path if isinstance(step, str)}
    return tuple(sorted(found))


@functools.cache
def parts() -> tuple[Any, ...]:
    """Return parts of objects, to stand where they do not belong."""
    found = {}
    for manifests in corpora.by_kind().values():
        for each in manifests[:3]:
            for path in paths(each):
                part = functools.reduce(lambda tree, step: tree[step], path, each)
                if isinstance(part, dict | list):
                    found[json.dumps(part, sort_keys=True, default=str)[:2000]] = part
    return tuple(found[key] for key in sorted(found))


@st.composite
def damaged(draw: st.DrawFn, whole: Manifest, most: int = 3) -> Manifest:
    """Return a copy of an object with up to `most` parts that are wrong, and at least one."""
    made = copy.deepcopy(whole)
    ways = list(paths(made))
    for _ in range(draw(st.integers(1, most))):
        path = draw(st.sampled_from(ways))
        how = draw(st.sampled_from((*HOWS, "replace", *LENGTHENED)))
        if how in LENGTHENED:
            mutate(made, path, "replace", _long(draw, how))
        else:
            stock = draw(st.sampled_from((JUNK, JUNK, words(), parts())))
            mutate(made, path, how, copy.deepcopy(draw(st.sampled_from(stock))))
    return made


def _long(draw: st.DrawFn, how: str) -> Any:
    piece = draw(
        st.sampled_from((*(each for each in JUNK if isinstance(each, str)), *words()[:50]))
    )
    if how == "long text":
        return (piece * LONG)[: 8 * LONG]
    if how == "long list":
        return [draw(st.sampled_from(JUNK))] * LONG
    return {f"{piece[:60]}{i}": piece[:60] for i in range(LONG)}


def texts() -> st.SearchStrategy[str]:
    """Return texts as they stand in fields, and texts that are close to them."""
    near = st.lists(st.sampled_from(ALPHABET), max_size=12).map("".join)
    known = st.sampled_from(tuple(each for each in JUNK if isinstance(each, str)))
    return st.one_of(
        near,
        known,
        st.sampled_from(words()),
        st.tuples(near, known, near).map("".join),
        st.tuples(near, st.integers(1, LONG)).map(lambda pair: (pair[0] * pair[1])[: 4 * LONG]),
    )
