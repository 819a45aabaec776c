"""The only module that imports kubernetes_asyncio, for its loader of configurations.

The library has 800 modules of models. With aiohttp, importing it takes longer than reading a small
cluster. The loader needs neither, except for users that renew a token by OpenID.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

_LIBRARY: Final = "kubernetes_asyncio"
_CLIENT: Final = f"{_LIBRARY}.client"
_OPEN_ID: Final = f"{_LIBRARY}.config.openid"


@contextmanager
def _without_models() -> Iterator[None]:
    """Within the block, let the library import only the modules that are named."""
    spec = importlib.util.find_spec(_LIBRARY)
    if _LIBRARY in sys.modules or spec is None or not spec.submodule_search_locations:
        yield
        return
    (place,) = spec.submodule_search_locations
    library, client = ModuleType(_LIBRARY), ModuleType(_CLIENT)
    library.__path__, client.__path__ = [place], [f"{place}/client"]
    requests = ModuleType(_OPEN_ID)
    requests.__dict__["OpenIDRequestor"] = _open_id
    stand_ins = {_LIBRARY: library, _CLIENT: client, _OPEN_ID: requests}
    sys.modules |= stand_ins
    try:
        configuration = importlib.import_module(f"{_CLIENT}.configuration")
        # The loader mentions both, but creates only a Configuration.
        client.__dict__.update(Configuration=configuration.Configuration, ApiClient=None)
        yield
    finally:
        # Other code that imports the library gets all of it.
        for name in stand_ins:
            del sys.modules[name]


def _open_id(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - the library's.
    """Return the function that renews a token. It needs aiohttp; few users have such tokens."""
    return importlib.import_module(_OPEN_ID).OpenIDRequestor(*given, **named)


with _without_models():
    from kubernetes_asyncio.client.configuration import Configuration
    from kubernetes_asyncio.config.config_exception import ConfigException
    from kubernetes_asyncio.config.incluster_config import load_incluster_config
    from kubernetes_asyncio.config.kube_config import load_kube_config

__all__ = ["ConfigException", "Configuration", "load_incluster_config", "load_kube_config"]
