"""Selectors of devices: CEL expressions, each compiled and evaluated once; and their words."""

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from gang_scheduler.model.devices import Attribute, AttributeKind, Device
from gang_scheduler.scheduler.devices import cel_functions
from gang_scheduler.scheduler.devices.cel_functions import FUNCTIONS, OF_LISTS

LONGEST: Final = 10 * 1024
"""An expression has at most this many characters: the limit of the API server."""
REMEMBERED: Final = 4096
"""The most expressions that are kept, and the most results of one of them."""
HINT: Final = "guard it with has() or use .?orValue()"
_SHOWN: Final = 200


class SelectorError(Exception):
    """An expression that does not compile, or that has no answer for a device."""


class Selector:
    """A compiled expression. Made by `compile`."""

    def __init__(self, text: str, expression: Any) -> None:  # noqa: ANN401 - of the CEL package
        self.text = text
        self._expression = expression
        self._domains = tuple(dict.fromkeys(_SUBSCRIPT.findall(text)))
        self._seen = _seen(text)
        self._results: dict[object, bool | SelectorError] = {}

    @staticmethod
    def compile(text: str) -> "Selector":
        """Return the selector of an expression. Raises SelectorError; both are remembered."""
        found = _compiled(text)
        if isinstance(found, SelectorError):
            raise found
        return found

    def matches(self, device: Device, driver: str) -> bool:
        """Return whether a device is selected. Raises SelectorError if that cannot be said.

        Evaluated once for each combination of the values that the expression sees.
        """
        key = self._key(device, driver)
        result = self._results.get(key)
        if result is None:
            if len(self._results) >= REMEMBERED:
                self._results.clear()
            result = self._results[key] = self._evaluated(device, driver)
        if isinstance(result, SelectorError):
            raise result
        return result

    def _key(self, device: Device, driver: str) -> object:
        if self._seen is None:
            return (
                driver,
                device.allow_multiple,
                frozenset(device.attributes.items()),
                frozenset((name, each.value.nanos) for name, each in device.capacity.items()),
            )
        return (driver, device.allow_multiple, *(look(device, driver) for look in self._seen))

    def _evaluated(self, device: Device, driver: str) -> bool | SelectorError:
        try:
            value = self._value(_data(device, driver), driver)
        except (ValueError, RuntimeError) as error:
            # An invalid version, or an evaluation that takes too long.
            return SelectorError(str(error)[:_SHOWN])
        kind = value.type().name()
        if kind == "BOOL":
            return bool(value.value())
        if kind == "ERROR":
            return SelectorError(f"{str(value.value())[:_SHOWN]}; {HINT}")
        return SelectorError(f"a result of type {kind.lower()} is neither true nor false")

    def _value(self, data: dict[str, Any], driver: str) -> Any:  # noqa: ANN401 - as above
        value = self._expression.eval(data={"device": data})
        if value.type().name() == "ERROR":
            # In Kubernetes an unknown domain is an empty map, and is still not `in` the map.
            for domain in (driver, *self._domains):
                data["attributes"].setdefault(domain, {})
                data["capacity"].setdefault(domain, {})
            value = self._expression.eval(data={"device": data})
        return value


@functools.lru_cache(REMEMBERED)
def _compiled(text: str) -> Selector | SelectorError:
    if len(text) > LONGEST:
        return SelectorError(f"an expression has at most {LONGEST} characters")
    expression = _parsed(text, with_strings=True)
    if isinstance(expression, SelectorError) and "ndexOf(" in text:
        # CEL declares a name once: `indexOf` is either for strings or for lists.
        of_lists = _parsed(text, with_strings=False)
        expression = expression if isinstance(of_lists, SelectorError) else of_lists
    if isinstance(expression, SelectorError):
        return expression
    kind = expression.return_type().name()
    if kind not in ("BOOL", "DYN"):
        return SelectorError(f"must give true or false, not {kind.lower()}")
    return Selector(text, expression)


def _parsed(text: str, *, with_strings: bool) -> Any:  # noqa: ANN401 - of the CEL package
    try:
        environment = _environment(with_strings=with_strings)
    except ImportError:
        return SelectorError("needs the package cel-expr-python, which is not installed")
    try:
        return environment.compile(text)
    except RuntimeError as error:
        return SelectorError(f"does not compile: {str(error)[:_SHOWN]}")


