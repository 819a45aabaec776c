"""Pseudonyms in a snapshot: which texts get one, and which stay. Equal texts get the same one.

Replaced are names, namespaces, values of labels, texts of annotations, and keys that are not well
known. Numbers stay, and so do random identifiers, which reveal nothing. The order of names stays as
well, because it breaks ties.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final

import msgspec

from gang_scheduler.decode.pods.pod import OUR_MARK
from gang_scheduler.inspection.snapshots import kept_words, ordered_pseudonyms
from gang_scheduler.inspection.snapshots.taking import Line, Snapshot
from gang_scheduler.model.scheduler_events import SchedulerEvent
from gang_scheduler.recording import wire_shapes
from gang_scheduler.recording.wire_shapes import WRITTEN, Shape
from gang_scheduler.simulation.snapshot_files import Header
from gang_scheduler.state import kinds

# Pseudonyms of numbers that identify something: addresses, and numbers of many digits. Such a
# number is also found inside names, as in `ip-10-0-3-7`. All other numbers stay, for example the 7
# of `llama-7`. A pseudonym is as long as its number. The smaller of two numbers also gets the
# smaller pseudonym, whether digits or values are compared, so names keep their order.

_OCTET: Final = "[0-9]{1,3}"
TELLING: Final = re.compile(
    rf"(?<![0-9])(?:{_OCTET}(?P<sign>[.-]){_OCTET}(?P=sign){_OCTET}(?P=sign){_OCTET}|[0-9]{{7,}})"
    r"(?![0-9])"
)
AMOUNT: Final = re.compile(r"[+-]?[0-9]*\.?[0-9]*(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
"""Amounts stay, however large: quotas and requests are compared with each other."""


def number_of(text: str) -> Iterator[str]:
    """Yield the parts of a text that are numbers to hide."""
    if not AMOUNT.fullmatch(text):
        yield from (each[0] for each in TELLING.finditer(text))


def number_pseudonyms(numbers: Iterable[str]) -> dict[str, str]:
    """Return the pseudonym of each number."""
    present = set(numbers)
    following: dict[str, set[str]] = {}
    for number in present:
        for place, sign in enumerate(number):
            following.setdefault(number[:place], set()).add(sign)
    return {each: "".join(_signs(each, following)) for each in present}


def renamed_numbers(text: str, by: dict[str, str]) -> str:
    """Return a text with the pseudonyms of its numbers."""
    return text if AMOUNT.fullmatch(text) else TELLING.sub(lambda match: by[match[0]], text)


def _signs(number: str, following: dict[str, set[str]]) -> Iterator[str]:
    """Yield the signs of a number's pseudonym; zero stays.

    A digit becomes its place among the digits that follow the same beginning in any number.
    """
    is_leading = True
    for place, sign in enumerate(number):
        if not sign.isdigit():
            is_leading = True
            yield sign
            continue
        beside = sorted(each for each in following[number[:place]] if each.isdigit())
        # A number that does not begin with zero must not become one that does.
        least = int(is_leading and beside[0] != "0")
        is_leading = is_leading and sign == "0"
        yield str(beside.index(sign) + least)


UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LATER_WIDTH: Final = 4
"""A word that is learned later gets at least this many letters after its first one."""
HIDDEN: Final = "hidden"
"""Replaces texts for people, which may contain anything."""
_SHAPES: Final = tuple(WRITTEN[each.reader.gvr] for each in kinds.KINDS)
_OF_KIND: Final = {
    (each.reader.kind, gvr.api_version): WRITTEN[each.reader.gvr]
    for each in kinds.KINDS
    for gvr in each.reader.versions
}
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

Rename = Callable[[str], str]


class Pseudonyms:
    """The pseudonyms of a snapshot: `words` and `numbers` map parts of texts to pseudonyms."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = [each for each in texts if not stays(each)]
        parts = {part for text in found for part in ordered_pseudonyms.words_of(text)}
        self.words = ordered_pseudonyms.word_pseudonyms(parts, kept_words.WORDS)
        self.numbers = number_pseudonyms(part for text in found for part in number_of(text))

    def text(self, text: str) -> str:
        """Return the pseudonym of a text; the text itself if it stays."""
        if stays(text):
            return text
        return ordered_pseudonyms.renamed_words(renamed_numbers(text, self.numbers), self.words)


