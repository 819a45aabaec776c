"""Quantities and request vectors: integers in milli-CPU, bytes and counts.

The grammar and the rounding (always up) follow apimachinery's `resource.Quantity`.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from gang_scheduler.model import records

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
HUGE_PAGES = "hugepages-"
PODS = "pods"

Amounts = Mapping[str, int]
"""Amounts by the name of a resource: `cpu` in milli-CPU, others in bytes or as a count."""

ENORMOUS = 2**50
"""The largest amount counted: more than any node has, and sums of such amounts fit 64 bits."""

MOST_QUOTA = 2**56
"""The largest amount of a quota that counts. Enormous requests are charged this amount."""

LONGEST = 256
"""A quantity has at most this many characters: the API server writes even fewer."""
_MOST = 2**63 - 1
"""The largest number in a quantity: apimachinery caps larger ones."""
_MOST_ZEROS = 2 * LONGEST
"""With a larger exponent, the digits do not matter: no text has enough of them."""
_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_BINARY = {suffix: 1024 ** (i + 1) for i, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
_DECIMAL: dict[str, int | Fraction] = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "P": 10**15,
    "E": 10**18,
}
_MILLI_SUFFIXES = ("m", "", "k", "M", "G", "T", "P", "E")


@records.by_short_texts(4096)
def parse_quantity(text: str | float, scale: int = 1) -> int:
    """Return `text` times `scale` as an integer, rounded up.

    As in apimachinery, a number above 2^63-1 is capped, and so is the product with `scale`. Raises
    ValueError for a text that is no Kubernetes quantity.
    """
    written = "" if isinstance(text, bool) else str(text)
    match = _QUANTITY.fullmatch(written) if len(written) <= LONGEST else None
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    amount = Fraction(match["number"])
    if match["binary"]:
        amount *= _BINARY[match["binary"]]
    elif match["decimal"]:
        amount *= _DECIMAL[match["decimal"]]
    elif match["exponent"]:
        zeros = max(-_MOST_ZEROS, min(int(match["exponent"]), _MOST_ZEROS))
        amount *= Fraction(10) ** zeros
    amount = max(Fraction(-_MOST), min(amount, Fraction(_MOST))) * scale
    rounded = -(-amount.numerator // amount.denominator)
    return max(-_MOST, min(rounded, _MOST))


DEVICE_CLASS: Final = "deviceclass/"
"""A prefix: `deviceclass/NAME` is the resource by which queues count devices of claims."""


def of_sources(device_class: str) -> str:
    """Return the resource by which queues count a DeviceClass that is mapped to sources.

    Its name is that of a capacity with an empty name.
    """
    return f".{DEVICE_CLASS}{device_class}"


def is_device_capacity(resource: str) -> bool:
    """Return whether a resource is a capacity of the devices of a DeviceClass."""
    return f".{DEVICE_CLASS}" in resource


def amount_of(resource: str, text: str | float) -> int:
    """Return a quantity in the unit of its resource: milli for `cpu`, else one."""
    return parse_quantity(text, 1000 if resource == CPU else 1)


def exact_amount_of(resource: str, text: str | float) -> Fraction:
    """Return a quantity in the unit of its resource, to the thousandth of a unit."""
    return Fraction(parse_quantity(text, 1000), 1 if resource == CPU else 1000)


def quantity_of(resource: str, amount: int | Fraction) -> str:
    """Return an amount as Kubernetes writes it: exactly, with the largest suffix that keeps it.

    A part of a byte, or of a thousandth of another unit, is left out.
    """
    if _is_in_bytes(resource):
        return _suffixed(math.floor(amount), 1024, ("", *_BINARY))
    milli = math.floor(amount if resource == CPU else amount * 1000)
    return _suffixed(milli, 1000, _MILLI_SUFFIXES)


def _is_in_bytes(resource: str) -> bool:
    return resource in (MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGE_PAGES)


def _suffixed(amount: int, base: int, suffixes: Sequence[str]) -> str:
    place = 0
    while amount and amount % base == 0 and place + 1 < len(suffixes):
        amount //= base
        place += 1
    return f"{amount}{suffixes[place]}" if amount else "0"


def quantity(resource: str, amount: int | Fraction) -> str:
    """Return an amount for people, given in the unit of its resource; bytes have four digits.

    A part of a unit is shown in thousandths.
    """
    if resource == CPU:
        return f"{math.floor(amount) / 1000:.12g}"
    if not _is_in_bytes(resource):
        whole = amount.denominator == 1
        return str(amount) if whole else f"{math.floor(amount * 1000) / 1000:.12g}"
    amount = math.floor(amount)
    # The largest binary unit that gives at least 1.
    unit = max(0, (abs(amount).bit_length() - 1) // 10)
    return f"{amount / 1024**unit:.4g}{('', *_BINARY)[unit]}"


def add(left: Amounts, right: Amounts) -> dict[str, int]:
    """Return the sum, resource by resource."""
    if not (left and right):
        return dict(left or right)
    return {key: left.get(key, 0) + right.get(key, 0) for key in (*left, *right)}


def maximum(left: Amounts, right: Amounts) -> dict[str, int]:
    """Return the larger of both, resource by resource; an absent resource counts as 0."""
    if not (left and right):
        return dict(left or right)
    return {key: max(left.get(key, 0), right.get(key, 0)) for key in (*left, *right)}


def total(amounts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of all amounts, resource by resource."""
    result: dict[str, int] = {}
    for each in amounts:
        result = add(result, each)
    return result


# The amounts that a quota is charged for the requests of a pod. Room on nodes is always computed
# from the requests themselves.

Requests = tuple[tuple[str, int], ...]
_UNITS: Final = {CPU: 1000}
"""How many of our units, such as milli-CPU, are one whole unit of a resource; 1 if absent."""


class Transformation(NamedTuple):
    """How one unit of a resource counts: an amount of each output for each requested unit.

    `replaces`: the resource itself is not charged. If `multiply_by` is requested, too, the resource
    counts that many times.
    """

    outputs: tuple[tuple[str, Fraction | int], ...]
    replaces: bool = False
    multiply_by: str = ""


@dataclass(frozen=True, slots=True)
class RequestRules:
    """The settings about requests: transformations by resource, and resources that are left out."""

    transformations: Mapping[str, Transformation]
    excluded_prefixes: tuple[str, ...] = ()

    def charged(self, requests: Requests) -> dict[str, int]:
        """Return the charge for requests by resource, without zeros.

        As in Kueue, excluded resources are dropped before the transformations, so none is turned
        into another resource. Fractions of a unit are rounded up.
        """
        charged: dict[str, int] = {}
        # Enormous requests were cut off. They must fill the largest quota.
        counted = {
            resource: amount if amount < ENORMOUS else MOST_QUOTA
            for resource, amount in requests
            if not resource.startswith(self.excluded_prefixes)
        }
        for resource, requested in counted.items():
            rule = self.transformations.get(resource)
            times = _whole(rule.multiply_by, counted) if rule is not None else 1
            amount = requested * times
            if rule is None or not rule.replaces:
                charged[resource] = charged.get(resource, 0) + amount
            for output, factor in rule.outputs if rule is not None else ():
                more = -(-amount * factor // _UNITS.get(resource, 1))
                charged[output] = charged.get(output, 0) + more
        return {resource: amount for resource, amount in charged.items() if amount}


def _whole(resource: str, requests: Mapping[str, int]) -> int:
    """Return the number of requested whole units, rounded up; 1 if there is no request."""
    amount = requests.get(resource)
    return 1 if amount is None else -(-amount // _UNITS.get(resource, 1))


NO_RULES: Final = RequestRules({})
