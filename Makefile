# Two commands set everything up by themselves: make run, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test test-slow lint format check audit bench clean

run: $(VENV)/.ready
	$(BIN)/python -m dpbench run

test: $(VENV)/.ready
	$(BIN)/python -m pytest -m "not slow" -n auto --dist worksteal

# Paper-size and minutes-long cases.
test-slow: $(VENV)/.ready
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Utility numbers against results/baselines; any number that moved fails, better ones too.
check: $(VENV)/.ready
	$(BIN)/python -m dpbench check --strict

# The privacy loss of every mechanism; one that breaks what it states fails.
audit: $(VENV)/.ready
	$(BIN)/python -m dpbench audit

bench: $(VENV)/.ready
	$(BIN)/python -m dpbench bench

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache
