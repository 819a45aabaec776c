"""Law: whatever an object says, it is read, or refused with a sentence of bounded length.

No other error comes out of a reader, whether an object comes as the bytes of a watch or as a dict,
and what still holds of an object that cannot be read is found out without one.
"""

import contextlib
import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from fuzz import corpora, damage
from gang_scheduler import internal_errors
from gang_scheduler.api import parsing
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.client.errors import UNREADABLE
from gang_scheduler.decode import fields
from gang_scheduler.decode.events import LeftOutObjects
from gang_scheduler.decode.reader import Reader
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.model.rules import Rules, WorkloadRules
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.wire.base import Wire
from property.mutants import written
from support import cache_feeding
from support.thoroughness import cases

OURS = "py-gang-scheduler"
LONGEST_FAULT = parsing.LONGEST_FIELD + 2 * parsing.LONGEST_SHOWN_VALUE + 2200
"""A sentence is a field, a value, and what it must be: the longest names all taints' effects."""
LONGEST = parsing.MOST_FAULTS * LONGEST_FAULT
ROWS = {each.reader.name: each.reader for each in kinds.KINDS}
STRUCTS = {f"{each.__module__}.{each.__qualname__}": each for each in corpora.structs()}


def test_there_are_objects_of_every_kind_and_values_of_every_struct() -> None:
    assert set(ROWS) == set(corpora.by_kind())
    for struct in STRUCTS.values():
        assert isinstance(fields.read(corpora.filled(struct), struct), struct)


@pytest.mark.parametrize("name", ROWS)
def test_objects_of_the_corpora_are_mostly_good(name: str) -> None:
    """Else their damage would say little: what is refused at once is looked at no further."""
    good = [each for each in corpora.by_kind()[name] if not taken_in(ROWS[name], each, "dict")]

    assert good


@pytest.mark.parametrize("name", ROWS)
@given(data=st.data(), how=st.sampled_from(["dict", "bytes"]))
@settings(max_examples=cases(10, thorough=200))
def test_objects_are_read_or_refused(name: str, data: st.DataObject, how: str) -> None:
    whole = data.draw(st.sampled_from(corpora.by_kind()[name]))
    made = data.draw(damage.damaged(whole))
    namespace = "default" if ROWS[name].namespaced else ""

    for each in (made, corpora.identified(made, namespace, "u")):
        for why in taken_in(ROWS[name], each, how):
            assert len(why) < LONGEST
            assert why.isprintable() or "\n" not in why


@given(data=st.data())
@settings(max_examples=cases(100, thorough=3000))
def test_structs_are_read_or_refused(data: st.DataObject) -> None:
    struct = STRUCTS[data.draw(st.sampled_from(sorted(STRUCTS)))]
    made = data.draw(damage.damaged(corpora.filled(struct)))

    with contextlib.suppress(*UNREADABLE):
        msgspec.json.decode(written(made).encode("utf-8", "surrogatepass"), type=struct)
    assert len(why_refused(made, struct)) < LONGEST


def why_refused(made: Any, struct: type[Wire]) -> str:
    try:
        fields.read(made, struct)
    except InvalidField as error:
        return str(error)
    return ""


def taken_in(reader: Reader[Any], body: Any, how: str) -> list[str]:
    """Let an object come into an empty cache, without an error; return why it was left out."""
    left_out = LeftOutObjects()
    cache = Cache([OURS], Changes(), Rules(workloads=WorkloadRules(manage_jobs=tuple(ManagedKind))))
    handlers = cache_feeding.event_handlers(cache, left_out)
    handler = handlers.of(reader.gvr)
    internal_errors.forget()
    if how == "dict" and isinstance(body, dict):
        known = {"apiVersion": reader.gvr.api_version, "kind": reader.kind}
        handler.handle({"type": "ADDED", "object": {**copy.deepcopy(body), **known}})
    else:
        known_objects = KnownObjects(handler, handlers.versions)
        known_objects.begin(reader.gvr)
        known_objects.listed(Raw(written(body).encode("utf-8", "surrogatepass")))
        known_objects.end()
    assert "" == internal_errors.problem()
    return [str(each.why) for each in left_out.take_all()]
