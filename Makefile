# All that a developer does. The demo, the tests and lint need Python 3.11 or newer and nothing else;
# Go 1.26 or newer is for the first build of the local control plane. Everything else is installed
# into .venv and ~/.cache/py-gang-scheduler.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && echo $$python && break; done)
VENV_PYTHON := .venv/bin/python
WITH_TESTS := PYTHONPATH=tests $(VENV_PYTHON)
# What the package needs, and beside it what its tests need: replaced when a lock file is newer.
RUNNABLE := .venv/runnable
INSTALLED := .venv/installed
SETUP_LOG := build/setup.log
# Where the demo takes place: embedded, real, existing or kind.
CLUSTER ?= embedded
# What the local control plane consists of, in the order in which a build is fastest.
BINARIES := kube-apiserver kube-controller-manager kubectl etcd kwok
# Controllers of jobs that are tested beside it, in the order in which a build is fastest.
CONTROLLERS := mpi-operator jobset lws training-operator kuberay
# What `make bench` runs, where it writes the figures, and where `make report` draws them.
BENCH ?= whole
RESULTS ?= build/bench-$(BENCH).json
IMAGES ?= docs/images
# Unit tests that are skipped where there is no helm.
CHART_TESTS := tests/unit/test_chart_rendered.py tests/unit/test_chart_monitoring.py
CRD_DIRECTORIES := crds charts/py-gang-scheduler/files/crds
COMPILE_LOCK := pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	--python-version 3.11 --custom-compile-command "make lock" pyproject.toml
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Set in images of Python: then each of the hundreds of operators of the tests compiles the package.
export PYTHONDONTWRITEBYTECODE :=
# Which minor version of Kubernetes the local control plane is of: KUBERNETES=1.36; else the newest.
export CONTROLPLANE_KUBERNETES ?= $(KUBERNETES)

# $(call watched,doing what,command): while a command runs that says little, say so now and then: on
# a terminal in one line, which goes when the command ends. The watcher ends with the command, with
# Ctrl-C and, by kill -0, with a shell that was killed.
define watched
@(seconds=0; while sleep 2 > /dev/null 2>&1 && kill -0 $$$$ 2> /dev/null; do \
	seconds=$$((seconds + 2)); if [ -t 1 ]; then printf '\r    $(1): %d s ' "$$seconds"; \
	elif [ $$((seconds % 10)) = 0 ]; then echo "    still $(1): $$seconds s"; fi; done) & \
	trap "kill $$! 2> /dev/null; if [ -t 1 ]; then printf '\r\033[K'; fi" EXIT; \
	trap "exit 130" INT TERM; $(2)
endef

# $(call quietly,doing what,command): the same for a command that says much, which goes to a log.
define quietly
@mkdir -p build && printf '\n==> $(1)\n' >> $(SETUP_LOG)
$(call watched,$(1),$(2) >> $(SETUP_LOG) 2>&1 || { tail -n 20 $(SETUP_LOG) >&2; \
	echo "==> $(1) failed; all that was said is in $(SETUP_LOG)" >&2; exit 1; })
endef

.PHONY: help
help: ## Say what there is (the default)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { \
		line = sprintf("  make %-21s", $$1); count = split($$2, words, " "); \
		for (i = 1; i <= count; i++) { \
			if (length(line words[i]) >= 80) { print line; line = sprintf("%28s", "") } \
			line = line " " words[i] \
		} \
		print line \
	}' $(MAKEFILE_LIST)

.PHONY: demo
ifeq ($(filter embedded real existing kind,$(CLUSTER)),)
$(error CLUSTER=$(CLUSTER): choose from embedded, real, existing and kind)
endif
ifeq ($(CLUSTER),embedded)
demo: $(RUNNABLE) ## Watch gangs being scheduled, in half a minute; CLUSTER=real, existing, kind: on a real API server
	@.venv/bin/py-gang-scheduler demo
else
demo: BINARIES := $(if $(filter real,$(CLUSTER)),$(BINARIES),kwok)
demo: binaries
	@$(WITH_TESTS) -m tools.demo run --cluster $(CLUSTER)
endif

.PHONY: up
up: binaries ## Start the demo's cluster and leave it running; NODES=racks: other nodes, WITH=processes: pods run
	@$(WITH_TESTS) -m tools.demo up $(addprefix --nodes=,$(NODES)) $(addprefix --with=,$(WITH))

.PHONY: down
down: setup ## End what `make up` started
	@$(WITH_TESTS) -m tools.demo down

