# make run    sets up, runs what has the memos' tables and one question of BBR, ends by naming the reports
# make studies   every shipped study whole: its variants, today's stacks, BBR and L4S
# make test   sets up, passes every test
# make check  formatters, linters, layers, types     make bench  speed     make docs  the manual
# make setup  .venv/ and the Rust core, again only when something changed
# make validate  against closed-form laws and ns-2: build/validation.json, validation/README.md
# make paper  the numbers of paper/paper.md and README.md, and a PDF: build/paper/ (needs a kernel for virtual time)
# make images  the README's pictures      make gallery  evaluates all shipped laws and queues: docs/gallery/
# make digests  a digest of every shipped cell's records, to compare two versions by diff: build/digests.tsv
# make fuzz   study files, scenarios, laws, packetdrill scripts, captures, stores and folders, damaged at random for FUZZ_S seconds (600)
# make mutants SEED=n   SAMPLE=200 faults drawn at random, which the tests of their area must find: build/mutants/ (needs cargo-mutants)
# make wheel  a wheel with profile-guided optimization: build/dist/     make try-wheel  builds one quickly, and uses it
# make audit  licences and known faults of what cwndlab depends on (needs cargo-deny, pip-audit and the network)
# make lock   requirements/*.txt anew        make clean  all that was made here

PYTHON ?= $(firstword $(shell command -v python3.11 python3.12 python3.13 python3))
VENV   := .venv
BIN    := $(VENV)/bin
OUT    ?= build/reports

# With it, each command would compile every module again, for some two seconds.
unexport PYTHONDONTWRITEBYTECODE

