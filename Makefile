# Every target sets up what it needs in .venv on a fresh clone, and costs little the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := pyproject.toml CMakeLists.txt $(wildcard cpp/*)

.PHONY: demo tour test attack sanitize test-lowest test-engines test-tools test-browser test-serving test-gpu bench bench-kernels bench-text bench-engines bench-gpu bench-quality bench-labels bench-streams text-data mutants lint docs refresh clean
.DEFAULT_GOAL := demo

# The main job, on penguins: learn from two thirds, judge on the others, say why, forget two; ends by saying where the report is.
DEMO := build/demo
demo: $(VENV)/built
	mkdir -p $(DEMO)
	$(BIN)/suffice demo --write $(DEMO)
	$(BIN)/suffice fit $(DEMO)/penguins-train.csv --target species -o $(DEMO)/penguins.suffice
	$(BIN)/suffice evaluate $(DEMO)/penguins.suffice $(DEMO)/penguins-test.csv
	$(BIN)/suffice explain $(DEMO)/penguins.suffice $(DEMO)/penguins-test.csv --row 98 --top 3
	$(BIN)/suffice forget $(DEMO)/penguins.suffice $(DEMO)/penguins-forget.csv -o $(DEMO)/fewer.suffice
	$(BIN)/suffice explain $(DEMO)/fewer.suffice $(DEMO)/penguins-test.csv --row 98 --top 1
	$(BIN)/suffice report $(DEMO)/penguins.suffice $(DEMO)/penguins-test.csv -o $(DEMO)/report.html

# What the library does, with every kind of model.
tour: $(VENV)/built
	$(BIN)/python examples/demo.py

# Every core takes tests; then `.venv/bin/coverage report` lists the lines that no test ran.
# `make test ARGS="-m 'not slow'"` leaves the longest out, and ARGS=tests/test_frames.py runs one file.
test: $(VENV)/test
	$(BIN)/python -m pytest -n auto --cov --cov-report= $(ARGS)

# Hostile input of every kind, searched for SECONDS; prints what was tried, refused and answered, and fails if anything failed.
# `make attack SECONDS=60 ARGS=sequences` runs one of them, ARGS="--seed 7" repeats a run.
attack: SECONDS ?= 600
attack: $(VENV)/test
	PYTHONPATH=tests $(BIN)/python -m attacks --seconds $(SECONDS) $(ARGS)

# Tests of the kernels under the sanitizers of the compiler, which must be GCC on Linux; `make sanitize ARGS=thread`
# runs one kind. The kernels are compiled for it in build/sanitize-*; .venv keeps the ordinary ones.
sanitize: $(VENV)/test
	$(BIN)/python tools/sanitize.py $(ARGS)

# The lowest versions of everything, in an environment of its own. They are those of Python 3.11, as PYTHON must be.
test-lowest:
	test -x $(VENV)-lowest/bin/python || $(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(VENV)-lowest/bin/python -m pip install --quiet --constraint tests/lowest_versions.txt --group test .
	$(VENV)-lowest/bin/python -m pytest -n auto -m "not slow" $(ARGS)

# Real sessions of every engine; `make test` passes without them.
test-engines: $(VENV)/test-engines
	$(BIN)/python -m pytest tests/engines

# Tools of others with our estimators; where one is not installed, its tests skip.
test-tools: $(VENV)/test-tools
	$(BIN)/python -m pytest tests/tools

# The report in a real Chromium, which must be installed; without one they skip.
test-browser: $(VENV)/test-browser
	$(BIN)/python -m pytest tests/browser

# The servers of docs/tutorials/serving.md, started and asked; `make test` passes without them.
test-serving: $(VENV)/test-serving
	$(BIN)/python -m pytest tests/serving

# Arrays on a GPU. Without a card these tests skip and say so; `make test` runs the kernels on the host.
test-gpu: $(VENV)/test-gpu
	$(BIN)/python -m pytest tests/gpu

# Mutation testing on the fast tests: prints what no test noticed, and the score of each area. ARGS=model/joint tries one area.
mutants: $(VENV)/mutants
	$(BIN)/python tools/mutants.py $(ARGS)

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks

# The kernels by GCC and by clang, side by side; COMPILERS="g++ clang++-14" names others.
COMPILERS ?= g++ clang++
bench-kernels: $(VENV)/bench
	for compiler in $(COMPILERS); do \
	  PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/kernels-$$compiler -G Ninja -DCMAKE_BUILD_TYPE=Release \
	    -DCMAKE_CXX_COMPILER=$$compiler -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
	    -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) && \
	  PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/kernels-$$compiler --target _core || exit; \
	done
	$(BIN)/python -m benchmarks.kernels $(ARGS) $(COMPILERS:%=build/kernels-%)

