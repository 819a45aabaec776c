"""Every Job that is shown to readers survives the eviction of its pods.

Otherwise an evicted pod counts as one that failed, and a Job with more pods than its `backoffLimit`
ends as failed with the first preemption of its gang.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import yaml_texts

PROJECT = Path(__file__).parents[2]
PAGES = sorted(
    [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), *PROJECT.glob("examples/*/*.md")]
)
BLOCK = re.compile(r"(?:^ {4}.*\n|^\n(?= {4}))+", re.MULTILINE)
HERE = re.compile(r"^(?:.* <<'EOF'|EOF)$", re.MULTILINE)
"""The lines around manifests that a command is given."""
IGNORED = {
    "action": "Ignore",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}

ENDED_WITH_OTHERS = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [143]}}

JobSpec = dict[str, Any]


def shown() -> Iterator[tuple[str, JobSpec]]:
    """Yield every Job of the examples and of all pages: its name, and its spec."""
    for path in sorted(PROJECT.glob("examples/*/*.yaml")):
        yield from jobs_in(path, path.read_text())
    for path in PAGES:
        for block in BLOCK.findall(path.read_text()):
            if re.search(r"^ {4}kind: Job", block, re.MULTILINE):
                yield from jobs_in(path, HERE.sub("", textwrap.dedent(block)))


def jobs_in(path: Path, text: str) -> Iterator[tuple[str, JobSpec]]:
    """Yield the Jobs of a text of manifests, those that a JobSet would create among them."""
    for document in yaml_texts.read_all(text):
        name = f"{path.relative_to(PROJECT)}: {document['metadata']['name']}"
        # What waits suspended is suspended again instead of losing its pods. Volcano has Jobs, too.
        is_job = (document["apiVersion"], document["kind"]) == ("batch/v1", "Job")
        if is_job and not document["spec"].get("suspend"):
            yield name, document["spec"]
        if document["kind"] == "JobSet":
            for each in document["spec"]["replicatedJobs"]:
                yield f"{name}/{each['name']}", each["template"]["spec"]


JOBS = dict(shown())


@pytest.mark.parametrize("name", JOBS)
def test_evicted_pods_do_not_count_as_failed(name: str) -> None:
    assert IGNORED in JOBS[name].get("podFailurePolicy", {}).get("rules", [])


@pytest.mark.parametrize("name", JOBS)
def test_ranks_that_end_with_the_evicted_one_do_not_count_as_failed(name: str) -> None:
    rules = JOBS[name].get("podFailurePolicy", {}).get("rules", [])

    assert IGNORED in rules[: rules.index(ENDED_WITH_OTHERS)]


@pytest.mark.parametrize("name", JOBS)
def test_its_pods_come_again_at_once(name: str) -> None:
    spec = JOBS[name]

    assert "Indexed" == spec["completionMode"]
    assert spec["backoffLimitPerIndex"] in (0, 1)


@pytest.mark.parametrize("name", JOBS)
def test_the_api_server_takes_its_pod_failure_policy(name: str) -> None:
    # With any other restart policy a podFailurePolicy is refused.
    assert "Never" == JOBS[name]["template"]["spec"]["restartPolicy"]


def test_the_jobs_of_examples_and_pages_are_found() -> None:
    assert {"README.md: hello", "examples/08-jobset/jobset.yaml: finetune/rollout"} <= JOBS.keys()
