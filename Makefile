RUN = python3 dev.py run

# Other people's programs and a browser on a busy machine: one second try, and the summary names who needed it.
PEERS = pytest -n 2 --dist loadfile --reruns 1 -r R

.PHONY: help setup test check conformance e2e bench soak fuzz

help:  ## what each target does
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*##/\t/'

setup:  ## make .venv
	python3 dev.py setup

test:  ## unit, property, contract and integration tests
	python3 dev.py test

check:  ## ruff, pyright, import-linter, size gate
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) python scripts/sizes.py
	$(RUN) lint-imports --no-cache
	$(RUN) pyright

conformance:  ## the suites with real peers, installed once into a cache outside the checkout
	$(RUN) python scripts/peers.py install
	$(RUN) $(PEERS) tests/conformance
	$(RUN) $(PEERS) tests/e2e/web
	$(RUN) $(PEERS) tests/e2e/terminal

bench:  ## start-up, overhead, memory, streams and sessions beside the peers; writes docs/benchmarks.md
	$(RUN) python bench/startup.py --install --only none
	$(RUN) python bench/run.py
	$(RUN) python scripts/benchmarks.py

soak:  ## conversations through every surface at once, measured; SECONDS=60 by default
	$(RUN) python tests/suites/soak.py --seconds $(or $(SECONDS),60)

fuzz:  ## every parser and protocol core, led by atheris where it can be had; SECONDS=60 in all by default
	-$(RUN) python -m pip install -q -c constraints.txt atheris
	$(RUN) python tests/fuzz/cores.py --seconds $(or $(SECONDS),60)