.PHONY: test
test: setup ## Run the tests that need Python alone: unit, property, cases, conformance, integration, fuzz
	@echo "==> three at once, one of which mostly waits: about seven minutes"
	@$(WITH_TESTS) -m tools.side_by_side --at-once 3 \
		"-m pytest --durations=5 -m 'not e2e' tests/integration" \
		"-m pytest --durations=5 tests/property" \
		"-m pytest --durations=5 tests/unit" \
		"-m search --cases 2500 --jobs 1" \
		"-m pytest --durations=3 tests/cases tests/conformance" \
		"-m pytest --durations=3 tests/fuzz"

.PHONY: thorough
thorough: export GANG_TESTS := thorough
thorough: setup ## Hold twenty times as many random cases against the laws as `make test`: about an hour
	@$(WITH_TESTS) -m tools.side_by_side --at-once 2 \
		"-m pytest --durations=10 --timeout=7200 tests/property" \
		"-m search --cases 30000 --jobs 1" \
		"-m pytest --durations=5 --timeout=7200 tests/fuzz" \
		"-m pytest --timeout=7200 tests/integration/test_binder_chaos.py \
			tests/integration/test_replicas_under_churn.py \
			tests/integration/test_checkpoints_chaos.py"

.PHONY: e2e
e2e: BINARIES += helm kube-scheduler jobset crane actionlint device-allocator
e2e: binaries ## Run the tests that need a real control plane: end to end, contracts, differential, the chart
	@echo "==> end to end, in three parts; then beside the JobSet controller, contracts on a real"
	@echo "    API server, filters beside kube-scheduler's, the chart: a quarter of an hour"
	@$(WITH_TESTS) -m tools.side_by_side --at-once 3 $(foreach part,0 1 2,\
		"-m pytest --durations=10 --verbose -m 'not alone and not controllers' --part=$(part) tests/e2e") \
		"-m pytest --durations=5 --verbose -m jobset tests/integrations" \
		"-m pytest --durations=5 -m e2e tests/integration" \
		"-m pytest --durations=5 tests/differential $(CHART_TESTS)"
	@echo "==> end to end, what measures time or needs the whole machine: a quarter of an hour"
	@$(VENV_PYTHON) -m pytest --durations=10 --verbose -m alone tests/e2e

.PHONY: test-all
test-all: test e2e ## Run all tests

.PHONY: integrations
integrations: BINARIES += $(CONTROLLERS)
integrations: binaries ## Test beside the real controllers of jobs; the first build of them: about 25 minutes
	@$(VENV_PYTHON) -m pytest --durations=10 --verbose tests/integrations
	@echo "==> the examples for them: a minute"
	@$(VENV_PYTHON) -m pytest --verbose -m controllers tests/e2e/test_examples.py

.PHONY: monitoring
monitoring: BINARIES += prometheus promtool
monitoring: binaries ## Test alerts and dashboards with a real Prometheus; the first build of it: about 8 minutes
	@$(VENV_PYTHON) -m pytest --durations=5 --verbose tests/monitoring

.PHONY: lint
lint: setup ## Check style, types, layers, prose, the tests of the source, and that generated files are up to date
	@echo "==> ruff check"
	@$(VENV_PYTHON) -m ruff check
	@echo "==> ruff format --check"
	@$(VENV_PYTHON) -m ruff format --check
	@echo "==> mypy: half a minute the first time"
	$(call watched,checking types,$(VENV_PYTHON) -m mypy)
	@echo "==> lint-imports"
	@.venv/bin/lint-imports
	@echo "==> prose"
	@$(WITH_TESTS) -m tools.prose
	@echo "==> tests of the source"
	@$(VENV_PYTHON) -m pytest --quiet tests/lint
	@echo "==> CRDs"
	@$(VENV_PYTHON) -m gang_scheduler.api.crds --check $(CRD_DIRECTORIES)
	@echo "==> chart"
	@$(WITH_TESTS) -m tools.chart --check
	@echo "==> generated pages"
	@$(WITH_TESTS) -m tools.pages --check
	@echo "==> docs site"
	@$(WITH_TESTS) -m tools.site

.PHONY: docs
docs: setup ## Build the docs site into build/site; no page of it loads from another host
	@$(WITH_TESTS) -m tools.site
	@echo "==> open build/site/index.html"

.PHONY: format
format: setup ## Put the code into shape
	@$(VENV_PYTHON) -m ruff check --fix-only
	@$(VENV_PYTHON) -m ruff format

.PHONY: bench
bench: BINARIES += kube-scheduler
bench: binaries ## Measure speed beside kube-scheduler's: an hour, or BENCH=quick; never fails on time
	@$(WITH_TESTS) -m tools.bench --$(BENCH) --json $(RESULTS)
	@echo "==> figures in $(RESULTS); for tables and pictures: make report BENCH=$(BENCH)"

.PHONY: report
report: setup ## Make tables and pictures of what `make bench` has measured; BENCH as there
	@$(WITH_TESTS) -m tools.bench.report $(RESULTS) --images $(IMAGES)

