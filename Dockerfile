# syntax=docker/dockerfile:1
# The image of the scheduler. Not built on CI yet: build it and try `run --help` before a release.

# The version that the tests run on. A tag can change under its name, and no registry can be asked
# where this file is tested: build a release with the digest that you looked at, as docs/security.md says.
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv /opt/venv

# Dependencies first, they change less often than the code. Hashes: what is installed is what was
# locked and tested.
COPY requirements.lock requirements-build.lock ./
RUN /opt/venv/bin/pip install --require-hashes -r requirements.lock \
    && python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r requirements-build.lock

COPY pyproject.toml README.md LICENSE NOTICE ./
COPY operator operator
# Without isolation, which would download a backend that no hash is known of.
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/venv/bin/pip install --no-deps --no-index /wheels/*.whl \
    && /opt/venv/bin/py-gang-scheduler --help > /dev/null \
    # pip has no work left to do in a container that cannot be written to.
    && /opt/venv/bin/python -m pip uninstall --yes pip setuptools

FROM ${PYTHON_IMAGE}
COPY --from=build /opt/venv /opt/venv
COPY LICENSE NOTICE /usr/share/doc/py-gang-scheduler/
# The root file system may be read-only: bytecode was compiled above, only /tmp is written to.
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["py-gang-scheduler"]
