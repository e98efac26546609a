# Every target except clean first sets up .venv, which takes no time if .venv is up to date.

# The Python that makes .venv; at least 3.10.
PYTHON ?= python3
# Further arguments for `cudamm bench` or pytest, as in: make bench ARGS=--help
ARGS ?=

# Duration of `make fuzz` in seconds, and number of signals that `make kills` sends.
SECONDS ?= 3600
N ?= 200

.PHONY: setup bench test fuzz kills check pictures clean

# bootstrap.py does nothing if .venv is up to date.
setup:
	@$(PYTHON) bootstrap.py

bench: setup
	@.venv/bin/cudamm bench $(ARGS)

# With PYTHONDONTWRITEBYTECODE, each worker would compile all test modules in every run. Their byte code is kept in
# .venv instead, and the source folders stay as they are.
BYTECODE = $(if $(PYTHONDONTWRITEBYTECODE),env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(CURDIR)/.venv/bytecode")

test: setup
	@$(BYTECODE) .venv/bin/python -m pytest -n auto --dist loadfile $(ARGS)

# Attacks every command with random input. ARGS=--help lists more options.
fuzz: setup
	@.venv/bin/python -m pytest -q -m long tests/fuzz
	@.venv/bin/python tests/fuzz/fuzz.py --seconds $(SECONDS) $(ARGS)

# Sends signals at random moments of every command.
kills: setup
	@CUDAMM_KILLS=$(N) .venv/bin/python -m pytest -s -m "" tests/fuzz/test_kills.py $(ARGS)

check: setup
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy cudamm bootstrap.py tests/api/test_typed_use.py benchmarks

# Draws the pictures of the README and of docs/ladder.md; no GPU is needed.
pictures: setup
	@.venv/bin/python docs/figures/draw.py
	@mkdir -p docs/pictures
	@.venv/bin/cudamm report docs/pictures/h200.json --svg docs/pictures/bench.svg
	@.venv/bin/cudamm list --quiet --svg docs/pictures/list.svg >/dev/null
	@.venv/bin/cudamm trace -m naive,coalesced --warp 0 --quiet --svg docs/pictures/warp.svg >/dev/null
	@.venv/bin/cudamm trace -m tiled-padded -D PAD=0,1 --quiet --svg docs/pictures/trace.svg >/dev/null
	@.venv/bin/cudamm roofline --peak 19500 --bandwidth 1555 --quiet --plot docs/pictures/roofline.svg >/dev/null

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name .git -prune -o -type d -name __pycache__ -exec rm -rf {} +
