# Every target works on a fresh clone; tools are built from tools/go.mod.

GO        ?= go
TOOL      := $(GO) tool -modfile=tools/go.mod
TESTFLAGS ?=
BENCHFLAGS ?= -count=5
# -trimpath: a clone or worktree in another folder uses what this one has compiled.
export GOFLAGS ?= -mod=readonly -trimpath
# One set of compiled packages for the binary, its tests and the checks; only the race detector needs cgo.
export CGO_ENABLED ?= 0

# Where a data race would be one of ours: everything with goroutines that can be built with the race detector,
# a compilation of its own, without the whole API server and without client-go's typed clients and informers.
RACE ?= ./clock ./internal/cause ./internal/inflight ./internal/reference ./store/... ./apiserver/internal/watchcache/... ./internal/loop/... ./controllers/internal/controllerref/...

.DEFAULT_GOAL := help

ifneq ($(filter-out help,$(MAKECMDGOALS)),)
ifeq ($(shell command -v $(GO) 2>/dev/null),)
$(error make $(firstword $(MAKECMDGOALS)) needs Go, and there is no "$(GO)": install the version that go.mod names, or a later one (https://go.dev/doc/install). To run minikcm without a compiler, install a release: README.md, "Install it")
endif
endif

.PHONY: help
help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/minikcm, linked to nothing.
	$(GO) build -ldflags="-s -w" -o bin/minikcm ./cmd/minikcm

VERSION  ?= v$(shell sed -n 's/^\#\# \([0-9][^ ]*\).*/\1/p' CHANGELOG.md | head -1)
SNAPSHOT ?=
TARGET   ?=
# The folder from which the archives will be downloaded: manifests of package managers name it.
RELEASE_URL ?= $(if $(SNAPSHOT),file://$(CURDIR)/dist)

.PHONY: release
release: ## Make the archives and packages of the tag VERSION in dist; SNAPSHOT=1 for any commit, TARGET=linux/arm64 for one platform. See docs/releasing.md.
	$(GO) build -ldflags="-s -w" -o bin/release/minikcm ./cmd/minikcm
	GOFLAGS=-trimpath $(GO) -C tools/release build -ldflags="-s -w" -o ../../bin/release/ tool .
	bin/release/release prepare -minikcm bin/release/minikcm -time $$(git log -1 --format=%ct)
	$(if $(TARGET),sed -e 's#^    goos: .*#    goos: [$(dir $(TARGET))]#; s#/\]#]#; s#^    goarch: .*#    goarch: [$(notdir $(TARGET))]#',cat) .goreleaser.yaml >bin/release/goreleaser.yaml
	PATH=$(CURDIR)/bin/release:$$PATH GORELEASER_CURRENT_TAG=$(VERSION) SNAPSHOT_VERSION=$(VERSION:v%=%)-snapshot.$$(git log -1 --format=%h) \
		COMMIT_TIMESTAMP=$$(git log -1 --format=%ct) COMMIT_DATE=$$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd) \
		goreleaser release --config bin/release/goreleaser.yaml --clean --skip=announce,publish $(if $(SNAPSHOT),--snapshot)
	bin/release/release package -version "$$(sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' dist/metadata.json)" -url '$(RELEASE_URL)' -time $$(git log -1 --format=%ct)

.PHONY: run
run: build ## Start a cluster in the foreground; ARGS="--nodes 5" for more.
	./bin/minikcm up $(ARGS)

.PHONY: demo
demo: build ## Run a guided tour: make demo TOUR=rollout. Without TOUR, list the tours.
	./bin/minikcm demo $(TOUR)

# make verify vets; and a test binary lives too briefly for the garbage collector to be thrifty.
# -w: without DWARF, a test binary links in a third of the time; -s saves a little more. Stack traces need neither.
# Tests that start processes and write to disks wait for most of their time, so the two halves run at once.
GOTEST = $(GO) test -vet=off -ldflags="-s -w"
# Test binaries are large and live for seconds: they stay in memory where it has room, and programs there may run.
MEMORY = $(shell f=$$(mktemp /dev/shm/exec.XXXXXX 2>/dev/null) && cp /bin/true $$f && chmod +x $$f && $$f && [ $$(df -Pk /dev/shm | awk 'END {print $$4}') -gt 7500000 ] && echo /dev/shm; rm -f $$f)

.PHONY: test
test: export GOGC ?= 300
test: export GOTMPDIR ?= $(MEMORY)
test: ## Run all tests, those of RACE under the race detector.
	$(GO) build -ldflags="-s -w" -o bin/test/minikcm ./cmd/minikcm
	MINIKCM=$(CURDIR)/bin/test/minikcm MINIKCM_BUILDID=$$($(GO) tool buildid bin/test/minikcm) \
		$(MAKE) --no-print-directory -j2 test-first test-rest

.PHONY: test-first
test-first:
	CGO_ENABLED=1 $(GOTEST) -race -p 1 -timeout 30m $(TESTFLAGS) $(RACE)
	$(MAKE) --no-print-directory examples

.PHONY: test-rest
test-rest:
	$(GOTEST) -timeout 30m $(TESTFLAGS) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(RACE) ./test/bench)")

.PHONY: examples
examples: ## Run each program of examples/ on a cluster.
	$(GO) -C examples test -ldflags="-s -w" -timeout 10m $(TESTFLAGS) .

.PHONY: race
race: export GOGC ?= 300
race: export GOTMPDIR ?= $(MEMORY)
race: ## Run all tests under the race detector (70 minutes on two cores).
	CGO_ENABLED=1 $(GOTEST) -race -timeout 60m $(TESTFLAGS) ./...

.PHONY: soak
soak: ## Compare fifty runs of one seed, write by write; run the library with 200 seeds, and a simulated week of random faults; check histories (two hours).
	$(GO) test -count=1 -timeout 60m $(TESTFLAGS) -run TestSameSeedSameWrites ./test/determinism ./scenarios -args -runs 50
	$(GO) test -count=1 -timeout 120m $(TESTFLAGS) -run TestLibrary ./scenarios -args -seeds 200
	$(GO) test -count=1 -timeout 60m $(TESTFLAGS) -v ./test/soak -args -hours 168 -churn 600
	$(GO) test -count=20 -timeout 60m $(TESTFLAGS) ./test/linearizability
	$(MAKE) --no-print-directory ha HA_DURATION=20m

.PHONY: ui
ui: ## Check the types of the live page and its copies of packages, and run the tests of its logic; needs npm and node.
	npm --prefix ui ci --no-audit --no-fund
	npm --prefix ui run typecheck
	npm --prefix ui run packages
	$(TOOL) esbuild "ui/src/**/*.ts" "ui/src/**/*.tsx" --format=esm --tsconfig=ui/tsconfig.json --outdir=bin/ui-src --log-level=warning
	$(TOOL) esbuild ui/test/*.test.ts --bundle --loader:.yaml=text --platform=node --format=esm --tsconfig=ui/tsconfig.json --out-extension:.js=.mjs --outdir=bin/ui-test --log-level=warning
	node --test bin/ui-test/

.PHONY: ui-test
ui-test: ## Try the live page of a built minikcm in Chromium, which has to be installed; TESTFLAGS="-v -run Large -args -nodes 1000" measures frames.
	$(GO) -C test/ui test -count=1 -timeout 30m . $(TESTFLAGS)

HOURS ?= 720
SEEDS ?= 10

.PHONY: month
month: ## Simulate a month of random faults with each of SEEDS seeds; HOURS=168 for a week. A month takes about half an hour.
	$(GO) test -count=1 -timeout 24h $(TESTFLAGS) -v -run TestRandomFaults ./test/soak -args -hours $(HOURS) -seeds $(SEEDS)

FUZZTIME ?= 30s
FUZZ     ?=

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME, one after another; FUZZ="./store" for some. Inputs that fail are kept in testdata/fuzz.
	$(GO) -C tools run ./fuzz -root .. -time $(FUZZTIME) -run '$(FUZZ)'

.PHONY: hostile
hostile: ## Attack a process with a memory limit, for 20 s each, and send it 220 generated inputs, beside a client that must be served in time.
	$(GO) test -count=1 -timeout 30m $(TESTFLAGS) -v ./test/hostile -args -for 20s -p99 250ms

CUTS ?= 50

.PHONY: powercut
powercut: ## Cut the power of a process CUTS times while clients write, and let its disk fail; needs /dev/fuse and the right to mount.
	@[ "$$(uname -s)" = Linux ] || { echo "make powercut needs Linux: it mounts a file system of its own" >&2; exit 1; }
	$(GO) -C test/powercut test -count=1 -timeout 60m $(TESTFLAGS) -v . -args -cuts $(CUTS)

HA_DURATION  ?= 2m
HA_PROCESSES ?= 3
HA_SEED      ?= 1
HA_FAULTS    ?=

.PHONY: ha
ha: ## Kill, pause and cut off processes of a cluster on three etcd members; HA_DURATION=60m, HA_PROCESSES=1, HA_SEED=2, HA_FAULTS="kill etcd|cut etcd off".
	$(GO) test -count=1 -timeout 24h $(TESTFLAGS) -v ./test/ha -args -for $(HA_DURATION) -processes $(HA_PROCESSES) -seed $(HA_SEED) -only '$(HA_FAULTS)'

.PHONY: clients
clients: ## Try real clients against a built minikcm: operators, helm, kubectl.
	$(GO) -C test/clients test -count=1 -timeout 30m $(TESTFLAGS) ./...
	$(GO) -C test/clients test -count=1 $(TESTFLAGS) minikcm.dev/minikcm/minikcmtest/ctrltest # on the newest controller-runtime
	$(MAKE) thirdparty

CONTROLLER_RUNTIME ?= v0.25.2,v0.24.1,v0.23.3
UPSTREAM_ASSETS    ?=

.PHONY: controller-runtime
controller-runtime: ## Run controller-runtime's own suites on minikcm; CONTROLLER_RUNTIME=v0.25.2, UPSTREAM_ASSETS=/folder to compare.
	$(GO) -C test/clients test -count=1 -timeout 3h $(TESTFLAGS) -v -run TestControllerRuntime . -args -controller-runtime '$(CONTROLLER_RUNTIME)' -upstream-assets '$(UPSTREAM_ASSETS)'

OPERATORS ?= all

.PHONY: operators
operators: ## Build an operator with the last ten minor versions of controller-runtime, and test it; OPERATORS=v0.20.4 for one.
	$(GO) -C test/clients test -count=1 -timeout 3h $(TESTFLAGS) -v -run TestOperatorVersions . -args -operators '$(OPERATORS)'

CHARTS ?=

.PHONY: charts
charts: ## Install the charts of the folder CHARTS with helm --wait, each on a fresh cluster; see docs/charts.md.
	$(GO) -C test/clients test -count=1 -timeout 3h $(TESTFLAGS) -v -run TestCharts . -args -charts '$(abspath $(CHARTS))'

PROJECT ?= $(notdir $(patsubst %/,%,$(dir $(wildcard test/clients/thirdparty/*/go.mod))))

