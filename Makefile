# One command surface. `make demo` and `make test` need nothing but Python 3.11+, make, and Java 17+ for Spark.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Hundreds of processes of the tests import the project: what one compiled serves the others, whatever the machine prefers.
export PYTHONDONTWRITEBYTECODE =

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TOOLS := .tools
VERSITYGW_VERSION := v1.8.0
S3_SERVER := $(TOOLS)/bin/versitygw
HDFS_READY := $(TOOLS)/hdfs/.ready
CLASSES := $(TOOLS)/spark.jsa

.PHONY: help setup java classes s3-server demo test test-browser test-spark-versions test-s3 test-hdfs proof fuzz coverage lint format bench bench-check docs clean

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

setup: $(READY) java ## Create the virtual environment and check for Java

$(READY): pyproject.toml constraints.txt
	@tools/python-setup "$(PYTHON)" "$(VENV)"
	@touch $@

java: $(READY)
	@$(BIN)/python tools/find_java.py --install > /dev/null

# Spark takes the Java that this finds, on the PATH or not.
WITH_JAVA = JAVA_HOME="$$($(BIN)/python tools/find_java.py)"

classes: $(CLASSES)

s3-server: $(S3_SERVER)

demo: $(READY) java ## Show the product's main job on this machine
	@$(WITH_JAVA) PYTHONPATH=. $(BIN)/python examples/demo.py

# Three on two cores, for one of them mostly waits for processes that it started.
WORKERS ?= 3

test: $(READY) java $(CLASSES) ## Run every test that needs no extra server
	$(WITH_JAVA) $(BIN)/pytest -n $(WORKERS) --dist loadgroup --ignore=tests/s3 --ignore=tests/hdfs --ignore=tests/browser $(ARGS)

test-browser: $(READY) ## Look at the report pages in a real browser (Chromium)
	@$(BIN)/python tools/find_browser.py --install > /dev/null
	$(BIN)/pytest tests/browser $(ARGS)

test-spark-versions: $(READY) java ## Run the Spark tests on Spark 4.1 and 4.2 (fetches both once)
	$(WITH_JAVA) $(BIN)/python tests/spark/other_versions.py 4.1 4.2

test-s3: $(READY) java $(CLASSES) $(S3_SERVER) ## Run the storage contract and the races on a real S3 server (needs Go once)
	$(WITH_JAVA) VERSITYGW="$(abspath $(S3_SERVER))" $(BIN)/pytest tests/contract tests/s3 --stores s3-server $(ARGS)

test-hdfs: $(READY) java $(CLASSES) $(HDFS_READY) ## Run the storage contract and the races on a real HDFS (needs Maven once)
	$(WITH_JAVA) $(BIN)/pytest tests/contract tests/hdfs --stores hdfs,hadoop $(ARGS)

# More than 1 is a longer run of the suites, or of those that are named.
EFFORT ?= 1
SUITES ?= $$($(BIN)/python -m tools.proof --suites)
# The older form of the report, because the newer one has no place for the figures that tests record.
proof: $(READY) java $(CLASSES) ## Run the reliability suites and write docs/reliability.md from their figures
	$(WITH_JAVA) CI=true INDEXTABLES_EFFORT=$(EFFORT) $(BIN)/pytest -n $(WORKERS) --dist loadgroup --timeout $$((600 * $(EFFORT))) \
	  -o junit_family=xunit1 --junitxml=build/proof.xml $(SUITES)
	$(BIN)/python -m tools.proof --effort $(EFFORT) build/proof.xml

MINUTES ?= 30
fuzz: $(READY) ## Fuzz every reader of foreign bytes, MINUTES in all
	$(BIN)/python -m tests.fuzz.campaign --minutes $(MINUTES) --json build/fuzz.json
	$(BIN)/python -m tools.proof build/fuzz.json

coverage: $(READY) java $(CLASSES) ## Run the tests whose coverage counts, and check what must be covered whole
	$(MAKE) test ARGS="--part counted --cov --cov-report=json:build/coverage.json $(ARGS)"
	$(BIN)/python tools/covered.py build/coverage.json

lint: $(READY) ## Check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## Rewrite the sources in the project's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) java ## Measure beside the peers, in one run, and write the page
	@for name in log checkpoint prune table decode spark lakekeeper; do \
	  $(WITH_JAVA) PYTHONPATH=. $(BIN)/python benchmarks/bench_$$name.py --json benchmarks/results/$$name.json; done
	$(WITH_JAVA) $(BIN)/python -m benchmarks.check --keep
	$(BIN)/python -m benchmarks.page

bench-check: $(READY) java ## Fail if a ratio is below 0.8 of the one that is kept
	$(WITH_JAVA) $(BIN)/python -m benchmarks.check

docs: $(READY) ## Write the generated pages and build the site
	$(BIN)/python -m indextables.config.docs > docs/reference/settings.md
	$(BIN)/python -m indextables.cli.reference > docs/reference/command-line.md
	$(BIN)/python -m tools.docs.errors > docs/reference/errors.md
	$(BIN)/python -m tools.docs.actions
	$(BIN)/python -m tools.docs.diagrams
	$(BIN)/python -m benchmarks.page
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean: ## Remove everything that make made
	rm -rf $(VENV) $(TOOLS) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist

$(CLASSES): $(READY) | java
	@$(WITH_JAVA) $(BIN)/python tools/spark_archive.py $@

$(S3_SERVER):
	@command -v go > /dev/null || { echo "The real S3 server is built with Go: install Go 1.22 or newer, then run make test-s3 again."; exit 1; }
	@echo "Building the S3 server versitygw $(VERSITYGW_VERSION) (some minutes, once)"
	@# Not optimised, and with memory to spare: tests do not measure it, and it is built in three fifths of the processor time.
	@GOBIN="$(abspath $(TOOLS)/bin)" GOGC=800 CGO_ENABLED=0 go install -gcflags='all=-N -l' -ldflags='-s -w' \
	  github.com/versity/versitygw/cmd/versitygw@$(VERSITYGW_VERSION)

$(HDFS_READY): $(READY)
	@command -v mvn > /dev/null || { echo "The real HDFS comes through Maven: install Maven 3.8 or newer, then run make test-hdfs again."; exit 1; }
	@echo "Fetching the HDFS mini cluster (56 MB, once)"
	@version=$$($(BIN)/python -c 'import glob, os, pyspark; print(glob.glob(os.path.join(pyspark.__path__[0], "jars", "hadoop-client-api-*.jar"))[0].rsplit("-", 1)[1].removesuffix(".jar"))'); \
	  mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
	    -Dartifact=org.apache.hadoop:hadoop-client-minicluster:$$version -DoutputDirectory=$(TOOLS)/hdfs
	@touch $@