bench-text: text-data $(VENV)/bench-text
	$(BIN)/python -m benchmarks text
	$(BIN)/python -m benchmarks.text_quality

# Files, Spark against MLlib, DuckDB, and every engine by partitions; takes 25 GB of disk where temporary files go.
bench-engines: $(VENV)/bench-engines
	$(BIN)/python -m benchmarks engines

# On a GPU, with CuPy and PyTorch; prints the table of docs/benchmarks.md.
bench-gpu: $(VENV)/test-gpu
	$(BIN)/python -m benchmarks.gpu

# Against boosted trees, forests and logistic regression; writes docs/quality.md. `make bench-quality ARGS="--only heart"` is quick.
bench-quality: $(VENV)/bench-quality
	$(BIN)/python -m benchmarks.quality $(or $(ARGS),--speed)

# Planted errors among labels, beside cleanlab; class shares that have changed; few labels; clusters without any.
bench-labels: text-data $(VENV)/bench-labels
	$(BIN)/python -m benchmarks.wrong_labels
	$(BIN)/python -m benchmarks.changed_shares
	$(BIN)/python -m benchmarks.few_labels
	$(BIN)/python -m benchmarks.clusters

# One row at a time, and changes that are found, both beside river.
bench-streams: text-data $(VENV)/bench-text
	$(BIN)/python -m benchmarks.streams
	$(BIN)/python -m benchmarks.drift --repeats 10

# Said before anything is installed.
text-data:
	@test -n "$$SUFFICE_DATA" || { echo "SUFFICE_DATA must name the folder of 20newsgroups-train.parquet," \
	  "20newsgroups-test.parquet and sms-spam.parquet" >&2; exit 2; }

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/write_stubs.py --check
	$(BIN)/clang-format --dry-run --Werror $(wildcard cpp/*.cpp cpp/*.hpp)
	$(BIN)/python -m pytest -q --noconftest tests/test_architecture.py
	@echo "kernels without vector extensions, as other compilers than GCC and clang see them"
	@printf '%s\n' $(filter-out %bindings.cpp %tokens.cpp,$(wildcard cpp/*.cpp)) | xargs -P 4 -n 8 $(CXX) -std=c++20 -fsyntax-only -DSUFFICE_PLAIN_VECTORS

# The site, in build/docs; a warning is an error. Its figures are drawn anew by `python docs/figures.py`.
docs: $(VENV)/docs
	$(BIN)/python -m sphinx --fail-on-warning --fresh-env --quiet docs build/docs
	@echo "open build/docs/index.html"

# What the code and the commands of the guides print, written into them; `make refresh ARGS=docs/text.md` is one page.
refresh: $(VENV)/test
	$(BIN)/python tools/refresh_pages.py $(ARGS)

clean:
	rm -rf $(VENV) $(VENV)-lowest build src/suffice/_core.pyi

# The package is installed in place: Python sources need no rebuild, kernels rebuild when they change.
$(VENV)/built: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install "scikit-build-core>=0.11" "nanobind>=2.9" "cmake>=3.18" ninja
	$(PIP) install --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src  # the first command need not, and cannot where writing bytecode is turned off
	touch $@

$(VENV)/test $(VENV)/test-engines $(VENV)/test-tools $(VENV)/test-browser $(VENV)/test-serving $(VENV)/test-gpu $(VENV)/mutants $(VENV)/lint $(VENV)/bench $(VENV)/bench-text $(VENV)/bench-engines $(VENV)/bench-quality $(VENV)/bench-labels $(VENV)/docs: $(VENV)/%: $(VENV)/built
	$(PIP) install --group $*
	touch $@
