# Every tool is a Go program of a pinned version, built by the Go command when it
# is first needed. Nothing has to be installed but Go, make and git.

GO            ?= go
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOFUMPT       := mvdan.cc/gofumpt@v0.12.0
APIDIFF       := golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
GREMLINS      := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
FUZZTIME      ?= 30s
SEQUENCES     ?= 200000
MOVES         ?= 500
SEED          ?= 1
SOAKTIME      ?= 5m
CORPUS        ?=
N             ?= 200
MUTATIONS     ?= 10000
PACKAGES      ?=
CLIENTS       ?= 1000

# The modules of this repository. test, lint, tidy, generate and check-generate run in each one
# and stop at the first failure.
MODULES       := . internal/connectpeer examples/thirdparty examples/connect store/etcd cel tools/xdsctl tools/xdsd internal/promcheck internal/etcdtest internal/connectconformance
in_modules     = @set -e; for dir in $(MODULES); do (cd $$dir && echo "== $$dir: $(1)" && $(1)); done

# The modules that have descriptors.
DESCRIPTORS   := . examples/thirdparty

# The etcd of peers-etcd.
ETCD          ?= etcd

# Limits of exported top-level names: without the extra resource types; the part of these under
# the promise of compatibility; the extra resource types. API_LIMITS=-enforce makes them count.
API_LIMITS    ?= -enforce
apicheck       = $(GO) run ./internal/apicheck -apidiff $(APIDIFF) -names 808 -promised 480 -extra 110

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  \033[1m%-18s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: all
all: check-generate check-api lint test demo demo-server demo-grpc demo-session demo-status demo-offline demo-serve demo-web ## Everything that must pass before a change lands

.PHONY: demo
demo: ## Run the quickstart: two control planes, three authorities, typed updates
	$(GO) run ./examples/demos/quickstart

.PHONY: demo-grpc
demo-grpc: ## Run examples/demos/channel: a gRPC channel of two control planes, with all that befalls it
	$(GO) run ./examples/demos/channel

.PHONY: demo-session
demo-session: ## Run examples/demos/session: sessions that stay on their server while it drains and the routes change
	$(GO) run ./examples/demos/session

.PHONY: demo-server
demo-server: ## Run examples/demos/server: a gRPC server with TLS and RBAC by xDS, reconfigured under calls
	$(GO) run ./examples/demos/server

.PHONY: demo-status
demo-status: ## Run examples/demos/status: print CSDS, metrics and the log of a channel and a server; fail unless they agree; run xdsctl on it
	$(GO) run ./examples/demos/status
	cd tools/xdsctl && $(GO) run ./internal/demo

.PHONY: demo-offline
demo-offline: ## Run examples/demos/offline: start from files, and from the last known good store while the control plane is down
	$(GO) run ./examples/demos/offline

.PHONY: demo-serve
demo-serve: ## Run internal/etcdtest/demo: publish a type of one's own to etcd, serve it by two daemons and a relay, kill processes; fail if anything is lost
	cd internal/etcdtest && $(GO) run ./demo

.PHONY: demo-web
demo-web: ## Run internal/connectpeer/demo: a reverse proxy that two authorities configure, before HTTP and Connect; fail unless all is seen
	cd internal/connectpeer && $(GO) run ./demo

.PHONY: load-server
load-server: ## Put a server under load while everything about it changes; print calls, failures, p99
	$(GO) test -count=1 -v -run '^TestServerUnderLoad$$' ./grpcxds

.PHONY: test-browser
test-browser: ## Test the status page in headless Chromium with axe-core; SCREENSHOTS=1 rewrites docs/images/statuspage
	GO='$(GO)' statuspage/browser/run

.PHONY: test
test: ## Run all tests with the race detector
	$(call in_modules,$(GO) test -race ./...)

.PHONY: race
race: ## Run all tests three times with the race detector
	$(GO) test -race -count=3 ./...

.PHONY: e2e
e2e: ## Run only the tests against a real control plane
	$(GO) test -race -count=1 ./framework/client/... ./examples/...

.PHONY: model
model: ## Run SEQUENCES (200000) random sequences against the model with each kind of control plane, from SEED (1) on
	$(GO) test -count=1 -timeout 120m ./framework/client -run '^TestModel$$' -v -model.sequences=$(SEQUENCES) -model.first=$(SEED)

.PHONY: model-ads
model-ads: ## Run SEQUENCES (200000) random sequences over the core of ADS servers, of each model in each variant, from SEED (1) on
	$(GO) test -count=1 -timeout 120m ./internal/adsserver -run '^(TestModel|TestSystemModel)$$' -v -model.sequences=$(SEQUENCES) -model.systems=$(SEQUENCES) -model.first=$(SEED)

.PHONY: model-relay
model-relay: ## Run SEQUENCES (200000) random sequences over a relay in each variant, from SEED (1) on
	$(GO) test -count=1 -timeout 120m ./relay -run '^TestModel$$' -v -model.sequences=$(SEQUENCES) -model.first=$(SEED)

.PHONY: soak
soak: ## Run a client for SOAKTIME (5m) with churn and disconnections; nothing may be lost or grow
	$(GO) run ./internal/soak -time $(SOAKTIME)

.PHONY: crash-lkg
crash-lkg: ## Kill N (200) processes that write a last known good store; no generation may be damaged or lost
	$(GO) test -count=1 -v -run '^TestCrash$$' ./framework/lkg -lkg.crashes $(N)

.PHONY: crash
crash: ## Kill or stop N (200) times a publisher, daemon or node of etcd, or restore a backup; no commit may be lost, no part of one be seen, and nothing stay that a restored store lacks; print the gaps
	cd internal/etcdtest && $(GO) run ./crash -n $(N)

.PHONY: hostile
hostile: ## Attack the client with bad content; print memory, CPU and delays; fails where a bound is missed
	$(GO) run ./internal/hostile

.PHONY: hostile-serve
hostile-serve: ## Attack xdsd beside a client; print memory, delays and log lines; fails where a bound is missed
	$(GO) run ./internal/hostile/serving

.PHONY: mutate
mutate: ## Change operators and see whether tests notice, in all or some packages: make mutate PACKAGES=./framework/xdstp
	ulimit -v 12582912 2>/dev/null; $(GO) run ./internal/mutate -gremlins $(GREMLINS) -json mutate.json $(PACKAGES)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (30s)
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "== $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## Measure against a minimal client and print ratios; fails where a bound is missed
	@missed=; $(GO) run ./internal/bench -json bench.json || missed=1; \
	$(GO) run ./internal/rpcbench -check || missed=1; \
	$(GO) run ./internal/rpcbench -check -channels 1000 || missed=1; \
	[ ! "$$missed" ]

.PHONY: bench-serve
bench-serve: ## Measure an ADS server beside go-control-plane's linear cache with CLIENTS (1000); fails where a bound is missed
	$(GO) run ./internal/servebench -clients $(CLIENTS)

.PHONY: peers-serve
peers-serve: ## Serve channels of grpc-go, grpc-js (npm) and gRPC C++ (Debian's libgrpc++-dev, g++), go-control-plane's client and a strict one: changes, a NACK, a restart; print a table
	$(GO) run ./internal/servepeers

.PHONY: peers-http
peers-http: ## Let nginx (Debian's nginx-light), Node, curl and h2spec talk to HTTP clients and servers of httpxds, under changes
	$(GO) run ./internal/httppeers

.PHONY: chaos-http
chaos-http: ## Send 100,000 requests of net/http, Node, curl and nginx through a forwarding server and a Transport while the configuration changes and endpoints die; fails where net/http's ReverseProxy loses fewer
	$(GO) run ./internal/httppeers -chaos

.PHONY: peers-connect
peers-connect: ## Let connect-es (node, npm) call and serve programs of httpxds by Connect, gRPC and gRPC-Web
	cd internal/connectpeer && $(GO) run ./peers

.PHONY: peers-istio
peers-istio: ## Let clients, channels and servers use a real istiod without Kubernetes; the first run builds it (20 minutes, 4 GB) into the user's cache folder
	$(GO) run ./internal/planepeers istio

.PHONY: peers-gateway
peers-gateway: ## Let clients use a real Envoy Gateway without Kubernetes; it takes ports 8081, 18000 and 18002 to 19001; the first run builds it into the user's cache folder
	$(GO) run ./internal/planepeers gateway

.PHONY: conformance-connect
conformance-connect: ## Run the conformance tests of Connect (4,661 cases) through a reverse proxy of httpxds; fails unless all but the known ones pass
	cd internal/connectconformance && $(GO) run .

.PHONY: peers-etcd
peers-etcd: ## Test the store with an installed etcd, ETCD (etcd of Debian's package etcd-server; 3.6.2 is the supported minimum)
	@command -v $(ETCD) >/dev/null || { echo "$(ETCD) is not installed: apt-get install etcd-server, or ETCD=/path/to/etcd"; exit 1; }
	cd internal/etcdtest && $(GO) test -count=1 -timeout 30m . -args -etcd $$(command -v $(ETCD))

.PHONY: bench-rpc
bench-rpc: ## Measure what a call costs beside grpc-go without xDS and with its own
	$(GO) run ./internal/rpcbench

.PHONY: bench-filters
bench-filters: ## Measure filters that see messages, session affinity, external authorization and external processing, beside interceptors that do the same
	$(GO) run ./internal/rpcbench -filters

.PHONY: bench-http
bench-http: ## Measure requests of an HTTP client of httpxds beside http.Transport, Connect calls too; fails where a bound is missed
	cd internal/connectpeer && $(GO) run ./bench

.PHONY: bench-telemetry
bench-telemetry: ## Measure what metrics, traces and logs add to a call, beside grpc-go's xDS with its OpenTelemetry plugin
	$(GO) run ./internal/rpcbench -telemetry -check

.PHONY: bench-offline
bench-offline: ## Measure the last known good store: starts beside those from a control plane, and its cost under churn
	$(GO) run ./internal/offlinebench

.PHONY: microbench
microbench: ## Run every benchmark once, with allocations, for benchstat
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: generate
generate: ## Generate the code of every descriptor, and the pages of docs/types
	$(call in_modules,$(GO) generate ./...)
	$(GO) tool xdsgen doc ./plugins/...

.PHONY: check-generate
check-generate: ## Fail if generated code or a page of docs/types differs from its descriptor, is missing or orphaned
	@set -e; for dir in $(DESCRIPTORS); do (cd $$dir && echo "== $$dir: xdsgen -check" && $(GO) tool xdsgen -check ./...); done
	$(GO) tool xdsgen doc -check ./plugins/...

.PHONY: api
api: ## Write the list of exported names, api/v1.txt
	$(apicheck) -write

.PHONY: check-api
check-api: ## Fail if api/v1.txt is stale, or if the API broke since the commit that api/base names
	$(apicheck) $(API_LIMITS)

.PHONY: check-alerts
check-alerts: ## Test docs/monitoring with promtool, and with a scrape by Prometheus (Debian's package prometheus)
	promtool check rules docs/monitoring/alerts.yaml
	cd docs/monitoring && promtool test rules alerts_test.yaml
	cd internal/promcheck && $(GO) run . -monitoring ../../docs/monitoring

.PHONY: lint
lint: ## Run the linters; the import rules and the limits of make prose are among them
	$(GO) run ./internal/prose -enforce
	$(call in_modules,$(GO) run $(GOLANGCI_LINT) run ./...)

.PHONY: prose
prose: ## Print how plain the English of comments and docs is: rate of what-clauses, long sentences, wide lines
	$(GO) run ./internal/prose

.PHONY: fmt
fmt: ## Format the code
	$(GO) run $(GOFUMPT) -l -w .

.PHONY: conformance
conformance: ## Run verdicts of other clients, and mutations of their resources: make conformance CORPUS=dir
	$(GO) run ./internal/conformance -corpus '$(CORPUS)'
	$(GO) run ./internal/conformance -corpus '$(CORPUS)' -mutations $(MUTATIONS)

.PHONY: conformance-table
conformance-table: ## Check that every test that docs/conformance.md names exists (make test does, too)
	$(GO) run ./internal/conformancetable

.PHONY: site
site: ## Build the documentation site from docs/ into site/dist (needs Node 20 and npm; fails on dead links)
	cd site && npm install --no-save --ignore-scripts --no-audit --no-fund && npm run build

.PHONY: release-check
release-check: ## Check what a tag needs, all tests included: make release-check VERSION=v0.1.0
	$(GO) run ./internal/release $(VERSION)
	$(MAKE) all hostile

.PHONY: vuln
vuln: ## Look for known vulnerabilities (advisory; needs the database)
	-$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...

.PHONY: tidy
tidy: ## Tidy go.mod of every module
	$(call in_modules,$(GO) mod tidy)