@functools.cache
def _environment(*, with_strings: bool) -> Any:  # noqa: ANN401 - of the CEL package
    """Return CEL as Kubernetes has it. Imported here: clusters without claims never load it."""
    from cel_expr_python import cel  # type: ignore[import-untyped]  # noqa: PLC0415
    from cel_expr_python.ext import (  # type: ignore[import-untyped]  # noqa: PLC0415
        ext_bindings,
        ext_optional,
        ext_strings,
    )

    kinds = {
        cel_functions.MAP: cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
        cel_functions.STRING: cel.Type.STRING,
        cel_functions.BOOL: cel.Type.BOOL,
        cel_functions.INT: cel.Type.INT,
        cel_functions.DOUBLE: cel.Type.DOUBLE,
        cel_functions.LIST: cel.Type.LIST,
        cel_functions.DYN: cel.Type.DYN,
    }
    overloads: dict[str, list[Any]] = {}
    for each in FUNCTIONS if with_strings else (*FUNCTIONS, *OF_LISTS):
        overload = cel.Overload(
            "_".join((each.name, *each.takes)),
            return_type=kinds[each.gives],
            parameters=[kinds[kind] for kind in each.takes],
            is_member=each.is_member,
            impl=each.of,
        )
        overloads.setdefault(each.name, []).append(overload)
    extensions = [ext_bindings.ExtBindings(), ext_optional.ExtOptional()]
    return cel.NewEnv(
        variables={"device": cel.Type.DYN},
        extensions=[*extensions, *([ext_strings.ExtStrings()] if with_strings else [])],
        functions=[cel.FunctionDecl(name, each) for name, each in overloads.items()],
    )


# A device as expressions see it.


def _data(device: Device, driver: str) -> dict[str, Any]:
    attributes: dict[str, dict[str, Any]] = {}
    for name, attribute in device.attributes.items():
        domain, identifier = _qualified(name, driver)
        attributes.setdefault(domain, {})[identifier] = _in_cel(attribute)
    capacity: dict[str, dict[str, Any]] = {}
    for name, each in device.capacity.items():
        domain, identifier = _qualified(name, driver)
        capacity.setdefault(domain, {})[identifier] = cel_functions.quantity(each.value.nanos)
    return {
        "driver": driver,
        "allowMultipleAllocations": device.allow_multiple,
        "attributes": attributes,
        "capacity": capacity,
    }


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, found, identifier = name.partition("/")
    return (domain, identifier) if found else (driver, name)


def _in_cel(attribute: Attribute) -> Any:  # noqa: ANN401 - of the attribute's type
    if isinstance(attribute.value, tuple):
        return [_in_cel(each) for each in attribute.value]
    if attribute.kind is AttributeKind.VERSION:
        return cel_functions.version(str(attribute.value))
    return attribute.value


# The values that an expression reads, if its text says so plainly, as in
# `device.attributes["D"].ID`. If `device` or one of its maps stands alone, the expression may see
# everything.

_SUBSCRIPT: Final = re.compile(r"\[\s*\??\s*['\"]([^'\"]+)['\"]\s*\]")
_LITERAL: Final = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"")
_PLAIN: Final = re.compile(
    r"\bdevice\s*\.\s*(?:(?P<whole>driver|allowMultipleAllocations)\b"
    r"|(?P<part>attributes|capacity)\s*\[\s*(?P<domain>\d+)\s*\]"
    r"\s*(?:\.\s*(?P<name>[A-Za-z_]\w*)\b(?!\s*\()|\[\s*(?P<quoted>\d+)\s*\]))"
)
_SPECIAL: Final = re.compile(r"""["']{3}|\b[rRbB]+["']|//|\\""")
_Reader = Callable[[Device, str], object]


