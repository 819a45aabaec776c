"""A file is compared with the cluster that it was made of by what is decided."""

import json
from pathlib import Path

from gang_scheduler.inspection.snapshots import taking
from gang_scheduler.settings.policy import Policy
from support.api_objects import node_body, pod_body


def test_what_is_decided_otherwise_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(f"{json.dumps(node_body('n1'))}\n{json.dumps(pod_body('p'))}\n")
    snapshot = taking.of_files([str(path)], Policy())
    content = b"".join(snapshot.content())

    told = [*taking.differences("f", content.replace(b'"n1"', b'"n2"'), snapshot.cluster)]

    first = "f: placed differ from those of the cluster: ('Pod default/p', (('uid-p', 'n2'),)) "
    assert [f"{first}instead of ('Pod default/p', (('uid-p', 'n1'),))"] == told


def test_names_may_be_others_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(f"{json.dumps(node_body('n1'))}\n{json.dumps(pod_body('p'))}\n")
    snapshot = taking.of_files([str(path)], Policy())
    content = b"".join(snapshot.content()).replace(b'"n1"', b'"n2"')

    told = taking.differences(
        "f", content, snapshot.cluster, lambda name: "n2" if name == "n1" else name
    )

    assert [] == [*told]