class GrowingPseudonyms(Pseudonyms):
    """Pseudonyms for texts that become known one after the other, as in a recording.

    Pseudonyms of the first texts sort as the texts do. Each later text gets the next free
    pseudonym.
    """

    def __init__(self) -> None:
        super().__init__(())
        self._taken: set[str] = set()
        self._numbers = itertools.count()

    def learn(self, texts: Iterable[str]) -> bool:
        """Give a pseudonym to each text that has none; return whether any text got one."""
        found = [each for each in texts if not stays(each)]
        parts = {
            part for text in found for part in ordered_pseudonyms.words_of(text)
        } - self.words.keys()
        numbers = {part for text in found for part in number_of(text)} - self.numbers.keys()
        if not self._taken:
            self.words = ordered_pseudonyms.word_pseudonyms(parts, kept_words.WORDS)
            self.numbers = number_pseudonyms(numbers)
        else:
            kept = parts & kept_words.WORDS
            self.words |= {each: each for each in kept}
            self.words |= {each: self._free(_word_like(each)) for each in sorted(parts - kept)}
            self.numbers |= {each: self._free(_number_like(each)) for each in sorted(numbers)}
        self._taken.update(self.words.values(), self.numbers.values(), kept_words.WORDS)
        return bool(parts or numbers)

    def _free(self, nth: Callable[[int], str]) -> str:
        """Return the next pseudonym that is free; `nth` makes numbered pseudonyms."""
        while (found := nth(next(self._numbers))) in self._taken:
            pass
        self._taken.add(found)
        return found


def _word_like(word: str) -> Callable[[int], str]:
    """Return a function that numbers pseudonyms for a word, with the case of its first letter."""
    letters = ascii_lowercase if word >= "a" else ascii_uppercase

    def nth(number: int) -> str:
        signs = ""
        while number or len(signs) < LATER_WIDTH:
            number, sign = divmod(number, len(letters))
            signs = letters[sign] + signs
        return letters[-1] + signs

    return nth


def _number_like(text: str) -> Callable[[int], str]:
    """Return a function that makes pseudonyms for a number: an address, or a number as long."""
    match = TELLING.fullmatch(text)
    sign = match["sign"] if match is not None else None
    if sign is None:
        return lambda number: str(10 ** (len(text) - 1) + number)
    return lambda number: sign.join(("10", *(str(number >> places & 255) for places in (16, 8, 0))))


def of(snapshot: Snapshot) -> Pseudonyms:
    """Return the pseudonyms of a snapshot."""
    found: set[str] = set()

    def note(text: str) -> str:
        found.add(text)
        return text

    for _ in _lines(snapshot.lines, note):
        pass
    _header(snapshot.header, note)
    return Pseudonyms(found)


def anonymized(snapshot: Snapshot, pseudonyms: Pseudonyms) -> Snapshot:
    """Return the snapshot with pseudonyms. Its cluster still has the real names."""
    lines = tuple(_lines(snapshot.lines, pseudonyms.text))
    return Snapshot(_header(snapshot.header, pseudonyms.text), lines, snapshot.cluster)


def stays(text: str) -> bool:
    """Return whether a text reveals nothing, such as a known key, a random uid, or a time."""
    if UUID.fullmatch(text) or kept_words.TIME.fullmatch(text):
        return True
    return "/" in text and kept_words.is_known(text)


