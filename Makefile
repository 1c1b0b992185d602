# Everything a fresh machine needs: `make demo`, `make test`, `make check`. Nothing is taken for present but Python 3.11, pip, make and (for the sandbox) Go and root.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
.SILENT:

CACHE ?= $(or $(VALKEY_OPERATOR_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/valkey-operator)
UV_VERSION := 0.13.9
UV := $(CACHE)/uv-$(UV_VERSION)/bin/uv
BIN := .venv/bin
PROVIDER ?= sandbox
export VALKEY_OPERATOR_CACHE := $(CACHE)

.PHONY: help
help: ## what can be made
	awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(UV):
	echo "[setup] uv $(UV_VERSION) into $(dir $@) (seconds, once)"
	python3 -m venv $(CACHE)/uv-$(UV_VERSION)
	$(CACHE)/uv-$(UV_VERSION)/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/ready: requirements.lock pyproject.toml sandbox/pyproject.toml | $(UV)
	echo "[setup] Python environment in .venv (half a minute the first time, then from the cache)"
	$(UV) venv --quiet --allow-existing .venv
	$(UV) pip sync --quiet --require-hashes requirements.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation -e . -e sandbox
	touch $@

.PHONY: env
env: .venv/ready ## the Python environment alone

.PHONY: lock
lock: | $(UV) ## requirements.lock from pyproject.toml: versions and hashes
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	  --extra dev pyproject.toml sandbox/pyproject.toml --custom-compile-command "make lock" $(LOCK_FLAGS) -o requirements.lock

.PHONY: format
format: .venv/ready ## write the format and the safe fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: check
check: .venv/ready ## format, lint, types, contracts, unit and scenario tests (about a minute)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest tests/unit tests/scenario

.PHONY: sandbox-up
sandbox-up: .venv/ready ## a real Kubernetes of three nodes on this machine (needs root; some 10 minutes the first time)
	$(BIN)/sandbox up

.PHONY: sandbox-down
sandbox-down: .venv/ready ## end it and leave nothing running
	$(BIN)/sandbox down

.PHONY: sandbox-status
sandbox-status: .venv/ready ## what of it runs
	$(BIN)/sandbox status
