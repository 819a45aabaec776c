"""How amounts of resources are written for people."""

from typing import Final

from gang_scheduler.model import resources

UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def amount(resource: str, number: int) -> str:
    """Return an amount, given in the unit of its resource."""
    if resource == resources.CPU:
        return f"{number / 1000:.12g}"
    if resource == resources.MEMORY:
        return _bytes(number)
    return str(number)


def _bytes(number: int) -> str:
    """Return bytes in the largest binary unit that gives at least 1."""
    unit = max(0, (abs(number).bit_length() - 1) // 10)
    return f"{number / 1024**unit:.4g}{UNITS[unit]}"
