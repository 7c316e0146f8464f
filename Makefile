PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
comma := ,
# GPU=1 adds JAX with CUDA and trains there; the default is the CPU.
EXTRAS := train,adapters,web,notebooks,dev$(if $(GPU),$(comma)gpu)
PYTEST := -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
FLOORS := .venv-floors
STAMP := $(VENV)/.installed$(if $(GPU),-gpu)

.PHONY: test floors train play docs lint types clean

test: $(STAMP) lint types
	$(BIN)/python $(PYTEST)

# The tests with the oldest versions that pyproject.toml allows, in an environment of their own.
floors: $(FLOORS)/.installed
	$(FLOORS)/bin/python $(PYTEST)

train: $(STAMP)
	$(if $(GPU),,JAX_PLATFORMS=cpu) $(BIN)/python train/ppo_skullking.py

play: $(STAMP)
	$(if $(GPU),,JAX_PLATFORMS=cpu) $(BIN)/python -m web

# The pages, in build/docs; every warning is an error.
docs: $(STAMP)-docs
	JAX_PLATFORMS=cpu $(BIN)/python docs/pictures.py
	JAX_PLATFORMS=cpu $(BIN)/sphinx-build --quiet --fail-on-warning --fresh-env --builder html docs build/docs

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# The environment is made once and again whenever the requirements change.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $(STAMP)

$(FLOORS)/.installed: pyproject.toml constraints-floors.txt
	test -x $(FLOORS)/bin/python || $(PYTHON) -m venv $(FLOORS)
	$(FLOORS)/bin/python -m pip install --quiet --upgrade pip
	$(FLOORS)/bin/python -m pip install --quiet --constraint constraints-floors.txt --editable ".[$(EXTRAS)]"
	touch $@

$(STAMP)-docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) $(FLOORS) .pytest_cache .ruff_cache .mypy_cache .hypothesis dist build runs
