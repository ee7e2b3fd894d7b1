PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# The CPU build is taken when this very version is asked for first.
TORCH := torch==2.13.0

.PHONY: run test test-lowest wheel-test lint types contracts bench fuzz kills docs clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

# Types are checked with the extras there, too.
$(VENV)/.lint: $(VENV)/.test
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[lint]'
	@touch $@

run: $(VENV)/.core  ## install, then train six networks on generated graphs and compare them
	$(BIN)/osan demo

test: $(VENV)/.test  ## install the test extras and run every test
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# The same tests with the lowest version of every dependency that pyproject.toml allows, torch included. PyPI has
# it with CUDA; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu finds the smaller build for the CPU.
LOWEST_PYTHON ?= python3.10
test-lowest:
	$(LOWEST_PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python scripts/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c .venv-lowest/constraints.txt -e '.[test]'
	OMP_NUM_THREADS=1 .venv-lowest/bin/pytest -n 2 --dist worksteal

wheel-test:  ## the wheel in an empty environment: README, demo, theory, explorer
	$(PYTHON) scripts/wheel_test.py $(TORCH)

bench: $(VENV)/.test  ## every benchmark; the real data is read from OSAN_DATA
	for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

MINUTES ?= 30
fuzz: $(VENV)/.test  ## damaged files, run folders and commands for MINUTES=30
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz --minutes $(MINUTES)

COUNT ?= 300
kills: $(VENV)/.test  ## COUNT=300 kills of a run between and within its system calls
	OMP_NUM_THREADS=1 $(BIN)/python tests/fuzz/kills.py --count $(COUNT)

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs  ## the site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.lint
	$(BIN)/mypy

contracts: $(VENV)/.lint
	$(BIN)/lint-imports

clean:
	rm -rf .venv .venv-lowest build dist site demo.html demo.svg
