# `make demo` and `make test` are the two commands a newcomer needs. See CONTRIBUTING.md for the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help host-packages demo demo-down venv venv-test test unit lint sanity lab-test molecule vm-test bench docs

VENV := .venv
BIN := $(VENV)/bin
# The machine's own tools, also in a shell where the virtual environment is active: one that is broken must neither
# remake itself nor stand in the way of demo-down.
MACHINE_PATH := $(shell printf '%s' "$$PATH" | tr ':' '\n' | grep -vxF '$(CURDIR)/$(BIN)' | paste -sd:)
PYTHON ?= $(shell PATH='$(MACHINE_PATH)' command -v python3)
# ansible-lint, molecule and ansible-test call their siblings by name.
export PATH := $(CURDIR)/$(BIN):$(MACHINE_PATH)

help: ## What can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: host-packages ## Start the simulated cluster, deploy it, print the report, leave it running
	@mkdir -p .cache
	@echo "preparing the virtual environment and the hosts' root file system"
	@$(PYTHON) lab/lab rootfs > .cache/rootfs.log 2>&1 & rootfs=$$!; \
	trap 'kill $$rootfs 2>/dev/null || true' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM; \
	$(MAKE) --no-print-directory venv; \
	wait $$rootfs || { echo "the hosts' root file system could not be built:" >&2; cat .cache/rootfs.log >&2; exit 1; }
	@echo "starting the lab"
	@$(PYTHON) lab/lab up --replace --no-opensm
	@echo "deploying: ansible-playbook -i inventories/lab playbooks/site.yml"
	@ansible-playbook -i inventories/lab playbooks/site.yml > .cache/site.log 2>&1 || \
	{ cat .cache/site.log; echo "site.yml failed; the lab is left up for a look"; exit 1; }
	@sed -n '/^InfiniBand report/,$$p' .cache/site.log
	@echo "All of its output: .cache/site.log. The lab is up: lab/lab status. Take it down with: make demo-down"

demo-down: ## Remove every trace of the simulated cluster
	@$(PYTHON) lab/lab down

host-packages:
	@PATH='$(MACHINE_PATH)' lab/install-host-packages

venv: host-packages ## The virtual environment, remade when the requirements change
	@$(PYTHON) tests/tools/make_venv.py $(VENV) requirements.txt

venv-test: host-packages
	@$(PYTHON) tests/tools/make_venv.py $(VENV) requirements-test.txt

test: venv-test ## Every test
	@PATH='$(MACHINE_PATH)' lab/install-vm-packages
	@$(BIN)/python -m pytest

unit: venv-test ## Unit tests only
	@$(BIN)/python -m pytest tests/unit

lint: venv-test ## Linters only
	@$(BIN)/python -m pytest tests/sanity/test_lint.py

sanity: venv-test ## ansible-test sanity and the other Pythons
	@$(BIN)/python -m pytest tests/sanity

lab-test: venv-test ## Tests against booted hosts
	@$(BIN)/python -m pytest tests/lab

molecule: venv-test ## Molecule scenarios only
	@$(BIN)/python -m pytest tests/lab/test_molecule.py

vm-test: venv-test ## Tests against virtual machines
	@PATH='$(MACHINE_PATH)' lab/install-vm-packages
	@$(BIN)/python -m pytest tests/vm

bench: venv-test ## Measure: cost of hca_info, module calls per host
	@$(BIN)/python tests/benchmarks/bench.py

docs: venv-test ## Write the generated documentation anew
	@$(BIN)/python tests/tools/make_docs.py
