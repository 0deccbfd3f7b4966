# `make help` lists what there is. CI calls nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:

# The first Python >= 3.11 there is; PYTHON=... chooses another.
PYTHON ?= $(shell for p in python3 python3.12 python3.13 python3.11 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
PY := $(VENV)/bin/python
# A stamp named by what was installed: a changed lock file installs again, an unchanged one costs nothing.
STAMP := $(VENV)/.installed-$(firstword $(shell sha256sum requirements/dev.txt))
RESULTS := build/results
ARGS ?=

# CLUSTER=existing: tests and demo use the cluster of $KUBECONFIG and leave it standing.
export CLUSTER

##@ Try it
.PHONY: demo
demo: $(STAMP) ## A local cluster, the operator, releases under live traffic (ACT=rollback plays one act)
	$(PY) -m demo up $(if $(ACT),--act $(ACT)) $(ARGS)

.PHONY: demo-down
demo-down: $(STAMP) ## Stop the demo; nothing stays behind
	$(PY) -m demo down

##@ Test
.PHONY: test
test: $(STAMP) ## Everything: lint, unit, cluster up, integration, e2e; one summary
	$(PY) .ci/phases.py $(ARGS)

.PHONY: unit
unit: triton-server browser ## Unit tests and goldens: no cluster, two minutes (ARGS="-k name" chooses)
	$(PY) -m pytest $(wildcard tests/unit tests/golden) --junit-xml=$(RESULTS)/unit.xml $(ARGS)

# The real tritonserver for tests on loopback, in the cache; a second time costs nothing.
.PHONY: triton-server
triton-server: $(STAMP)
	@$(PY) tests/unit/triton_sentiment/real_triton.py

# A headless Chromium for tests of pages, in the cache; a machine that has one, or can get none, does without.
.PHONY: browser
browser: $(STAMP)
	@$(PY) -m tests.support.chromium

.PHONY: integration
integration: control-plane triton-server ## Tests against a real API server of their own, and of the chart (needs: Go)
	$(PY) -m pytest tests/bad_input tests/integration tests/unit/chart --junit-xml=$(RESULTS)/integration.xml $(ARGS)

# The API server, etcd and helm, built once into the cache: no test waits for a compiler.
.PHONY: control-plane
control-plane: $(STAMP)
	@$(PY) -m tests.support.control_plane

.PHONY: e2e
e2e: $(STAMP) ## User stories on the running cluster (needs: make up images)
	$(PY) -m pytest tests/e2e --junit-xml=$(RESULTS)/e2e.xml $(ARGS)

.PHONY: lint
lint: $(STAMP) ## ruff, mypy --strict, import rule, changelog fragments, links of the docs
	$(PY) .ci/lint.py $(ARGS)

.PHONY: fmt
fmt: $(STAMP) ## Format and fix what ruff can fix
	$(VENV)/bin/ruff check --fix-only --quiet .
	$(VENV)/bin/ruff format .

.PHONY: golden
golden: $(STAMP) ## Write the goldens anew; review the diff like code
	$(PY) -m pytest $(wildcard tests/unit tests/golden) -q --rewrite-goldens $(ARGS)
	git status --short tests

.PHONY: bench
bench: control-plane ## Measure beside a bare client, on a control plane of its own (docs/benchmarks.md; needs: Go)
	$(PY) -m bench $(ARGS)

##@ Build
.PHONY: wheel
wheel: $(STAMP) ## The wheel, in dist/ (the same bytes from the same tree)
	rm -rf dist
	@mkdir -p $(RESULTS)
	$(PY) -m build --wheel --no-isolation --outdir dist . >$(RESULTS)/wheel.log 2>&1 || { cat $(RESULTS)/wheel.log; exit 1; }
	ls -l dist

.PHONY: images
images: $(STAMP) ## Build the images and load them into the local cluster
	$(PY) -m dev build-image operator --load
	$(PY) -m dev build-image triton-sentiment --load

.PHONY: docs
docs: $(STAMP) ## Write the reference pages anew, check links and anchors
	$(PY) docs/reference/generate.py
	$(PY) docs/cli_reference.py
	$(PY) .ci/links.py

.PHONY: requirements
requirements: $(STAMP) ## Lock the requirements anew (ARGS=--upgrade takes newer versions)
	$(call compile,--extra differ --extra fetch --extra metrics pyproject.toml -o images/operator/requirements.txt)
	$(call compile,--all-extras -c images/operator/requirements.txt pyproject.toml requirements/dev.in -o requirements/dev.txt)

##@ Local cluster
.PHONY: up
up: $(STAMP) ## Bring the local cluster up (ARGS="--nodes 3")
	$(PY) -m dev up $(ARGS)

.PHONY: down
down: $(STAMP) ## Take the local cluster down: no process, mount or interface stays
	$(PY) -m dev down $(ARGS)

##@ Housekeeping
.PHONY: clean
clean: ## Remove what was built in this folder (the cluster's cache is elsewhere: python -m dev status)
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help
help: ## This list
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: venv
venv: $(STAMP)

$(STAMP):
	@test -n "$(PYTHON)" || { echo "Python >= 3.11 is needed, none was found: install one or say PYTHON=/path/to/python" >&2; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "$(PYTHON) has no venv module (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "installing $(VENV) from requirements/dev.txt" >&2
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	@# In place, without a build: the package is found where it lies, and `kubectl iv` works with .venv/bin in PATH.
	@echo '$(CURDIR)/operator' > "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/inferenceversion_operator.pth"
	@for script in kubectl-iv=__main__ kubectl_complete-iv=kubectl_complete; do \
		printf '#!$(CURDIR)/$(PY)\nimport sys\n\nfrom inferenceversion_operator.cli.%s import main\n\nsys.exit(main())\n' \
			$${script#*=} > $(VENV)/bin/$${script%=*}; \
		chmod +x $(VENV)/bin/$${script%=*}; \
	done
	@rm -f $(VENV)/.installed-*
	@touch $@

# No index and no download address in the lock files: everyone has their own mirror.
define compile
$(VENV)/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host $(ARGS) $(1)
endef