.PHONY: gap
gap: CASES ?= 1000
gap: setup ## Report how far placement and preemption are off the optimum in CASES random cases
	@$(WITH_TESTS) -m property.placement_gap --cases $(CASES)
	@$(WITH_TESTS) -m property.preemption_gap --cases $(CASES)

.PHONY: search
search: CASES ?= 10000
search: SEED ?= 0
search: setup ## Hold CASES random worlds against all laws, from SEED on, and live through some of them
	@$(WITH_TESTS) -m search --cases $(CASES) --seed $(SEED)
	@$(WITH_TESTS) -m search --lives $$(($(CASES) / 50)) --seed $(SEED)

.PHONY: slow
slow: SECONDS ?= 600
slow: SEED ?= 0
slow: setup ## Look for worlds in which a cycle takes long, for SECONDS of CPU, from those on that were found before
	@$(WITH_TESTS) -m search.slow --seconds $(SECONDS) --seed $(SEED) $(if $(REFERENCE),--reference $(REFERENCE))

.PHONY: fuzz
fuzz: SECONDS ?= 300
fuzz: setup ## Damage objects, texts and files in new ways for SECONDS, and check that each is read or refused
	@$(WITH_TESTS) -m fuzz --seconds $(SECONDS)

.PHONY: differential
differential: CASES ?= 500
differential: SEED ?= 1000
differential: BINARIES += kube-scheduler
differential: binaries ## Compare our filters with kube-scheduler's on CASES random clusters, from SEED on
	@$(WITH_TESTS) -m differential --cases $(CASES) --seed $(SEED)

.PHONY: differential-devices
differential-devices: WORLDS ?= 5000
differential-devices: SEED ?= 1000
differential-devices: setup ## Compare our devices with those of kube-scheduler's allocator in WORLDS random worlds
	@$(WITH_TESTS) -m differential.devices --worlds $(WORLDS) --seed $(SEED)

.PHONY: chaos
chaos: SECONDS ?= 300
chaos: SEED ?= 1
chaos: SOURCE ?= kopf
chaos: REPLICAS ?= 2
chaos: FAULTS ?=
chaos: MORE_NODES ?= 0
chaos: BINARIES += helm
chaos: binaries ## Let SECONDS of faults of all kinds loose, by SEED, and judge what was and what is left
	@$(WITH_TESTS) -m tools.chaos --seconds $(SECONDS) --seed $(SEED) --source $(SOURCE) \
		--replicas $(REPLICAS) --more-nodes $(MORE_NODES) $(if $(FAULTS),--faults $(FAULTS))

.PHONY: soak
soak: SECONDS ?= 1800
soak: SEED ?= 1
soak: SOURCE ?= kopf
soak: BINARIES += helm
soak: binaries ## Let gangs come and go for SECONDS, by SEED, and check that the memory does not grow
	@$(WITH_TESTS) -m tools.soak --seconds $(SECONDS) --seed $(SEED) --source $(SOURCE)

.PHONY: churn
churn: SECONDS ?= 300
churn: SEED ?= 1
churn: SOURCE ?= kopf
churn: binaries ## Let five queues compete for SECONDS, by SEED, and check that they come to a fair rest
	@$(WITH_TESTS) -m e2e.churn --seconds $(SECONDS) --seed $(SEED) --source $(SOURCE)

.PHONY: variants
variants: CLUSTERS ?= 200
variants: SEED ?= 0
variants: binaries ## Do what explain proposes in CLUSTERS random ones, by SEED, and check that gangs start
	@$(WITH_TESTS) -m e2e.variants --clusters $(CLUSTERS) --seed $(SEED)

.PHONY: overload
overload: setup ## Create 10,000 pods at once on an API server that works on little at once: about 10 minutes
	@OVERLOAD_PODS=10000 $(WITH_TESTS) -m pytest --capture=no tests/e2e/test_overload.py

.PHONY: handover
handover: setup ## Measure how long one replica takes over from the other, on 5,000 nodes
	@$(WITH_TESTS) -m e2e.handover

.PHONY: crds
crds: setup ## Write the CRDs again from the models in api/
	@$(VENV_PYTHON) -m gang_scheduler.api.crds $(CRD_DIRECTORIES)

.PHONY: chart
chart: setup ## Write the chart's schema, the tables of its README, and the dashboards again from the code
	@$(WITH_TESTS) -m tools.chart

.PHONY: pages
pages: setup ## Write the generated pages and pictures of docs/ again
	@$(WITH_TESTS) -m tools.pages

.PHONY: picture
picture: binaries ## Run the story of the README's picture on a real API server, and draw it again
	@$(WITH_TESTS) -m tools.picture docs/images/gangs.svg

.PHONY: schemas
schemas: setup binaries ## Write the schemas of Kubernetes' kinds again, from an API server that is started for it
	@$(WITH_TESTS) -m tools.schemas

