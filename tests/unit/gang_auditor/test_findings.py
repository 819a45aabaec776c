"""The metric of findings, as Prometheus reads it."""

import urllib.request

import pytest

from gang_auditor import findings
from tools.controlplane import components


def test_each_rule_has_a_count_from_the_start() -> None:
    port = components.free_port()
    findings.FINDINGS.clear()
    findings.serve_metrics(port, ["capacity", "ports"])
    findings.FINDINGS.labels("ports").inc()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()

    assert 'pgs_audit_findings_total{rule="capacity"} 0.0' in lines
    assert 'pgs_audit_findings_total{rule="ports"} 1.0' in lines
    with pytest.raises(findings.CannotListenError, match=f"cannot listen on port {port}: "):
        findings.serve_metrics(port, [])
