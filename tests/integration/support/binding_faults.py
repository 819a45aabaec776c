"""What befalls bindings, and what comes of them."""

import asyncio
from collections.abc import Callable

from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply.outcomes import Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault, Script
from support.binder_harness import BinderHarness

MEMBERS = 4
LOST_ANSWER = ApiError(0, "TimeoutError")
SERVER_ERROR = ApiError(500, "etcd has no leader")
REFUSED = ApiError(422, "the binding is invalid")
DENIED = ApiError(403, "pods/binding is forbidden")
UNREADABLE = ApiError(503, "the API server is down")


def at(victim: str, strike: Callable[[Call], Fault | None]) -> Script:
    """Return a script that befalls the first binding of one pod."""
    struck: list[Call] = []

    def script(call: Call) -> Fault | None:
        if call.method != "bind" or call.name != victim or struck:
            return None
        struck.append(call)
        return strike(call)

    return script


def bindings_of(harness: BinderHarness, name: str) -> int:
    """Count the requests to bind a pod."""
    return sum(call.method == "bind" and call.name == name for call in harness.api.calls)


def now() -> float:
    """Return the event loop's time."""
    return asyncio.get_running_loop().time()


async def bound_under(harness: BinderHarness, script: Script) -> dict[str, Outcome]:
    """Bind a gang with a script at work; return the outcomes by name, when all is quiet."""
    harness.gang("a", MEMBERS)
    await harness.quiet()
    harness.api.scripts = [script]
    harness.cycle()
    await harness.quiet()
    (binding,) = harness.finished
    assert binding.done
    by_uid = {bind.pod.uid: bind.pod.name for bind in binding.placed.binds}
    return {by_uid[uid]: outcome for uid, outcome in binding.outcomes.items()}


def bind_first(harness: BinderHarness, call: Call, node: str) -> None:
    """Bind the pod a moment before."""
    with harness.cluster.changing(PODS, call.namespace, call.name) as found:
        found["spec"]["nodeName"] = node
