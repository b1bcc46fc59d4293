# make demo | test | fuzz | lint | format | names | bench | clean. Needs make, and Python 3.11 or newer with pip and venv.
# Another interpreter: make demo PYTHON=python3.12. More for pytest: make test ARGS='-k exposure'.

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
ARGS ?=

BIN := $(VENV)/bin
BENCH_VENV := benchmarks/.venv
PIP_FLAGS := -qq --disable-pip-version-check
TOO_OLD := lightmeter needs Python 3.11 or newer. Name one: make PYTHON=python3.12 ...

# $(call venv,FOLDER): create a virtual environment, after a look at the interpreter's version.
venv = command -v "$(PYTHON)" >/dev/null || { echo "No '$(PYTHON)' here. $(TOO_OLD)" >&2; exit 1; }; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "'$(PYTHON)' is $$("$(PYTHON)" -V 2>&1). $(TOO_OLD)" >&2; exit 1; }; \
	"$(PYTHON)" -m venv $(1) \
		|| { echo "Python could not create $(1). On Debian and Ubuntu, install python3-venv." >&2; exit 1; }

.PHONY: demo test fuzz lint format names bench clean

demo: $(VENV)/.installed
	@$(BIN)/lightmeter demo --report lightmeter-demo.html $(ARGS)

test: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

# The property tests with 2,000 examples each: long.
fuzz: $(VENV)/.installed-dev
	@HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest -n $(WORKERS) tests/properties tests/io tests/unit tests/exposure tests/audit $(ARGS)

lint: $(VENV)/.installed-dev
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.installed-dev
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

# What is generated from the classes, after a new measure, user model or other term: the public names, their types, docs.
names: $(VENV)/.installed-dev
	@$(BIN)/python tools/names.py
	@$(BIN)/python docs/refresh.py

bench: $(BENCH_VENV)/.installed
	@$(BENCH_VENV)/bin/python benchmarks/run.py $(ARGS)

# bin/pip comes last when an environment is made, so a half-made one is made again.
$(BIN)/pip:
	@$(call venv,$(VENV))

$(VENV)/.installed: pyproject.toml | $(BIN)/pip
	@echo "Installing lightmeter into $(VENV) (once; about half a minute)" >&2
	@$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[report]'
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing lightmeter and its development tools into $(VENV) (once; about two minutes)" >&2
	@$(BIN)/python -m pip install $(PIP_FLAGS) --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $(VENV)/.installed $@

$(BENCH_VENV)/bin/pip:
	@$(call venv,$(BENCH_VENV))

$(BENCH_VENV)/.installed: pyproject.toml constraints.txt $(wildcard benchmarks/requirements.txt) | $(BENCH_VENV)/bin/pip
	@echo "Installing lightmeter and what it is compared with into $(BENCH_VENV) (once)" >&2
	@$(BENCH_VENV)/bin/python -m pip install $(PIP_FLAGS) --constraint constraints.txt --editable . \
		$(addprefix --requirement ,$(wildcard benchmarks/requirements.txt))
	@touch $@

clean:
	rm -rf .venv $(BENCH_VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
