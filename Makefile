# make demo: sanitizes the sample corpus with the bundled vocabulary and shows what came out.
# make test: lints, type-checks and runs every test.
# Both create .venv and install what they need; all they ask for is Python 3.10-3.13, pip and make.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: demo test lint clean

demo: $(VENV)/installed
	rm -rf build/demo build/demo-metrics
	$(RUN) -m pipelines.sanitize --input dxbeam/demo/sample_corpus.jsonl --vocabulary demo \
	  --epsilon 10 --rank_c 0.02 --keep_fields label --group_by label --output build/demo
	$(RUN) -m dxbeam.demo.show dxbeam/demo/sample_corpus.jsonl build/demo build/demo-metrics

test: $(VENV)/installed-for-tests lint
	$(RUN) -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/installed-for-tests
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; v = sys.version_info; \
	  sys.exit(0 if (3, 10) <= v[:2] <= (3, 13) else f"dxbeam needs Python 3.10 to 3.13, this is {v[0]}.{v[1]}: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable .
	touch $@

$(VENV)/installed-for-tests: pyproject.toml | $(VENV)/bin/python
	$(RUN) -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) build
