"""Objects as they are decoded, in gangs of all kinds."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.model.pods import Pod
from gang_scheduler.workloads import table


def pod(body: Mapping[str, Any]) -> Pod:
    """Return the pod. Raises InvalidField that names the field and the value."""
    return pod_decode.pod(body, table.MEMBERSHIP)
