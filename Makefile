# Two commands set everything up: make run, make test. LOCK=requirements.lock installs its exact versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv installs in a fraction of the time where it is at hand and works. It compiles only if asked; without that, each process would
# compile what it imports where Python may not write bytecode.
UV := $(shell command -v uv 2>/dev/null)
OPTIONS = --quiet $(if $(LOCK),--constraint $(LOCK)) --editable
INSTALL = $(if $(UV),VIRTUAL_ENV=$(VENV) $(UV) pip install --compile-bytecode $(OPTIONS) $(1) ||) $(BIN)/python -m pip install $(OPTIONS) $(1)

.PHONY: run test test-slow test-lowest test-newest campaign paper docs lint format check check-slow audit bench bench-peers clean

run: $(VENV)/.ready
	$(BIN)/python -m dpbench run

test: $(VENV)/.ready
	$(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal

# Paper-size and minutes-long cases, then those that measure time, one by one; both, whatever fails.
test-slow: $(VENV)/.ready
	$(BIN)/python -m pytest -m "slow and not timed" -n auto --dist worksteal; others=$$?; \
	$(BIN)/python -m pytest -m "slow and timed" && exit $$others

# With the lowest declared versions on Python 3.11, and with the newest on Python 3.13; skipped where that Python is missing.
test-lowest test-newest: test-%:
	.ci/versions $*

# Faults of all kinds, for 45 minutes or CAMPAIGN_MINUTES=3, from a seed; fails unless all are survived.
CAMPAIGN_MINUTES ?= 45
CAMPAIGN_SEED ?= 0
campaign: $(VENV)/.ready
	PYTHONPATH=tests $(BIN)/python -m campaign --minutes $(CAMPAIGN_MINUTES) --seed $(CAMPAIGN_SEED)

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deptry dpbench
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Compares utility numbers with results/baselines: fails on any number that moved, also to the better, and on unguarded ones.
check: $(VENV)/.ready
	$(BIN)/python -m dpbench check --strict

# One cell of paper size per mechanism: what acts only above the sizes of a laptop. Takes minutes.
check-slow: $(VENV)/.ready
	$(BIN)/python -m dpbench check --strict --paper-cells

# The privacy loss of every mechanism; fails if one breaks its stated guarantee.
audit: $(VENV)/.ready
	$(BIN)/python -m dpbench audit --strict

# All experiments of the five papers at paper size, compared with results/record.
paper: $(VENV)/.ready
	$(BIN)/python -m dpbench reproduce

# The documentation, with its tutorials run; docs/_build/html/index.html.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(VENV)/.ready
	$(BIN)/python -m dpbench bench

# Brings the other harness that `bench` compares with into the environment; `bench` itself installs nothing.
bench-peers: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet benchopt

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(call INSTALL,".[dev]")
	touch $@

$(VENV)/.docs: $(VENV)/.ready
	$(call INSTALL,".[docs]")
	touch $@

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest build dist docs/_build .pytest_cache .mypy_cache .ruff_cache
