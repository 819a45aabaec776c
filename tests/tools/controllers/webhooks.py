"""The way from the API server to the webhooks of a process on this machine, by address."""

import base64
import http.client
import shutil
import ssl
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.controllers.table import Site
from tools.controlplane import credentials, errors

TIMEOUT_SECONDS = 5.0
NAMES = (
    "IP:127.0.0.1",
    # Where a controller looks whether the certificate of its Secret is for its Service and its CA.
    "DNS:training-operator.kubeflow.svc",
    "DNS:training-operator-ca",
)
Manifest = dict[str, Any]


def write_certificate(directory: Path) -> None:
    """Make tls.key, and tls.crt, which vouches for itself."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise errors.ControlPlaneError("openssl is not on PATH; it makes certificates of webhooks")
    directory.mkdir(parents=True, exist_ok=True)
    key = directory / "tls.key"
    credentials.write_private(key, "")
    # In the one format in which a controller reads the key of its CA.
    _run([openssl, "genrsa", "-traditional", "-out", str(key), "2048"])
    command = [openssl, "req", "-x509", "-new", "-days", "3650", "-subj", "/CN=webhooks"]
    command += ["-addext", f"subjectAltName={','.join(NAMES)}"]
    _run([*command, "-key", str(key), "-out", str(directory / "tls.crt")])


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise errors.ControlPlaneError(f"openssl cannot make a certificate:\n{done.stderr}")


def secret(name: str, directory: Path) -> Manifest:
    """Return the Secret of a controller that wants its certificate from one, and its CA."""
    data = {
        f"{part}.{end}": base64.b64encode((directory / f"tls.{end}").read_bytes()).decode()
        for part in ("ca", "tls")
        for end in ("crt", "key")
    }
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def by_address(configuration: Manifest, site: Site) -> Manifest:
    """Return a webhook configuration that leads to a port of this machine, not to a Service."""
    authority = base64.b64encode((site.certificates / "tls.crt").read_bytes()).decode()

    def addressed(hook: Manifest) -> Manifest:
        url = f"https://127.0.0.1:{site.webhook_port}{path(hook)}"
        return {**hook, "clientConfig": {"url": url, "caBundle": authority}}

    return {**configuration, "webhooks": [addressed(each) for each in configuration["webhooks"]]}


def path(hook: Manifest) -> str:
    """Return the path of a webhook as its controller's module has it."""
    found: str = hook["clientConfig"]["service"]["path"]
    return found


def all_answer(paths: Iterable[str], site: Site) -> bool:
    """Say whether every webhook is served: some controllers add them one by one."""
    return all(_answers(each, site) for each in paths)


def _answers(path: str, site: Site) -> bool:
    tls = ssl.create_default_context(cafile=site.certificates / "tls.crt")
    connection = http.client.HTTPSConnection(
        "127.0.0.1", site.webhook_port, timeout=TIMEOUT_SECONDS, context=tls
    )
    try:
        connection.request("POST", path, body="{}", headers={"Content-Type": "application/json"})
        return connection.getresponse().status != 404
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