.PHONY: thirdparty
thirdparty: build ## Try programs of other projects; PROJECT=certmanager for one, a folder of test/clients/thirdparty. The first build takes minutes.
	for project in $(PROJECT); do MINIKCM=$(CURDIR)/bin/minikcm $(GO) -C test/clients/thirdparty/$$project test -count=1 -timeout 1h $(TESTFLAGS) -v . || exit 1; done

.PHONY: bench
bench: ## Measure; BENCHFLAGS="-count=1 -bench=Start" for less.
	$(GO) test -run '^$$' -bench . -timeout 60m $(BENCHFLAGS) ./test/bench/...

.PHONY: hunt-score
hunt-score: ## Hunt published bugs, with the mistake and repaired, for the table of docs/hunt.md; TRIALS=300 for less.
	$(GO) test -count=1 -timeout 3h -v -run TestPublished ./test/hunt -args -score -trials $(or $(TRIALS),500)

.PHONY: hunt-operators
hunt-operators: build ## Build operators of other projects, and hunt them for docs/hunt.md; OPERATOR=rabbitmq-1.8.0 for one, a folder of test/hunt/operators, BUDGET=0 for the published bugs only.
	MINIKCM=$(CURDIR)/bin/minikcm $(GO) test -count=1 -timeout 3h -v -run TestHunt ./test/hunt/operators -args -hunt -operator '$(OPERATOR)' -budget '$(or $(BUDGET),5m)'

