"""The loader of configurations comes without the models of the library, and leaves no trace."""

import subprocess
import sys

import pytest

ALONE = """
import sys
from gang_scheduler.client import kubeconfigs
assert not {"kubernetes_asyncio", "kubernetes_asyncio.client", "aiohttp"} & {*sys.modules}
assert kubeconfigs.Configuration().verify_ssl
"""
THEN_THE_LIBRARY = """
from gang_scheduler.client import kubeconfigs
import kubernetes_asyncio
from kubernetes_asyncio.client import Configuration, CoreV1Api
from kubernetes_asyncio.config import ConfigException
assert Configuration is kubeconfigs.Configuration and ConfigException is kubeconfigs.ConfigException
assert CoreV1Api
"""
THE_LIBRARY_FIRST = """
from kubernetes_asyncio.client import Configuration
from gang_scheduler.client import kubeconfigs
assert Configuration is kubeconfigs.Configuration
"""
RENEWED_BY_OPEN_ID = """
import sys
from gang_scheduler.client import kubeconfigs
ask = sys.modules["kubernetes_asyncio.config.kube_config"].OpenIDRequestor
made = ask("id", "secret", "https://issuer.example", "/ca.pem")
assert type(made).__module__ == "kubernetes_asyncio.config.openid" and "aiohttp" in sys.modules
"""

PROGRAMS = (ALONE, THEN_THE_LIBRARY, THE_LIBRARY_FIRST, RENEWED_BY_OPEN_ID)


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_is_the_library_of_which_only_the_loader_is_there(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True)
