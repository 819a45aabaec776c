"""How nodes are asked for, as users and queues declare it."""

from dataclasses import dataclass
from typing import Final, NamedTuple


class Retry(NamedTuple):
    """How often, and after how many seconds, is asked again once a request came to nothing.

    After the n-th one it takes `base_seconds` x 2^(n-1), at most `most_seconds`.
    """

    times: int = 3
    base_seconds: int = 60
    most_seconds: int = 1800

    def pause(self, attempt: int) -> int:
        """Return how many seconds after that attempt came to nothing the next one is made."""
        doubled = self.base_seconds << min(attempt - 1, self.most_seconds.bit_length())
        return min(doubled, self.most_seconds)


DEFAULT_RETRY: Final = Retry()


@dataclass(frozen=True, slots=True)
class ProvisioningRules:
    """How nodes are asked for: the class, and its parameters.

    Only members that ask for one of the `managed` resources are asked for, all if there is none.
    No `retry`: that of the settings.
    """

    class_name: str
    parameters: tuple[tuple[str, str], ...] = ()
    managed: tuple[str, ...] = ()
    retry: Retry | None = None
