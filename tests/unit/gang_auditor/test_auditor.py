"""The metric of findings, as Prometheus reads it."""

import urllib.request

import pytest

from gang_auditor import auditor
from tools.controlplane import components


def test_each_rule_has_a_count_from_the_start() -> None:
    port = components.free_port()
    auditor.FINDINGS.clear()
    auditor.serve_metrics(port, ["capacity", "ports"])
    auditor.FINDINGS.labels("ports").inc()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()

    assert 'pgs_audit_findings_total{rule="capacity"} 0.0' in lines
    assert 'pgs_audit_findings_total{rule="ports"} 1.0' in lines
    with pytest.raises(auditor.CannotListenError, match=f"cannot listen on port {port}: "):
        auditor.serve_metrics(port, [])
