# Two commands for newcomers: `make demo` and `make test`. Each does all its own set-up.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
C      := $(wildcard src/keyhole/kernels/*.[ch])

# A shell that forbids bytecode makes every import several times slower.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint types unit bench format clean

demo: $(VENV)/.demo
	$(BIN)/keyhole demo --save demo.png

test: lint types unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev
	$(BIN)/mypy

unit: $(VENV)/.dev $(VENV)/.postgresql
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --cov --cov-report=term:skip-covered

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/suite

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist src/keyhole/kernels/*.so

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Keyhole needs Python 3.11 or newer; run make with PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml $(C)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[cli,plot]'
	touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml $(C)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.demo

# The tests of SQLSource start a PostgreSQL server of their own, from Debian's package; without it they are skipped.
$(VENV)/.postgresql: $(VENV)/.made
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
	  || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql; } >/dev/null 2>&1 \
	  || echo "PostgreSQL cannot be installed here; its tests will be skipped."
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	touch $@
