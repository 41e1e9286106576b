# Everything here stays in this folder and in the user's cache folder.

.DEFAULT_GOAL := help
SHELL := /bin/sh
# Checks need one processor, and what runs beside them little of another.
MAKEFLAGS += --jobs=2
unexport MAKEFLAGS
# Tests start many processes: each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
AGENTS := $(VENV)/.agents
# The first Python that is new enough.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; \
	done)
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
PACKAGES := orchestrator workers shared
SOURCES  := $(PACKAGES) deploy tests benchmarks

# Tests wait more than they compute; what breaks things for a minute has only checks beside it.
WORKERS ?= $(shell [ "$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)" = 1 ] && echo 2 || echo 5)

UV_VERSION := 0.13.8
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" .scratch/lock/bin/uv pip compile --quiet \
	--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	$(if $(UPGRADE),--upgrade)

# Claude Code is 370 MB: who develops does not need it.
TESTED := bedrock dev embedded flower keyring openai s3 vertex

##@ Use it
.PHONY: demo demo-agents demo-project up
demo: $(STAMP) ## Watch a task fail, replan and succeed on this machine (PLANNER=anthropic)
	@$(BIN)/replan demo $(if $(PLANNER),--planner $(PLANNER))

demo-agents: $(AGENTS) ## Watch Claude Code and commands share a plan: no key, no network (370 MB)
	@$(BIN)/replan demo --agents

demo-project: $(AGENTS) ## Watch a goal become reviewed and published work: no key, no network (370 MB)
	@$(BIN)/replan demo --project

up: $(STAMP) ## Run everything on this machine until Ctrl-C
	@$(BIN)/replan up

##@ Check it
.PHONY: test short check static chaos bench bench-peers bench-beside bench-everyday bench-plans journey-postgres journey-looks journey-configure journey-everyday journey-runbooks services format
test: static short ## Everything: checks, and all tests on real services
	$(BIN)/pytest --numprocesses=$(WORKERS) --dist=loadfile -m 'not slow' \
		--ignore=tests/chaos/test_short.py

short: services
	$(BIN)/pytest --quiet tests/chaos/test_short.py

check: static ## What needs no service: format, lint, types, import contracts, unit tests
	$(BIN)/pytest --quiet tests/unit tests/architecture

static: $(STAMP)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

chaos: $(STAMP) services ## Break every part of it, again and again, and count what is lost (a quarter of an hour)
	REPLAN_CHAOS=full $(BIN)/pytest --capture=no tests/chaos/test_full.py \
		tests/integration/deliveries/test_killed_acceptance.py
	REPLAN_CHAOS=full $(BIN)/pytest tests/unit/guard/test_guard_fuzz.py
	$(BIN)/pytest -m slow tests/journeys

bench: $(STAMP) services ## Measure it beside the bare tools it stands on
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.masking
	$(BIN)/python -m benchmarks.verdicts
	$(BIN)/python -m benchmarks.contained
	$(BIN)/python -m benchmarks.gateway
	$(BIN)/python -m benchmarks.deliveries
	$(BIN)/python -m benchmarks.delivery_queue

bench-peers: $(STAMP) services ## Measure it beside its peers and write RESULTS.md (PEERS="…", SHORT=1)
	$(BIN)/python -m benchmarks.peers --write $(if $(PEERS),--peers $(PEERS)) $(if $(SHORT),--short)

bench-everyday: $(STAMP) services ## Three everyday jobs beside ansible-playbook, and write EVERYDAY.md (root; minutes)
	$(BIN)/python -m benchmarks.everyday --write

bench-beside: $(STAMP) services ## Measure it beside another checkout of it (BEFORE=../before, SHORT=1)
	$(BIN)/python -m benchmarks.beside $(BEFORE) $(if $(SHORT),--short)

bench-plans: $(STAMP) services ## Break hosts, see what mends them and write PLANS.md (ONLY="…", PLANNER=anthropic)
	$(BIN)/python -m benchmarks.plans $(if $(ONLY),--only $(ONLY),--write) $(if $(PLANNER),--planner $(PLANNER))

journey-postgres: $(STAMP) services ## PostgreSQL on a real Debian whose repository is missing (root; minutes)
	REPLAN_JOURNEYS=debian $(BIN)/pytest --capture=no tests/journeys/test_postgresql.py

journey-looks: $(STAMP) services ## Failures on a real Debian whose cause only a look tells (root; minutes)
	REPLAN_JOURNEYS=debian $(BIN)/pytest --capture=no tests/journeys/test_looks_on_debian.py

journey-configure: $(STAMP) services ## Plans that set a real Debian up, and what they ask (root; minutes)
	REPLAN_JOURNEYS=debian $(BIN)/pytest --capture=no tests/journeys/test_configure_on_debian.py

journey-everyday: $(STAMP) services ## Plans as people write them, on a real Debian (root; minutes)
	REPLAN_JOURNEYS=debian $(BIN)/pytest --capture=no tests/journeys/test_everyday_plans_on_debian.py

journey-runbooks: $(STAMP) services ## The runbooks that ship, on a real Debian (root; minutes)
	REPLAN_JOURNEYS=debian $(BIN)/pytest --capture=no tests/journeys/test_runbooks_on_debian.py

services: $(STAMP) ## Download the servers and agents that only tests need
	@$(BIN)/python -m tests.services

format: $(STAMP) ## Format the sources and mend what the linter can
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

##@ Keep it
.PHONY: setup wheel picture settings-page lock clean help
setup: $(STAMP) ## Create .venv and install what the lock names

$(STAMP): requirements-dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed; name it with PYTHON=…" >&2; exit 1; }
	@echo "installing into $(VENV) …"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "$(PYTHON) cannot create a virtual environment: install its venv module" \
		"(Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@$(PIP) install --require-hashes --requirement requirements-dev.lock
	@$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(AGENTS): $(STAMP) deploy/requirements-agents.lock
	@echo "installing Claude Code into $(VENV) …"
	@$(PIP) install --require-hashes --requirement deploy/requirements-agents.lock
	@touch $@

wheel: $(STAMP) ## Build the wheel, which pipx and uv install, into dist/
	@$(BIN)/python -m hatchling build --target wheel

picture: $(STAMP) ## Make the picture in README anew, from a real run
	$(BIN)/python -m benchmarks.picture docs/demo.svg

settings-page: $(STAMP) ## Write docs/settings.md, the reference of all settings
	$(BIN)/python -m orchestrator.words.settings --write docs/settings.md

lock: .scratch/lock/bin/uv ## Renew the lock files after a change of pyproject.toml (UPGRADE=1: newest of all)
	$(COMPILE) pyproject.toml $(TESTED:%=--extra %) --group build -o requirements-dev.lock
	$(COMPILE) pyproject.toml --extra flower --extra openai --extra bedrock --extra s3 --extra vertex \
		-c requirements-dev.lock -o requirements.lock
	$(COMPILE) pyproject.toml --extra agents --extra embedded -c requirements-dev.lock \
		-o deploy/requirements-agents.lock
	$(COMPILE) --group build -c requirements-dev.lock -o deploy/requirements-build.lock

.scratch/lock/bin/uv:
	@$(PYTHON) -m venv .scratch/lock
	@.scratch/lock/bin/python -m pip --disable-pip-version-check --quiet install uv==$(UV_VERSION)

clean: ## Remove what was made here: the virtual environment, caches, scratch data
	rm -rf $(VENV) .scratch build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis \
		.import_linter_cache *.egg-info
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## This list
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
