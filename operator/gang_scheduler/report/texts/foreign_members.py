"""Members that another scheduler is to place: whose they are, and which names are ours."""

from collections import Counter
from collections.abc import Collection, Iterable

from gang_scheduler.model.pods import Pod


def foreign_members(pods: Iterable[Pod], schedulers: Collection[str]) -> str:
    """Return how many members have which schedulerName, and which are ours."""
    counts = Counter(pod.scheduler or "none" for pod in pods)
    have = ((n, name, "has" if n == 1 else "have") for name, n in counts.items())
    said = [f"{n} of its pods {has} schedulerName {name}" for n, name, has in have]
    return f"{' and '.join(said)}; {ours(schedulers)}"


def ours(schedulers: Collection[str]) -> str:
    """Return the schedulerNames that are ours."""
    are = "is" if len(schedulers) == 1 else "are"
    return f"ours {are} {' and '.join(sorted(schedulers))}"
