"""What every fault is: a name, a begin and an end."""

import abc
import random
from typing import ClassVar

from tools.chaos.site import Site

REPLICAS, PROXIES, SERVERS, RIGHTS, CLOCKS = "replicas", "proxies", "servers", "rights", "clocks"


class Fault(abc.ABC):
    """One fault, for a time drawn from `seconds`. Its seed decides what the class leaves open.

    Two faults that take the same are never at work at once, nor within `rest_seconds`; others may
    be. After the end `struck`
    says whether it has met anything, and `detail` what.
    """

    name: ClassVar[str]
    seconds: ClassVar[tuple[float, float]] = (0.0, 0.0)
    rest_seconds: ClassVar[float] = 0.0
    takes: ClassVar[frozenset[str]]
    weight: ClassVar[int] = 2

    def __init__(self, site: Site, seed: int) -> None:
        self.site = site
        self.dice = random.Random(seed)  # noqa: S311 - chaos keeps no secret.
        self.struck = True
        self.detail = ""

    @abc.abstractmethod
    def begin(self) -> None:
        """Let it loose."""

    def end(self) -> None:  # noqa: B027 - some are over when they have begun.
        """Put right what it has put wrong, as an operator of the cluster would."""