# What a Rust test wrote that could not run on this machine.
SKIPPED = $${CARGO_TARGET_DIR:-target}/tmp/skipped
# The compilers that tests call do not find the job server of `make -j`, and would say so.
ALONE   = env -u MAKEFLAGS -u MFLAGS
# Tests on this machine's kernel run alone: a run on a busy machine does not count.
REAL_TIME = linux/tests/test_kernel.py
RUST    := Cargo.toml Cargo.lock $(shell find crates -name Cargo.toml -o -name build.rs -o -path '*/src/*.rs')
STUDIES  = $(notdir $(patsubst %/study.toml,%,$(wildcard python/cwndlab/studies/*/study.toml)))
# What `make run` runs: the tables of the memos, in a minute or two. The other questions of `bbr` send thousands of
# millions of packets, so `make studies` leaves them out, too, like three hours of Reno and 10 Gb/s in `many-flows`.
MAIN     = fall-floyd-1996 rfc2415 rfc2416 rfc2884 bbr
PART_rfc2415 = --set grid=tables_1_to_3,tables_4_and_5,table_6
PART_rfc2884 = --set grid=fairness,bulk,transactions,traced --set recovery=reno
SHORT_bbr    = --set question=slow-line
SHORT_many-flows = --set grid=edge_fairness

.PHONY: run studies test test-rust test-python check check-rust check-python try-wheel bench wheel digests fuzz mutants validate discriminate images paper gallery trust docs setup audit lock clean
.DEFAULT_GOAL := run

run: setup
	$(call reported,$(MAIN),PART)

studies: setup
	$(call reported,$(STUDIES))

# Runs the studies $(1), each with its options in SHORT_ and, if it is named, in $(2)_, and names the reports. The pages of
# lessons, which take one processor, are written meanwhile.
define reported
	@rm -rf $(OUT); mkdir -p $(OUT); pages=; \
	if [ -e python/cwndlab/report/live/engine.wasm.gz ]; then \
		$(BIN)/cwndlab explore -o $(OUT)/lessons >$(OUT)/lessons.log 2>&1 & pages=$$!; \
	fi; \
	$(foreach study,$(1),$(BIN)/cwndlab run $(study) $(SHORT_$(study)) $($(2)_$(study)) -o $(OUT)/$(study) &&) \
	{ [ -z "$$pages" ] || wait $$pages || { cat $(OUT)/lessons.log; exit 1; }; }
	@rm -f $(OUT)/lessons.log
	@$(BIN)/python -m cwndlab.apps.gallery $(OUT)
endef

test: test-rust test-python
	$(BIN)/python -m pytest $(REAL_TIME)

test-rust:
	@rm -f $(SKIPPED)
	$(ALONE) cargo test --workspace --locked --quiet
	@[ ! -e $(SKIPPED) ] || { echo "$$(wc -l < $(SKIPPED)) Rust tests were skipped:"; cat $(SKIPPED); }

test-python: setup $(VENV)/.router $(VENV)/.dev $(VENV)/.web
	$(ALONE) $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(addprefix --ignore ,$(REAL_TIME))

check: check-rust check-python

check-rust:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo doc --workspace --no-deps --document-private-items --locked --quiet # links in comments

check-python: setup $(VENV)/.dev $(VENV)/.web
	$(BIN)/codespell
	$(BIN)/python tools/prose.py
	$(BIN)/python tools/shape.py
	$(BIN)/python tools/rust_shape.py
	$(BIN)/python tools/links.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	MYPYPATH=python:linux:tools $(BIN)/mypy tools/*.py
	@$(BIN)/lint-imports --no-cache >.mypy_cache/imports.txt || { cat .mypy_cache/imports.txt; exit 1; }
	$(BIN)/python -m mypy.stubtest cwndlab._core
	@[ ! -d web/node_modules ] || npm run --silent --prefix web check

bench: setup
	$(BIN)/python benches/bench.py

# Fuzzing for FUZZ_S seconds; `make test` does a short form of it. What fails is kept in tests/fuzz-seeds and
# proptest-regressions, to be committed with the fix.
FUZZ_S ?= 600
FUZZED := $(addprefix tests/,binding/test_scenario_fuzz.py binding/test_law_fuzz.py study/test_fuzz.py runs/test_store_fuzz.py \
  runs/test_folder_fuzz.py runs/test_strange_fuzz.py diagnosis/test_capture_files.py)
fuzz: setup $(VENV)/.dev
	cargo test --workspace --locked --no-run
	PROPTEST_CASES=100000 timeout $$(($(FUZZ_S) / 2)) cargo test --locked --quiet -p cwndlab-packetdrill fuzz || [ $$? = 124 ]
	for file in $(FUZZED); do \
	  CWNDLAB_FUZZ=1000 timeout $$(($(FUZZ_S) / 14)) $(BIN)/python -m pytest -x -q -p no:cacheprovider $$file || \
	    [ $$? = 124 ] || exit 1; done

# Faults drawn at random, each tried by the tests of its area; the same command continues. SEED draws: a new one for a
# new statement. In MUTANTS: --language, --area, --again (survivors, after new tests), --elsewhere, --table, --write.
SAMPLE ?= 200
CARGO_MUTANTS = 27.1.0
mutants: setup $(VENV)/.dev build/mutants/venv/.cosmic-ray-8.7.0 build/mutants/coverage/.coverage-7.17.5
	@cargo mutants --version 2>/dev/null | grep -qx 'cargo-mutants $(CARGO_MUTANTS)' || \
	  { echo 'mutants: cargo install cargo-mutants --locked --version $(CARGO_MUTANTS)' >&2; exit 1; }
	@[ -n "$(SEED)" ] || { echo 'mutants: name a seed, like SEED=1' >&2; exit 1; }
	$(BIN)/python tools/mutants.py --sample $(SAMPLE) --seed $(SEED) $(MUTANTS)

build/mutants/venv/.cosmic-ray-%:
	"$(PYTHON)" -m venv --clear build/mutants/venv
	build/mutants/venv/bin/pip install --quiet --disable-pip-version-check cosmic-ray==$*
	@touch $@

# Only tests whose lines are recorded import it.
build/mutants/coverage/.coverage-%: build/mutants/venv/.cosmic-ray-8.7.0
	build/mutants/venv/bin/pip install --quiet --disable-pip-version-check --upgrade --target $(@D) coverage==$*
	@touch $@

validate: setup $(VENV)/.router
	$(BIN)/python -m validation

# Whether deliberately wrong models fail by the verdicts; in some six minutes of CPU time, into docs/evidence/wrong-models.md.
discriminate: setup
	$(BIN)/python -m validation.discriminate --write

digests: setup
	@mkdir -p build
	$(BIN)/python tools/digests.py $(if $(SAMPLE),--sample $(SAMPLE)) > build/digests.tsv
	@echo 'digests: build/digests.tsv'

wheel: setup
	$(BIN)/python tools/wheel.py

# The wheel as above, but from what `make setup` has compiled.
try-wheel: setup
	@rm -rf build/try
	@CARGO_TARGET_DIR=$${CARGO_TARGET_DIR:-$(CURDIR)/target} $(BIN)/python tools/wheel.py --plain --profile release --out build/try >/dev/null
	$(BIN)/maturin sdist --out build/try >/dev/null 2>&1
	$(BIN)/python tools/try_wheel.py build/try/*.whl build/try/*.tar.gz --offline

images: setup
	$(BIN)/python tools/images.py

# Some 5 minutes of CPU time, most of them for the kernel's runs. A run that was stopped continues where it was.
paper: setup $(VENV)/.router
	$(BIN)/python tools/paper.py

# It takes some 4 minutes of CPU time, so the pages are committed. A run that was stopped goes on where it was. The laws
# reno-packets, reno-linux2 and cubic-linux are left out: they are Reno and CUBIC as older stacks compute them.
gallery: setup
	$(BIN)/cwndlab evaluate $(addprefix --cc ,reno cubic dctcp bbr1 bbr3 prague ledbat++ ledbat) \
	  --cc 'search={ cc = "cubic", slow_start = "search" }' -o build/gallery/cc
	$(BIN)/cwndlab evaluate --pack rfc7928 $(addprefix --queue ,drop-tail red codel pie fq-codel dualpi2) -o build/gallery/queues
	$(BIN)/cwndlab evaluate --pack l4s-queue $(addprefix --queue ,drop-tail pie fq-codel dualpi2) -o build/gallery/l4s-queues
	$(BIN)/python tools/gallery.py build/gallery/cc build/gallery/queues build/gallery/l4s-queues

# Numbers that others measured on hosts: docs/guide/trust.md and its figure; some fifty minutes of CPU time. A run that was
# stopped goes on where it was.
trust: setup
	$(BIN)/cwndlab run bbr-shared --set law=bbr1,bbr3 -o build/trust/bbr-shared
	$(BIN)/cwndlab run many-flows --replicates 1 -o build/trust/many-flows
	$(BIN)/cwndlab run l4s --set question=pairs,single,rtt-mix,mixed -o build/trust/l4s
	$(BIN)/python tools/trust.py build/trust/bbr-shared build/trust/many-flows build/trust/l4s

docs: setup $(VENV)/.dev $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo 'manual: build/docs/index.html'

# Two at a time: linking the engine with all optimizations takes one processor, as does the module for pages. The router
# is built when a kernel's run first needs it; from then on it is kept as new as the engine.
setup:
	@$(MAKE) --no-print-directory -j2 $(VENV)/.live $(VENV)/.kernels $(if $(wildcard $(BIN)/cwndlab-router),$(VENV)/.router)

$(VENV)/.python:
	@command -v cargo >/dev/null || \
	  { echo "cwndlab needs Rust to build its engine, and there is no cargo here. Install it from https://rustup.rs." >&2; exit 1; }
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null || \
	  { echo "Rust needs a C compiler to link. Debian: apt install gcc libc6-dev; macOS: xcode-select --install" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cwndlab needs Python 3.11 or later; $(PYTHON) is older. Set PYTHON=…" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	@touch $@

# The lists are complete and exact, so pip has nothing to resolve. Python compiles a module when it is first imported;
# compiling all of them at once takes pip longer than everything else it does.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --require-hashes

$(VENV)/.deps: requirements/run.txt $(VENV)/.python
	$(PIP) -r $<
	@touch $@

$(VENV)/.dev $(VENV)/.docs $(VENV)/.ci: $(VENV)/.%: requirements/%.txt $(VENV)/.deps
	$(PIP) -r $<
	@touch $@

$(VENV)/.core: $(RUST) pyproject.toml $(VENV)/.deps
	VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/maturin develop --release --locked >/dev/null
	@touch $@

# The kernels' side: a distribution of its own, found by its entry point.
$(VENV)/.kernels: linux/pyproject.toml $(VENV)/.deps
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --no-build-isolation -e linux
	@touch $@

# What carries the packets of kernels; elsewhere than on Linux there is none.
$(VENV)/.router: $(RUST) $(VENV)/.core $(VENV)/.kernels
	@[ "$$(uname)" != Linux ] || $(BIN)/python tools/router.py release $(BIN)
	@touch $@

# The engine that reports carry; skipped, with a message, where the compiler lacks the target.
$(VENV)/.module: $(RUST) tools/live.py $(VENV)/.python
	$(BIN)/python tools/live.py build
	@touch $@

$(VENV)/.live: $(VENV)/.core $(VENV)/.module
	$(BIN)/python tools/live.py stamp
	@touch $@

# What checks the scripts of reports: types, and a test in a browser. Nothing of it is shipped.
$(VENV)/.web: web/package-lock.json $(VENV)/.python
	@if command -v npm >/dev/null; then npm ci --prefix web --silent --no-audit --no-fund; fi || true
	@[ -d web/node_modules ] || echo 'web: no npm, or no registry: types and browser tests of reports are skipped' >&2
	@touch $@

audit:
	cargo deny --locked check
	pip-audit --disable-pip --require-hashes $(addprefix -r requirements/,run.txt dev.txt docs.txt ci.txt)

lock:
	rm -rf build/lock && "$(PYTHON)" -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check 'pip-tools>=7.5,<8'
	build/lock/bin/python tools/lock.py build/lock/bin/python

clean:
	rm -rf $(VENV) build target python/cwndlab/*.so python/cwndlab/report/live/engine.*