UPSTREAM_PROGRAMS = bin/upstream/kube-apiserver bin/upstream/kube-controller-manager bin/upstream/kube-scheduler bin/upstream/etcd bin/upstream/kwok
KWOK ?= v0.8.0

.PHONY: bench-upstream
bench-upstream: $(UPSTREAM_PROGRAMS) ## Compare with upstream's control plane and kwok, and measure further processes; LARGE=-large for 100,000 pods.
	$(GO) test -run '^$$' -bench 'Upstream|Processes' -benchtime 1x -timeout 6h ./test/bench -upstream $(CURDIR)/bin/upstream -chart $(CURDIR)/docs/images/bench-upstream.svg $(LARGE)

# Upstream's build sets its version like this.
bin/upstream/kube-%: test/conformance/go.mod
	version=$$($(GO) -C test/conformance list -m -f '{{.Version}}' k8s.io/kubernetes); minor=$${version#v1.}; at=k8s.io/component-base/version; \
	$(GO) -C test/conformance build -ldflags="-s -w -X $$at.gitVersion=$$version -X $$at.gitMajor=1 -X $$at.gitMinor=$${minor%%.*} -X $$at.gitTreeState=clean" -o ../../$@ k8s.io/kubernetes/cmd/$(@F)

bin/upstream/etcd: go.mod
	$(GO) build -ldflags="-s -w" -o $@ go.etcd.io/etcd/server/v3

# kwok's own go.mod decides on the versions of its dependencies. It runs the stages that it publishes.
bin/upstream/kwok:
	GOFLAGS=-trimpath GOBIN=$(CURDIR)/bin/upstream $(GO) install -ldflags="-s -w" sigs.k8s.io/kwok/cmd/kwok@$(KWOK)
	stages=$$($(GO) env GOMODCACHE)/sigs.k8s.io/kwok@$(KWOK)/kustomize/stage; \
	for stage in $$stages/node/fast/node-*.yaml $$stages/node/heartbeat-with-lease/node-*.yaml $$stages/pod/fast/pod-*.yaml; do \
		echo ---; cat $$stage; done >bin/upstream/kwok.yaml

FOCUS ?=
PROCS ?= 4

.PHONY: conformance
conformance: build bin/e2e.test bin/ginkgo ## Run upstream's suite; FOCUS="sig-apps" (default: what passed before), PROCS=4.
	$(GO) -C test/conformance run . -focus '$(FOCUS)' -procs $(PROCS) $(CONFORMANCEFLAGS)

.PHONY: gateway
gateway: ## Run the Gateway API's conformance suite; TESTFLAGS="-args -run-test=HTTPRouteWeight" for one test.
	$(GO) -C test/gateway test -count=1 -timeout 30m -v . $(TESTFLAGS)

.PHONY: kubectl-suite
kubectl-suite: build ## Run kubectl's own test suite; KUBECTL_GROUPS="role clusterroles" for some groups.
	$(GO) -C test/conformance run ./kubectl $(KUBECTL_GROUPS)

.PHONY: rows
rows: build ## Compare what is refused with what upstream's registries refuse.
	$(GO) -C test/conformance test -count=1 ./rows

RUN ?=

.PHONY: wire
wire: build bin/upstream/kube-apiserver bin/upstream/etcd ## Send thousands of requests to upstream's API server and to ours, and compare the answers; RUN="^pods.v1/" for some.
	$(GO) run ./test/wire -run '$(RUN)' -docs docs/wire.md $(WIREFLAGS)

CLUSTERS ?= 500
SEED     ?= 1

.PHONY: scheduling
scheduling: ## Compare the decisions on pods of random clusters with upstream's scheduler; CLUSTERS=500, SEED=1.
	mkdir -p bin
	$(GO) -C test/conformance test -count=1 -v ./scheduling -args -update -recording $(CURDIR)/bin/scheduling.jsonl.gz -clusters $(CLUSTERS) -seed $(SEED)
	$(GO) test -count=1 -v -run TestUpstreamDecides ./controllers/internal/scheduler -args -upstream $(CURDIR)/bin/scheduling.jsonl.gz

# The suite makes pods that suit its own version, which upstream's build sets like this.
bin/e2e.test: test/conformance/go.mod
	version=$$($(GO) -C test/conformance list -m -f '{{.Version}}' k8s.io/kubernetes); minor=$${version#v1.}; at=k8s.io/component-base/version; \
	$(GO) -C test/conformance test -c -ldflags "-X $$at.gitVersion=$$version -X $$at.gitMajor=1 -X $$at.gitMinor=$${minor%%.*}" -o ../../bin/e2e.test k8s.io/kubernetes/test/e2e

bin/ginkgo: test/conformance/go.mod
	$(GO) -C test/conformance build -o ../../bin/ginkgo github.com/onsi/ginkgo/v2/ginkgo

.PHONY: verify
verify: ## Check what make fix can mend, and what it cannot.
	$(GO) -C tools run ./verify -root ..
	$(GO) -C tools test ./...
	@unformatted="$$($(TOOL) gofumpt -l . | grep -v '^_artifacts/')"; if [ -n "$$unformatted" ]; then echo "not formatted (make fix):"; echo "$$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) -C tools mod tidy -diff
	$(GO) vet ./...
	$(TOOL) staticcheck ./...
	@dead="$$($(TOOL) deadcode -test ./... | grep -v '_test\.go:')"; if [ -n "$$dead" ]; then echo "what no command and no test reaches:"; echo "$$dead"; exit 1; fi

GOVULNDB ?= https://vuln.go.dev

.PHONY: vuln
vuln: ## Look for known vulnerabilities in what the code calls; needs the network, or GOVULNDB=file:///copy.
	@$(TOOL) govulncheck -db '$(GOVULNDB)' ./... || { echo "vuln: failed. If the database $(GOVULNDB) could not be fetched, NOTHING WAS CHECKED: run this where it can be, or set GOVULNDB to the URL of a copy" >&2; exit 1; }

.PHONY: platforms
platforms: ## Check the types of all packages and tests for the other platforms of a release.
	$(GO) -C tools run ./platforms -root ..

.PHONY: fix
fix: ## Mend format, generated files and go.mod.
	$(GO) generate ./...
	$(TOOL) gofumpt -w .
	$(GO) mod tidy
	$(GO) -C tools mod tidy
