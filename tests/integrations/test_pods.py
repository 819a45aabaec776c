"""What pods look like that controllers make: what reading, and `simulate`, go by.

To see a kind anew: PYTHONPATH=tests python -m integrations.record KIND
"""

import pytest

from e2e.support import gang_manifests
from e2e.support.namespaces import Namespace
from integrations import looks
from integrations.kinds import Kind

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


@pytest.mark.usefixtures("controller")
def test_pods_and_pod_groups_look_as_the_table_has_them(kind: Kind, namespace: Namespace) -> None:
    namespace.own_nodes(1)

    gang_manifests.create(namespace, kind.manifest())

    assert looks.differences(kind.pods, looks.pods(namespace, len(kind.pods))) == []
    assert looks.differences(kind.pod_groups, looks.pod_groups(namespace)) == []
