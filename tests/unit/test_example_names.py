"""The processes of the examples find each other: each name in a command is that of a pod there."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.simulation import documents, objects
from support import yaml_texts

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(each for each in (ROOT / "examples").iterdir() if each.name[:2].isdigit())
ADDRESS = re.compile(r"=(?P<name>[a-z][-a-z0-9.]*)(?::\d{4,5}$|$)")
"""What an argument is that leads to another pod: a name in a domain, or one with a port."""
INDEX = "batch.kubernetes.io/job-completion-index"
JOB_SET = "jobset.sigs.k8s.io/jobset-name"
PYTORCH = "training.kubeflow.org/job-name"
Body = dict[str, Any]


def read(directory: Path) -> tuple[list[Body], list[Body]]:
    """Return the Services of an example, and its pods with those that controllers make."""
    given = [
        each.body
        for each in documents.read([str(directory)])
        if isinstance(each, documents.Document)
    ]
    found = objects.load(documents.read([str(directory)]), "ours", strict=True)
    pods = [dict(each.body) for each in found.loaded if each.gvr == PODS and each.body]
    return [dict(each) for each in given if each["kind"] == "Service"], pods


def names_of(pod: Body, services: list[Body]) -> set[str]:
    """Return the names under which DNS has the address of a pod that is not ready."""
    spec, labels = pod["spec"], pod["metadata"].get("labels", {})
    present = {**labels, **pod["metadata"].get("annotations", {})}
    host = spec.get("hostname", pod["metadata"]["name"] if INDEX in present else "")
    known = {JOB_SET: labels.get(JOB_SET, "")}  # The controller makes a Service of this name.
    domains = set(filter(None, known.values()))
    found = set()
    for each in services:
        chosen = each["spec"]
        if chosen["selector"].items() <= labels.items() and chosen["publishNotReadyAddresses"]:
            found.add(each["metadata"]["name"])
            if chosen["clusterIP"] == "None" and spec.get("subdomain") == each["metadata"]["name"]:
                domains.add(each["metadata"]["name"])
    return found | {f"{host}.{each}" for each in domains if host}


def arguments(pod: Body) -> Iterator[str]:
    """Yield the words that the containers of a pod are started with."""
    for each in pod["spec"]["containers"]:
        yield from (*each.get("command", ()), *each.get("args", ()))


def addresses(pod: Body) -> set[str]:
    """Return the names of other pods in the commands of a pod."""
    found = (ADDRESS.search(each) for each in arguments(pod))
    names = {each["name"] for each in found if each and (":" in each[0] or "." in each["name"])}
    return {each for each in names if not each.endswith(".py")}


@pytest.mark.parametrize("directory", EXAMPLES, ids=lambda each: each.name)
def test_each_name_in_a_command_is_that_of_a_pod(directory: Path) -> None:
    services, pods = read(directory)
    names = {name for each in pods for name in names_of(each, services)}

    assert set() == {name for each in pods for name in addresses(each)} - names


@pytest.mark.parametrize("directory", EXAMPLES, ids=lambda each: each.name)
def test_torchrun_gets_the_address_of_the_others(directory: Path) -> None:
    for pod in read(directory)[1]:
        words = [*arguments(pod)]
        if "torchrun" not in words or PYTORCH in pod["metadata"].get("labels", {}):
            continue  # The training operator tells it by the environment.
        alone = "--standalone" in words
        assert alone == ("--nnodes=1" in words)
        assert alone or any(each.startswith("--rdzv-endpoint=") for each in words)
        assert alone or "--rdzv-backend=c10d" in words


def test_a_name_without_a_pod_is_seen(tmp_path: Path) -> None:
    """Without its Service, its subdomain or its label the pod has no name."""
    text = (ROOT / "examples" / "01-gang" / "gang.yaml").read_text()
    for wrong in ("subdomain: llama-pretrain\n", "job-name: llama-pretrain\n", "clusterIP: None\n"):
        assert wrong in text
        changed = text.replace(wrong, wrong.split(":", maxsplit=1)[0] + ": other\n")
        (tmp_path / "gang.yaml").write_text(changed)
        services, pods = read(tmp_path)
        names = {name for each in pods for name in names_of(each, services)}
        assert addresses(pods[0]) - names


def test_the_job_of_the_page_for_slurm_is_found_by_its_name(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "from-slurm.md").read_text()
    blocks = re.findall(r"(?m)(?:^    .*\n|^\n)+", page)
    (block,) = (each for each in blocks if "kind: Job" in each)
    (tmp_path / "job.yaml").write_text(re.sub("(?m)^    ", "", block))
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1}
    (tmp_path / "high.yaml").write_text(yaml_texts.written({**high, "metadata": {"name": "high"}}))
    services, pods = read(tmp_path)

    assert 4 == len(pods)
    assert {"llama-0.llama"} == addresses(pods[0])
    assert addresses(pods[0]) <= names_of(pods[0], services)
