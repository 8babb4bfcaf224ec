# The commands of this project; `make` alone lists them. A person and CI use the same ones.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Twice the cores of a small machine: journeys and kills wait for servers most of the time.
WORKERS ?= 4
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Bytecode is kept, whatever the shell says: without it each worker and each server of a test compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE
APT := apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3

.PHONY: help install run test test-python test-frontend check lint types imports templates prose \
	deps frontend fmt browser bench coverage lock clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | \
		awk -F'|' '{ printf "  make %-14s %s\n", $$1, $$2 }'

# --- setting up: each step leaves a stamp, so a second run costs nothing ----------------------

install: $(VENV)/stamp-python node_modules/stamp-npm ## Environment in .venv, locked packages, front-end bundle
	@node static/build.mjs --if-changed

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Waypost needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/stamp-python: requirements-dev.lock | $(VENV)/bin/python
	$(PIP) install --quiet --require-hashes --requirement requirements-dev.lock
	@touch $@

node_modules/stamp-npm: package-lock.json package.json .npmrc
	@command -v npm >/dev/null || { echo "Waypost's bundle needs Node.js 20 or newer with npm" >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

browser: ## Debian's Chromium and Chinese fonts, for the browser tests
	@command -v chromium >/dev/null && [ -n "$$(ls -d /usr/share/fonts/opentype/noto/NotoSansCJK-* 2>/dev/null)" ] || \
		$(MAKE) --no-print-directory apt-browser

.PHONY: apt-browser
apt-browser:
	@command -v apt-get >/dev/null || { echo "Install a Chromium as 'chromium' and the Noto CJK fonts, then try again" >&2; exit 1; }
	for try in 1 2 3 4 5; do $(APT) update -qq && break; [ $$try = 5 ] && exit 1; sleep $$((try * 5)); done
	DEBIAN_FRONTEND=noninteractive $(APT) install -y -qq --no-install-recommends chromium fonts-noto-cjk

# --- running ----------------------------------------------------------------------------------

run: export WAYPOST_DEMO = 1
run: install ## A demo on this machine: sample definitions and accounts, then the server
	@$(BIN)/flask --app webapp db upgrade
	@$(BIN)/flask --app webapp demo load
	@exec $(BIN)/flask --app webapp serve

# --- testing ----------------------------------------------------------------------------------

test: install browser test-python test-frontend ## Every test

# What the first run compiles, rewrites and tabulates is done once here, not by every worker for itself.
$(VENV)/stamp-bytecode: $(VENV)/stamp-python
	@$(BIN)/pytest --collect-only -qq -p no:randomly -m "not bench" >/dev/null || true # the run itself says what is wrong
	@$(BIN)/python -c "from hypothesis import strategies; strategies.text().validate()"
	@touch $@

test-python: $(VENV)/stamp-bytecode
	$(BIN)/pytest -n $(WORKERS) --dist loadscope -m "not bench" $(ARGS)

test-frontend: node_modules/stamp-npm
	npm test --silent

coverage: install browser ## Every Python test, with branch coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -m "not bench" -p no:randomly
	$(BIN)/coverage combine
	$(BIN)/coverage report

bench: install ## Speed beside plain rows and a peer, in the same run
	$(BIN)/python -m tests.bench $(ARGS)

# --- checking ---------------------------------------------------------------------------------

check: install types lint imports templates prose deps frontend ## Lint, types, import rules, templates, prose, packages, TypeScript

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

imports:
	$(BIN)/lint-imports

templates:
	$(BIN)/djlint --quiet --lint templates

prose:
	$(BIN)/codespell README.md BENCHMARKS.md CONTRIBUTING.md ARCHITECTURE.md DECISIONS.md CHANGELOG.md templates webapp

deps:
	$(BIN)/deptry .

frontend: node_modules/stamp-npm
	npm run --silent typecheck
	npm run --silent lint

fmt: install ## Put everything into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	npm run --silent format

# --- upkeep -----------------------------------------------------------------------------------

# The lock files name no registry: they hold names, versions and hashes and fit any mirror.
COMPILE := PIP_CONFIG_FILE=/dev/null env -u PIP_FIND_LINKS -u PIP_EXTRA_INDEX_URL $(BIN)/pip-compile --quiet \
	--generate-hashes --strip-extras --allow-unsafe --no-header --no-emit-options \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

lock: $(VENV)/stamp-python ## Write both requirements locks and package-lock.json anew (UPGRADE=--upgrade for newer ones)
	$(PIP) install --quiet pip-tools
	$(COMPILE) $(UPGRADE) --output-file requirements.lock pyproject.toml
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['dev'], sep='\n')" | \
		$(COMPILE) $(UPGRADE) --constraint requirements.lock --output-file requirements-dev.lock pyproject.toml -
	npm install --package-lock-only --ignore-scripts --no-audit --no-fund

clean: ## Remove what was built and cached (not .venv, not data)
	rm -rf static/dist node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis htmlcov
	find webapp tests migrations -name __pycache__ -type d -prune -exec rm -rf {} +
