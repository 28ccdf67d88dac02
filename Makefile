# Commands for developers. `make` without a target lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
MINUTES ?= 10
KILLS   ?= 100
BATCHES ?= 1000
WORKERS ?= 2
# Tests start hundreds of Python processes, and each would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all faults soak endurance fuzz check format docs bench nexmark tpch lock clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## install everything into .venv (quick if it is up to date)

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed; name it: make PYTHON=python3.11" >&2; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
	  echo "installing Python packages with uv"; \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
	  uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.txt && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
	  echo "installing Python packages with pip"; \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

demo: $(READY)  ## count page views per region on a real Kafka broker, live
	@$(BIN)/millstream demo

test: check  ## lint, check types and run the tests, with a real broker and Spark, in WORKERS processes
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-all: check  ## like test, including slow tests, with 1,000 random cases per test
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not faults' --hypothesis-profile thorough

faults: $(READY)  ## test crashes and failures at every failpoint, and update the table in docs/reliability.md
	@$(BIN)/python -m tests.faults.report
	@$(BIN)/python -m pytest -m 'faults or slow' --ignore tests/faults/test_crashes.py tests/faults

soak: $(READY)  ## kill jobs at random (MINUTES, KILLS, SEED) and look for lost or duplicate messages
	@$(BIN)/python -m tests.faults.soak --minutes $(MINUTES) --kills $(KILLS) $(if $(SEED),--seed $(SEED))

endurance: $(READY)  ## run long jobs (BATCHES, KINDS) and look for resources that grow from batch to batch
	@$(BIN)/python -m tests.endurance --batches $(BATCHES) $(if $(KINDS),--kinds $(KINDS))

fuzz: $(READY)  ## decode random messages of every format (MINUTES, SEED) and report failures
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

check: $(READY)  ## lint, check types and wording
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/python -m tools.words

format: $(READY)  ## format the code
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

docs: $(READY)  ## generate the reference pages of the documentation
	@$(BIN)/python -m tools.pages

bench: $(READY)  ## compare with other systems (WORKLOADS, SYSTEMS, KINDS, ROWS, REPEATS, RESULTS, FRESH=1) and update docs/benchmarks.md
	@$(BIN)/python -m benchmarks.comparison --workloads "$(WORKLOADS)" --systems "$(SYSTEMS)" --kinds "$(KINDS)" \
	  --rows "$(ROWS)" --repeats "$(REPEATS)" --results "$(RESULTS)" $(if $(FRESH),--fresh)

nexmark: $(READY)  ## run Nexmark on Flink and Millstream (QUERIES, SYSTEMS, EVENTS, REPEATS, RESULTS, FRESH=1) and update docs/benchmarks/nexmark.md
	@$(BIN)/python -m benchmarks.nexmark --queries "$(QUERIES)" --systems "$(SYSTEMS)" --events "$(EVENTS)" \
	  --repeats "$(REPEATS)" --results "$(RESULTS)" $(if $(FRESH),--fresh)

tpch: $(READY)  ## run joins of TPC-H on Flink and Millstream (QUERIES, SYSTEMS, CHANGES, REPEATS, RESULTS, FRESH=1) and update docs/benchmarks/tpch.md
	@$(BIN)/python -m benchmarks.tpch --queries "$(QUERIES)" --systems "$(SYSTEMS)" --changes "$(CHANGES)" \
	  --repeats "$(REPEATS)" --results "$(RESULTS)" $(if $(FRESH),--fresh)

lock:  ## update requirements.txt (needs uv)
	@uv pip compile --quiet --universal --python-version 3.11 --extra dev --generate-hashes \
	  --custom-compile-command "make lock" --upgrade --output-file requirements.txt pyproject.toml

clean:  ## remove generated files and .venv, except the download cache
	@rm -rf $(VENV) .millstream .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist spark-warehouse