def _lines(lines: Iterable[Line], rename: Rename) -> Iterable[Line]:
    for each in lines:
        body = msgspec.json.decode(each.text)
        text = msgspec.json.encode(_renamed(body, _SHAPES[each.place], "", rename))
        yield each._replace(
            namespace=rename(each.namespace),
            name=rename(each.name),
            uid=rename(each.uid),
            text=text,
        )


def _header(header: Header, rename: Rename) -> Header:
    return msgspec.structs.replace(
        header,
        anonymized=True,
        namespace=rename(header.namespace),
        profile=profile(header.profile, rename),
        profile_of=rename(header.profile_of),
        events=None if header.events is None else [_event(each, rename) for each in header.events],
    )


def profile(settings: Mapping[str, Any], rename: Rename) -> dict[str, Any]:
    """Return settings with pseudonyms."""
    return {
        name: _in_json(value, rename) if name in kept_words.NAMING_SETTINGS else value
        for name, value in settings.items()
    }


def _event(event: SchedulerEvent, rename: Rename) -> SchedulerEvent:
    """Return an Event without its note, which may contain anything."""
    namespace, name = rename(event.namespace), rename(event.name)
    return msgspec.structs.replace(event, namespace=namespace, name=name, note="")


def renamed_object(body: Mapping[str, Any], rename: Rename) -> dict[str, Any]:
    """Return the recorded fields of an object, with pseudonyms."""
    shape = _OF_KIND[str(body["kind"]), str(body["apiVersion"])]
    found: dict[str, Any] = _renamed(body, shape, "", rename)
    return found


def _renamed(value: Any, shape: Shape, field: str, rename: Rename) -> Any:  # noqa: ANN401 - any JSON value.
    """Return a value with pseudonyms, given its shape and the name of its field."""
    if isinstance(value, dict):
        if field == "annotations":
            return dict(_annotation(key, text, rename) for key, text in value.items())
        if shape.fields is not None:
            known = shape.fields
            return {
                name: _renamed(each, known.get(name, wire_shapes.PRESENCE), name, rename)
                for name, each in value.items()
            }
        inner = shape.values or wire_shapes.PRESENCE
        return {_key(key, rename): _renamed(v, inner, "", rename) for key, v in value.items()}
    if isinstance(value, list):
        return [
            _renamed(each, shape.items or wire_shapes.PRESENCE, field, rename) for each in value
        ]
    is_kept = not isinstance(value, str) or value in shape.words
    return value if is_kept else _text(value, field, rename)


def _text(text: str, field: str, rename: Rename) -> str:
    if field in kept_words.KEPT_FIELDS and kept_words.is_api_word(text):
        return text
    if field in kept_words.KEY_FIELDS:
        return _key(text, rename)
    if field in kept_words.MESSAGES:
        return _message(text)
    if field in kept_words.DIGESTS:
        return ""
    return rename(text)


def _key(key: str, rename: Rename) -> str:
    return key if kept_words.is_known(key) else rename(key)


def _message(text: str) -> str:
    """Return the text that replaces a message; the message on our victims stays."""
    return OUR_MARK if text.startswith(OUR_MARK) else HIDDEN if text else ""


def _annotation(key: str, text: Any, rename: Rename) -> tuple[str, Any]:  # noqa: ANN401 - any JSON value.
    named = _key(key, rename)
    if not isinstance(text, str):
        return named, text
    if text.lstrip().startswith(("{", "[")):
        try:
            value = _in_json(msgspec.json.decode(text), rename)
            return named, msgspec.json.encode(value).decode()
        except _UNREADABLE:
            pass
    return named, rename(text)


def _in_json(value: Any, rename: Rename) -> Any:  # noqa: ANN401 - any JSON value.
    if isinstance(value, Mapping):
        return {_key(name, rename): _in_json(each, rename) for name, each in value.items()}
    if isinstance(value, list):
        return [_in_json(each, rename) for each in value]
    return _key(value, rename) if isinstance(value, str) else value