def _seen(text: str) -> tuple[_Reader, ...] | None:
    """Return readers of the values that an expression uses; None if it may use all of them."""
    if _SPECIAL.search(text):
        return None
    literals: list[str] = []

    def numbered(match: re.Match[str]) -> str:
        literals.append(match[0][1:-1])
        return str(len(literals) - 1)

    # Numbers stand for the literals: a number in the expression itself cannot be an index, since
    # the keys of the maps are texts.
    bare = _LITERAL.sub(numbered, text.replace("?", " "))
    readers = []
    for match in _PLAIN.finditer(bare):
        if match["whole"]:
            continue
        if int(match["domain"]) >= len(literals):
            return None
        quoted = match["quoted"]
        if quoted and int(quoted) >= len(literals):
            return None
        identifier = literals[int(quoted)] if quoted else match["name"]
        readers.append(_reader(match["part"], literals[int(match["domain"])], identifier))
    rest = _PLAIN.sub(" ", bare)
    return None if re.search(r"\bdevice\b", rest) else tuple(readers)


def _reader(part: str, domain: str, identifier: str) -> _Reader:
    name = f"{domain}/{identifier}"

    def attribute(device: Device, driver: str) -> object:
        found = device.attributes.get(name)
        return device.attributes.get(identifier) if found is None and domain == driver else found

    def capacity(device: Device, driver: str) -> object:
        found = device.capacity.get(name)
        if found is None and domain == driver:
            found = device.capacity.get(identifier)
        return found and found.value.nanos

    return attribute if part == "attributes" else capacity


# Selectors in words, for messages: `memory >= 80Gi` instead of an expression in CEL.
#
# Only the usual forms are put into words. If one part of a selector is not among them, nothing is
# guessed: the words then only say that there are selectors.


MATCHING: Final = "that match its selectors"

_NAME: Final = (
    r"device\s*\.\s*(?:attributes|capacity)\s*\[\s*(?:'[^']*'|\"[^\"]*\")\s*\]\s*\.\s*(?P<name>\w+)"
)
_TEXT: Final = r"(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")"
_COMPARED: Final = re.compile(
    rf"{_NAME}\s*\.\s*compareTo\(\s*(?:quantity|semver)\(\s*{_TEXT}\s*\)\s*\)"
    r"\s*(?P<sign>==|!=|>=|<=|>|<)\s*0"
)
_ASKED: Final = re.compile(
    rf"{_NAME}\s*\.\s*is(?P<sign>Greater|Less)Than\(\s*(?:quantity|semver)\(\s*{_TEXT}\s*\)\s*\)"
)
_EQUAL: Final = re.compile(
    rf"{_NAME}\s*(?P<sign>==|!=|>=|<=|>|<)\s*(?:{_TEXT}|(?P<bare>-?\d+|true|false))"
)
_IS_TRUE: Final = re.compile(rf"(?P<no>!?)\s*{_NAME}")
_SAID_BY_THE_CLASS: Final = re.compile(
    rf"device\s*\.\s*driver\s*==\s*(?:'[^']*'|\"[^\"]*\")|has\(\s*{_NAME}\s*\)"
)
_PARTS: Final = re.compile(r"'[^']*'|\"[^\"]*\"|&&|\|\||[()\[\]]|.", re.DOTALL)
_SIGNS: Final = {"==": "=", "Greater": ">", "Less": "<"}


def in_words(selectors: Sequence[str]) -> str:
    """Return what selectors ask for in words, to put after a class name; "" without any."""
    said: list[str] = []
    for selector in selectors:
        for part in _joined_by_and(selector):
            if _SAID_BY_THE_CLASS.fullmatch(part):
                continue
            words = _in_words(part)
            if words is None:
                return MATCHING
            said.append(words)
    return f"with {' and '.join(said)}" if said else ""


def _in_words(part: str) -> str | None:
    for form in (_COMPARED, _ASKED, _EQUAL):
        if found := form.fullmatch(part):
            values = found.groupdict()
            value = next(
                each for each in map(values.get, ("single", "double", "bare")) if each is not None
            )
            return f"{found['name']} {_SIGNS.get(found['sign'], found['sign'])} {value}"
    if found := _IS_TRUE.fullmatch(part):
        return f"{found['name']} = {'false' if found['no'] else 'true'}"
    return None


def _joined_by_and(selector: str) -> Iterator[str]:
    """Yield the parts of a selector that must all hold."""
    depth, part = 0, ""
    for found in _PARTS.finditer(selector):
        piece = found[0]
        depth += (piece in "([") - (piece in ")]")
        if piece == "&&" and not depth:
            yield part.strip()
            part = ""
        else:
            part += piece
    yield part.strip()
