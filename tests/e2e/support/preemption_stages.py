"""The stages of a preemption, as a proxy before the API server tells them apart."""

from collections import Counter

from e2e.support.fault_proxy import HOLD, PASS, Choose, Fault

PATCHES = {
    b'"nominatedNodeName":"': "nominate",
    b'"py-gang-scheduler.io/checkpoint-requested-at":"': "ask",
    b'"DisruptionTarget"': "mark",
}


def stage_of(method: str, path: str, body: bytes) -> str:
    """Return which stage of a preemption a request is of."""
    if "/pods/" not in path:
        return ""
    if method == "PATCH":
        return next((stage for word, stage in PATCHES.items() if word in body), "")
    return "evict" if method == "DELETE" else "bind" if path.endswith("/binding") else ""


def after(done: int, stage: str) -> Choose:
    """Hold all writes of a stage but the first ones."""
    passed = Counter[str]()

    def choose(_: int, name: str) -> Fault | None:
        passed[name] += 1
        return HOLD if name == stage and passed[name] > done else PASS

    return choose
