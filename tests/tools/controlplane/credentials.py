"""Keys, tokens and kubeconfig files."""

import base64
import os
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tools.controlplane import access, errors

CLUSTER = "py-gang-scheduler-local"


def new_token() -> str:
    """Return a new secret for the administrator."""
    return secrets.token_urlsafe(32)


def write_token_file(path: Path, token: str) -> None:
    """Write the API server's list of tokens: one administrator."""
    write_private(path, f'{token},admin,admin,"system:masters"\n')


def write_signing_key(path: Path) -> None:
    """Make the RSA key that signs ServiceAccount tokens."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise errors.ControlPlaneError("openssl is not on PATH; it makes the signing key")
    write_private(path, "")
    command = [openssl, "genrsa", "-out", str(path), "2048"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise errors.ControlPlaneError(f"openssl cannot make a key:\n{done.stderr}")


def write_kubeconfig(path: Path, admin: access.Access) -> None:
    """Write a kubeconfig that needs no other file, readable by its owner alone."""
    authority = base64.b64encode(admin.ca_file.read_bytes()).decode() if admin.ca_file else ""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CLUSTER,
                "cluster": {"server": admin.url, "certificate-authority-data": authority},
            }
        ],
        "users": [{"name": "admin", "user": {"token": admin.token}}],
        "contexts": [{"name": CLUSTER, "context": {"cluster": CLUSTER, "user": "admin"}}],
        "current-context": CLUSTER,
    }
    write_private(path, yaml.safe_dump(document))


def read_kubeconfig(kubeconfig: Path, directory: Path) -> access.Access:
    """Return the access of the current context; data it holds inline goes to files in directory."""
    document: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())
    context = _named(document, "context", document["current-context"])
    cluster = _named(document, "cluster", context["cluster"])
    user = _named(document, "user", context["user"])
    if "exec" in user or "auth-provider" in user:
        raise errors.ControlPlaneError(
            f"{kubeconfig} gets its credentials from a program; tests need a token or certificate"
        )

    def file(section: dict[str, Any], key: str) -> Path | None:
        return _file_of(section, key, kubeconfig.parent, directory)

    return access.Access(
        url=cluster["server"],
        ca_file=file(cluster, "certificate-authority"),
        token=user.get("token"),
        certificate_file=file(user, "client-certificate"),
        key_file=file(user, "client-key"),
    )


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _named(document: dict[str, Any], kind: str, name: str) -> dict[str, Any]:
    entries = {entry["name"]: entry[kind] for entry in document[f"{kind}s"]}
    found: dict[str, Any] = entries[name]
    return found


def _file_of(section: dict[str, Any], key: str, base: Path, directory: Path) -> Path | None:
    if f"{key}-data" in section:
        path = directory / key
        write_private(path, base64.b64decode(section[f"{key}-data"]).decode())
        return path
    # A relative path counts from the kubeconfig, as in kubectl.
    return base / section[key] if key in section else None
