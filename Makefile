# make demo   install into .venv, train on built-in data, print a table
# make test   install into .venv, check style, types, and all tests and pages but the slow ones
# make slow   run the tests that need a cluster, a server or a browser, or many seconds
# make processor  run tests and pages with kernels for another processor
# make dist   build wheel and sdist into dist/, and check them
# make lowest run the tests with the lowest versions that pyproject.toml allows
# make faults stop every command that writes at random moments, for half an hour; RUNS=20 SEED=2
# make fuzz   try mutated inputs for an hour; SECONDS=60 SEED=1 TARGET=letor,models
# make removed leave out each check of an error once, and see whether a test fails; an hour
# make version VERSION=1.0.1   write the version into each file that states it
# make release  check that this commit may be published, test and build it, and print the command that uploads it
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types pytest slow processor bounds faults fuzz removed docs bench dist lowest version release clean

demo: $(VENV)/.demo
	$(BIN)/directrix demo

test: lint types pytest docs

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

# COVER=--cov adds the coverage of branches
COVER ?=
pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow" $(COVER)

slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow $(COVER)

# kernels compiled for another processor: numbers of tests and pages must not depend on its last bits.
# CPU=x86-64-v3 CHECKED=tests/laws tries others
CPU ?= generic
CHECKED ?= tests/docs/test_pages.py tests/measures tests/models tests/objectives tests/surrogates tests/trainers
processor: $(VENV)/.dev
	NUMBA_CPU_NAME=$(CPU) NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=$(abspath $(VENV))/$(CPU) \
		$(BIN)/python -m pytest -q -n 2 --dist loadfile $(CHECKED)

# kernels compiled with checks of every index; slow, for whoever changes one
bounds: $(VENV)/.dev
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/bounds $(BIN)/python -m pytest -q \
		tests/surrogates tests/models tests/objectives tests/trainers tests/laws tests/measures tests/data

SEED ?= 1

# other seeds stop at other moments
RUNS ?= 200
faults: $(VENV)/.dev
	$(BIN)/python -m tools.faults --runs $(RUNS) --seed $(SEED)

# other seeds give other inputs; what it finds is in .fuzz/, with the command that repeats it
SECONDS ?= 3600
TARGET ?=
fuzz: $(VENV)/.dev
	$(BIN)/python -m tools.fuzz --seconds $(SECONDS) --seed $(SEED) --target "$(TARGET)"

# ONLY=data/letor,cli: checks of some modules; .removed.json keeps which tests reach them
ONLY ?=
removed: $(VENV)/.dev
	$(BIN)/python -m tools.removed --only "$(ONLY)"

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# one wheel for any platform, and one with compiled kernels for this platform and this Python; the same commit
# gives the same bytes, so one process compiles all kernels in order: their symbols have running numbers
BASELINE := NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=$(abspath build)/kernels
STATED := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/directrix/__init__.py)
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
dist: $(VENV)/.release
	rm -rf dist
	$(BIN)/python -m build
	rm -rf build/kernels
	$(BASELINE) DIRECTRIX_NUM_THREADS=1 $(BIN)/directrix doctor --compile
	$(BASELINE) $(BIN)/python -m tools.wheel dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/installed
	$(BIN)/uv pip install --quiet --python $(VENV)/installed/bin/python --find-links dist directrix==$(STATED)
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file dist/directrix.cdx.json $(VENV)/installed/bin/python
	$(BIN)/python -m pytest -q tests/project

version:
	@test -n "$(VERSION)" || { echo 'type: make version VERSION=1.0.1'; exit 2; }
	grep -q '^## $(VERSION)' CHANGELOG.md || { echo 'write the section $(VERSION) of CHANGELOG.md'; exit 1; }
	sed -i 's/^__version__ = .*/__version__ = "$(VERSION)"/' src/directrix/__init__.py
	sed -i "/^date-released: /d; s/^version: .*/version: $(VERSION)\ndate-released: $$(date +%F)/" CITATION.cff
	sed -i 's/^directrix [0-9][^ ]* /directrix $(VERSION) /' README.md
	@echo 'now: git commit, git tag v$(VERSION), make release'

release: $(VENV)/.release
	$(BIN)/python -m tools.release
	$(MAKE) test slow
	$(MAKE) dist
	@echo 'to publish, type: $(BIN)/twine upload dist/*.whl dist/*.tar.gz'

# Only direct dependencies are at their lowest: newer ones below them warn of what old ones call.
# LOWEST=tests/measures runs a part; slow tests do not run.
LOWEST ?= tests --ignore=tests/docs --ignore=tests/project
lowest: $(VENV)/.release
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/lowest
	$(BIN)/uv pip install --quiet --python $(VENV)/lowest/bin/python --resolution lowest-direct --editable ".[test]"
	NUMBA_CACHE_DIR=$(abspath $(VENV))/lowest/kernels $(VENV)/lowest/bin/python -m pytest -q -n 2 --dist loadfile \
		-m "not slow" -W ignore::DeprecationWarning $(LOWEST)

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
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test,lint,docs]"
	touch $@ $(VENV)/.demo

$(VENV)/.release: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[test,release]"
	touch $@

clean:
	rm -rf $(VENV) site dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
