# make demo: sanitizes the sample corpus with the bundled vocabulary and language model, shows what
#   came out, and makes a page of what other settings would do.
# make test: lints, type-checks and runs the tests.
# make test-all: the same with the tests that run engines or draw large samples: before a release.
# make quick: the same in under a minute, without the tests that run jobs or take long.
# make docs: builds the documentation as a site in build/docs, without network.
# make test-pythons: imports and some quick tests under Python 3.10 and 3.13, where installed.
# All create .venv and install what they need; all they ask for is Python 3.10-3.13, pip and make.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

# Folders of tests that run whole jobs or draw large samples; "make quick" leaves them out, and with
# them every test marked "slow". A new folder is in until it is named here.
LONG_TESTS := analysis audit cloud commands engines examples pipelines statistical templates transforms
QUICK := -m "not slow and not engines and not exhaustive" $(LONG_TESTS:%=--ignore=tests/%)

# One more process than there are cores where engines are run: a quarter of the time is waited for them.
PROCESSES := $(shell getconf _NPROCESSORS_ONLN)
test-all: PROCESSES := $(shell echo $$(($(PROCESSES) + 1)))

# Each computes on one thread, as there are processes enough. Compiled files are kept, whatever the
# environment says: without them every worker and every program that a test launches compiles all.
test test-all quick test-pythons: export OMP_NUM_THREADS := 1
test test-all quick test-pythons: export OPENBLAS_NUM_THREADS := 1
test test-all quick test-pythons: export PYTHONDONTWRITEBYTECODE :=

IN_PROCESSES = --numprocesses $(PROCESSES) --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all quick test-pythons lint docs clean

demo: $(VENV)/installed
	rm -rf build/demo build/demo-metrics build/demo-measured build/demo-preview.html
	$(RUN) -m pipelines.sanitize --input dxbeam/demo/sample_corpus.jsonl --vocabulary demo \
	  --epsilon 10 --decode context --truecase --language_model demo \
	  --keep_fields label --group_by label --output build/demo
	$(RUN) -m dxbeam.demo.show dxbeam/demo/sample_corpus.jsonl build/demo build/demo-metrics
	$(RUN) -m pipelines.measure --vocabulary demo --mechanisms laplace,santext --rank_cs 0.02 \
	  --words 1000 --output build/demo-measured
	@echo 'What other settings would do: open build/demo-measured/report.html'
	@$(RUN) -m pipelines.preview --input dxbeam/demo/sample_corpus.jsonl --vocabulary demo \
	  --output build/demo-preview.html
	@echo 'What they would do to these texts: open build/demo-preview.html'
	@echo
	@echo 'Next, look at what a release of your own would be. This one writes nothing:'
	@echo "  $(VENV)/bin/dxbeam sanitize --input 'dxbeam/demo/*.jsonl' --vocabulary demo --epsilon 10 --output build/release --dry_run"

test: $(VENV)/installed-for-tests lint
	$(RUN) -m pytest $(IN_PROCESSES) -m "not engines and not exhaustive"

test-all: $(VENV)/installed-for-tests lint
	$(RUN) -m pytest $(IN_PROCESSES)

quick: $(VENV)/installed-for-tests lint
	$(RUN) -m pytest --quiet --numprocesses auto --maxprocesses 4 --durations-min=2 $(QUICK)

test-pythons: | $(VENV)/bin/python
	.ci/test_pythons 3.10 3.13 -- --quiet -m "not slow and not exhaustive" \
	  tests/test_public_names.py tests/text --ignore=tests/text/decoding --ignore=tests/text/adapters \
	  tests/mechanisms/test_noise_rule.py tests/pipelines/test_golden.py

docs: $(VENV)/installed-for-tests
	$(RUN) -m mkdocs build --quiet
	@echo 'Open build/docs/index.html'

lint: $(VENV)/installed-for-tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; v = sys.version_info; \
	  sys.exit(0 if (3, 10) <= v[:2] <= (3, 13) else f"dxbeam needs Python 3.10 to 3.13, this is {v[0]}.{v[1]}: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable '.[report]'
	touch $@

# Not compiled: tests import less than a third of it, and compile what they import.
$(VENV)/installed-for-tests: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --no-compile --editable '.[test,docs]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build