.PHONY: lock
lock: ## Write both lock files again: keeps versions where pyproject.toml allows them
	@directory=$$(mktemp -d) && trap 'rm -rf "$$directory"' EXIT && \
	echo "==> uv, in a directory of its own" && \
	$(PYTHON) -m venv "$$directory" && "$$directory/bin/python" -m pip install --quiet uv && \
	echo "==> requirements.lock" && \
	"$$directory/bin/uv" $(COMPILE_LOCK) --output-file requirements.lock > /dev/null && \
	echo "==> requirements-dev.lock" && \
	"$$directory/bin/uv" $(COMPILE_LOCK) --group dev --output-file requirements-dev.lock > /dev/null && \
	for group in build sbom; do echo "==> requirements-$$group.lock"; \
	"$$directory/bin/uv" $(filter-out pyproject.toml,$(COMPILE_LOCK)) --group pyproject.toml:$$group \
		--output-file requirements-$$group.lock > /dev/null || exit; done

.PHONY: image
image: BINARIES = crane
image: BASE ?= python:3.11-slim
image: binaries ## Build IMAGE=registry.example.com/py-gang-scheduler:0.2.0 for amd64 and arm64, and push it; no engine needed
	@test -n "$(IMAGE)" || { echo "make image IMAGE=registry.example.com/py-gang-scheduler:0.2.0" >&2; exit 1; }
	@$(WITH_TESTS) -m tools.image $(IMAGE) --base $(BASE) $(addprefix --python=,$(IMAGE_PYTHON))

.PHONY: release
release: BINARIES = crane helm
release: BASE ?= python:3.11-slim
release: binaries ## Push image and chart to REGISTRY=ghcr.io/organization; wheel and checksums into dist/
	@test -n "$(REGISTRY)" || { echo "make release REGISTRY=registry.example.com/team" >&2; exit 1; }
	@$(WITH_TESTS) -m tools.release $(REGISTRY) --base $(BASE)

.PHONY: sbom
sbom: ## Write build/sbom.cdx.json: each package that an image has, with licence and dependencies
	@mkdir -p build && directory=$$(mktemp -d) && trap 'rm -rf "$$directory"' EXIT && \
	echo "==> what is in an image, by hash, and what describes it: two environments of their own" && \
	for each in image build sbom; do $(PYTHON) -m venv "$$directory/$$each" || exit; done && \
	"$$directory/image/bin/pip" install --quiet --require-hashes --requirement requirements.lock && \
	"$$directory/build/bin/pip" install --quiet --require-hashes --requirement requirements-build.lock && \
	"$$directory/sbom/bin/pip" install --quiet --require-hashes --requirement requirements-sbom.lock && \
	"$$directory/build/bin/pip" wheel --quiet --no-deps --no-build-isolation \
		--wheel-dir "$$directory/wheels" . && \
	"$$directory/image/bin/pip" install --quiet --no-deps --no-index "$$directory"/wheels/*.whl && \
	"$$directory/image/bin/py-gang-scheduler" --help > /dev/null && \
	"$$directory/image/bin/pip" uninstall --quiet --yes setuptools pip && \
	"$$directory/sbom/bin/cyclonedx-py" environment "$$directory/image" --pyproject pyproject.toml \
		--output-reproducible --validate --of JSON --output-file build/sbom.cdx.json && \
	echo "==> build/sbom.cdx.json"

.PHONY: setup
setup: $(INSTALLED) ## Install Python packages into .venv; once, and again when the lock changes

$(RUNNABLE): requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer, with venv, is not on PATH" >&2; exit 1; }
	@echo "==> Python packages of the scheduler into .venv: half a minute the first time"
	$(call quietly,making .venv,$(PYTHON) -m venv --clear .venv)
	$(call quietly,installing,$(VENV_PYTHON) -m pip install \
		--require-hashes --requirement requirements.lock)
	$(call quietly,installing this package,$(VENV_PYTHON) -m pip install --no-deps --editable .)
	@touch $@

$(INSTALLED): requirements-dev.lock $(RUNNABLE)
	@echo "==> Python packages of the tests into .venv: about a minute the first time"
	$(call quietly,installing,$(VENV_PYTHON) -m pip install \
		--no-deps --require-hashes --requirement requirements-dev.lock)
	@touch $@

.PHONY: binaries
binaries: setup ## Find or build the programs of the local control plane
	@echo "==> control plane: found at once, or built with Go: about 10 minutes the first time"
	@$(WITH_TESTS) -m tools.controlplane build $(BINARIES)

.PHONY: clean
clean: ## Remove .venv and what tools left in the tree; built programs stay in ~/.cache
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist
	@find operator tests -name __pycache__ -type d -prune -exec rm -rf {} +
