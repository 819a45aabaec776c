"""The stages of a preemption, as a proxy before the API server tells them apart."""

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
