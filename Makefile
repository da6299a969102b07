PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
SEEDS ?= 500
REAL_SEEDS ?= 30

.DEFAULT_GOAL := help
.PHONY: help setup demo chat test lint types check fuzz bench

help:  ## List these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[local]' --group dev
	@touch $@

setup: $(READY)  ## Create .venv with everything that the other commands need

demo: setup  ## Run a long conversation end to end: no key, no server, no Docker
	@$(BIN)/perdure demo

chat: setup  ## Talk to a conversation named "chat"
	@$(BIN)/perdure chat chat

test: setup  ## Run the tests
	$(BIN)/python -m pytest -n 3 --dist loadfile

lint: setup  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## Check types strictly
	$(BIN)/mypy

check: lint types test  ## Lint, types and tests: what must pass before anything lands

fuzz: setup  ## Shake the memory with SEEDS random conversations, and the real workflow with a few
	$(BIN)/python -m tests.fuzz --seeds $(SEEDS)
	$(BIN)/python -m tests.fuzz --real --seeds $(REAL_SEEDS)

bench: setup  ## Measure on real conversations (needs the data named in bench/README.md)
	$(BIN)/python -m bench.real_input --first
