# Everything a fresh machine needs: `make demo`, `make test`. Nothing is taken for present but Python 3.11 with pip, make and
# (for the sandbox) Go and root: what else is needed is fetched, built and said.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
.SILENT:

CACHE ?= $(or $(VALKEY_OPERATOR_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkey-operator)
PYTHON ?= python3
PROVIDER ?= sandbox
UV_VERSION := 0.13.9
UV := $(CACHE)/uv-$(UV_VERSION)/bin/uv
BIN := .venv/bin
export VALKEY_OPERATOR_CACHE := $(CACHE)

STEP := .ci/step

.PHONY: help
help: ## what can be made
	awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/ready ## the main job, shown step by step: a client outside works with a cluster (PROVIDER=sandbox or kind)
	$(BIN)/python -m demo --provider $(PROVIDER)

.PHONY: test
test: check ## everything: check, integration and e2e tests; a sandbox that ran before stays as it was, else none is left
	$(BIN)/sandbox status >/dev/null 2>&1 || trap '$(BIN)/sandbox down' EXIT
	$(STEP) "a real Kubernetes" $(BIN)/sandbox up
	$(STEP) "integration tests" $(BIN)/pytest tests/integration
	$(STEP) "e2e tests" $(BIN)/pytest tests/e2e --ignore tests/e2e/clients
	$(MAKE) --no-print-directory test-clients

.PHONY: test-clients
test-clients: .venv/ready ## every client library, outside: those whose tools (node and npm; java, javac and mvn) are there
	$(STEP) "client libraries" $(BIN)/pytest tests/e2e/clients

.PHONY: clients-table
clients-table: .venv/ready ## the same, and write what it found into docs/clients.md
	UPDATE=1 $(BIN)/pytest tests/e2e/clients

.PHONY: check
check: .venv/ready ## format, lint, types, contracts, unit and scenario tests (about a minute)
	$(STEP) "format" $(BIN)/ruff format --check
	$(STEP) "lint" $(BIN)/ruff check
	$(STEP) "types" $(BIN)/mypy
	$(STEP) "import contracts" $(BIN)/lint-imports
	$(STEP) "unit and scenario tests" $(BIN)/pytest tests/unit tests/scenario

.PHONY: bench
bench: .venv/ready ## figures: a table, and JSON in bench/results (some 10 minutes)
	$(BIN)/python -m bench

.PHONY: format
format: .venv/ready ## write the format and the safe fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: sandbox-up
sandbox-up: .venv/ready ## a real Kubernetes of three nodes on this machine (root; some 10 minutes the first time)
	$(BIN)/sandbox up

.PHONY: sandbox-down
sandbox-down: .venv/ready ## end it and leave nothing running
	$(BIN)/sandbox down

.PHONY: sandbox-status
sandbox-status: .venv/ready ## what of it runs
	$(BIN)/sandbox status

.PHONY: sandbox-operator
sandbox-operator: .venv/ready ## deploy the operator of this checkout in it
	$(BIN)/sandbox operator

.PHONY: env
env: .venv/ready ## the Python environment alone

.PHONY: lock
lock: | $(UV) ## requirements.lock from pyproject.toml: versions and hashes
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	  --extra dev pyproject.toml sandbox/pyproject.toml --custom-compile-command "make lock" $(LOCK_FLAGS) -o requirements.lock

.PHONY: generate
generate: .venv/ready ## CRDs and API reference from src/valkey_operator/api
	$(BIN)/python -m valkey_operator.api.schema

.PHONY: changelog
changelog: .venv/ready ## what the news fragments in changelog.d say of the next version
	$(BIN)/towncrier build --draft

.venv/ready: requirements.lock pyproject.toml sandbox/pyproject.toml | $(UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(STEP) "Python packages into .venv" $(UV) pip sync --quiet --require-hashes requirements.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation -e . -e sandbox
	touch $@

$(UV):
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=…" if sys.version_info < (3, 11) else 0)'
	$(STEP) "uv $(UV_VERSION) into $(dir $@)" $(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
	  --target $(CACHE)/uv-$(UV_VERSION) uv==$(UV_VERSION)
