"""What the Api port promises of patches of any object, of the fake and of a real API server."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import JOBS
from gang_scheduler.client.errors import ApiError, Kind
from integration.support.contract_objects import UNSERVED
from integration.support.contract_servers import EmbeddedServer, Server

TOLERATIONS = [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]


async def job(server: Server, **metadata: Any) -> dict[str, Any]:
    """Create a suspended Job."""
    container = {"name": "c", "image": "example.com/none"}
    spec = {
        "restartPolicy": "Never",
        "containers": [container],
        "nodeSelector": {"own": "kept"},
        "tolerations": [{"key": "own", "operator": "Exists"}],
    }
    return await server.create(
        JOBS,
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": server.namespace, **metadata},
            "spec": {"suspend": True, "template": {"spec": spec}},
        },
    )


async def patched(server: Server, patch: dict[str, Any]) -> dict[str, Any]:
    """Patch the Job and return the answer."""
    return dict(await server.api.patch(JOBS, server.namespace, "train", patch))


async def test_a_patch_merges_maps_and_replaces_lists_and_values(server: Server) -> None:
    await job(server, annotations={"example.com/own": "kept", "example.com/old": "goes"})
    template = {"nodeSelector": {"pool": "spot"}, "tolerations": TOLERATIONS}
    annotations = {"example.com/new": "comes", "example.com/old": None}

    await patched(
        server,
        {
            "metadata": {"annotations": annotations},
            "spec": {"suspend": False, "template": {"spec": template}},
        },
    )

    found = await server.get(JOBS, "train")
    assert {"example.com/own": "kept", "example.com/new": "comes"} == found["metadata"][
        "annotations"
    ]
    assert found["spec"]["suspend"] is False
    pod = found["spec"]["template"]["spec"]
    assert {"own": "kept", "pool": "spot"} == pod["nodeSelector"]
    assert TOLERATIONS == pod["tolerations"]


async def test_the_answer_is_the_object_after_the_patch(server: Server) -> None:
    before = (await job(server))["metadata"]

    answer = await patched(server, {"spec": {"suspend": False}})

    assert answer["spec"]["suspend"] is False
    assert answer == await server.get(JOBS, "train")
    assert before["resourceVersion"] != answer["metadata"]["resourceVersion"]
    assert before["generation"] + 1 == answer["metadata"]["generation"]


async def test_a_patch_of_metadata_alone_is_no_new_generation(server: Server) -> None:
    before = (await job(server))["metadata"]

    answer = await patched(server, {"metadata": {"annotations": {"example.com/a": "b"}}})

    assert before["generation"] == answer["metadata"]["generation"]


async def test_a_patch_for_this_version_is_written_and_the_same_again_conflicts(
    server: Server,
) -> None:
    made = (await job(server))["metadata"]
    metadata = {"uid": made["uid"], "resourceVersion": made["resourceVersion"]}

    await patched(server, {"metadata": metadata, "spec": {"suspend": False}})
    with pytest.raises(ApiError) as refused:
        await patched(server, {"metadata": metadata, "spec": {"suspend": True}})

    assert Kind.CONFLICT is refused.value.kind
    assert (await server.get(JOBS, "train"))["spec"]["suspend"] is False


async def test_a_patch_for_another_object_of_the_same_name_is_refused(server: Server) -> None:
    await job(server)

    with pytest.raises(ApiError) as refused:
        await patched(server, {"metadata": {"uid": "former"}, "spec": {"suspend": False}})

    # To the API server this is an attempt to change an immutable field.
    assert 422 == refused.value.status
    assert (await server.get(JOBS, "train"))["spec"]["suspend"] is True


async def test_a_former_object_of_the_same_name_is_a_conflict_by_its_version(
    server: Server,
) -> None:
    await job(server)

    with pytest.raises(ApiError) as refused:
        await patched(
            server,
            {"metadata": {"uid": "former", "resourceVersion": "9"}, "spec": {"suspend": False}},
        )

    assert Kind.CONFLICT is refused.value.kind


@pytest.mark.parametrize("gvr", [JOBS, UNSERVED])
async def test_a_patch_of_what_is_not_there_is_gone(server: Server, gvr: Any) -> None:
    with pytest.raises(ApiError) as gone:
        await server.api.patch(gvr, server.namespace, "train", {"spec": {"suspend": False}})

    assert Kind.GONE is gone.value.kind


async def test_an_object_names_the_manager_of_a_patch(server: Server) -> None:
    if isinstance(server, EmbeddedServer):
        pytest.skip("the embedded server keeps no managedFields")
    await job(server)
    patch = {"metadata": {"annotations": {"example.com/new": "comes"}}}

    await server.api.patch(JOBS, server.namespace, "train", patch, manager="example-manager")

    notes = (await server.get(JOBS, "train"))["metadata"]["managedFields"]
    assert "example-manager" in {each["manager"] for each in notes}
