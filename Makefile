# make demo   install into .venv, train on built-in data, print a table
# make test   install into .venv, run every check that CI runs
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types pytest bounds docs bench clean

demo: $(VENV)/.demo
	$(BIN)/directrix demo

test: lint types pytest docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term:skip-covered

# kernels compiled with checks of every index; slow, for whoever changes one
bounds: $(VENV)/.dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/python -m pytest -q \
		tests/surrogates tests/models tests/objectives tests/trainers tests/laws tests/measures tests/data

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.dev $(VENV)/peers/.installed
	$(BIN)/python -m benchmarks --peers $(VENV)/peers/bin/python

# two environments: TensorFlow Ranking needs versions of its own
$(VENV)/peers/.installed: $(wildcard benchmarks/requirements*.txt) | $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip install --quiet -r benchmarks/requirements.txt
	$(VENV)/peers/bin/python -m pip install --quiet --no-deps -r benchmarks/requirements-no-deps.txt
	$(PYTHON) -m venv $(VENV)/peers-tensorflow
	$(VENV)/peers-tensorflow/bin/python -m pip install --quiet -r benchmarks/requirements-tensorflow.txt
	touch $@

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test,lint,docs]"
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
