"""By which names containers ask for the devices of a class."""

import pytest

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import cluster

NAMED = "deviceclass.resource.kubernetes.io/gpu"


@pytest.mark.parametrize(
    ("spec", "resources"),
    [
        ({}, (NAMED,)),
        ({"extendedResourceName": ""}, (NAMED,)),
        ({"extendedResourceName": "nvidia.com/gpu"}, (NAMED, "nvidia.com/gpu")),
        ({"selectors": [{"cel": {"expression": "true"}}]}, (NAMED,)),
    ],
)
def test_which_resources_a_class_offers(spec: dict[str, object], resources: tuple[str]) -> None:
    found = cluster.read_device_class({"metadata": {"name": "gpu", "uid": "u"}, "spec": spec})

    assert ("u", "gpu", resources) == (found.uid, found.name, found.resources)


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(InvalidField):
        cluster.read_device_class({"metadata": {"name": "gpu", "uid": "u"}, "spec": 3})
