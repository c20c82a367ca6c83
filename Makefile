# Rollcall. `make help` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
TOOLS    := $(GO) tool -modfile=test/tools/go.mod
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -buildid= -X main.version=$(VERSION)
# What only tests need is not among the requirements of the programs.
MODULES  := . test/browser test/cluster test/dashboard test/licences
PROGRAMS := rollcall rollcall-agent rollcall-coordinator
# The cluster of the demo; tests use another, so that they do not disturb each other.
CLUSTER_NAME ?= demo
# The database of the demo: solr, opensearch, mysql or mariadb.
ENGINE       ?= solr

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

## Building

.PHONY: build
build: $(addprefix bin/,$(PROGRAMS)) bin/kubectl-rollcall bin/rollcall-cluster bin/rollcall-images bin/grpcurl bin/helm ## build every program into bin/

# The agent runs beside every database, so it is built small: agent/DESIGN.md, "Size".
bin/rollcall-agent: BUILD := -tags grpcnotrace,nethttpomithttp2 -gcflags=all=-l
bin/rollcall-agent: LDFLAGS += -funcalign=16
bin/%: BUILD := -tags grpcnotrace
bin/%: FORCE
	@mkdir -p bin
	CGO_ENABLED=0 GOFLAGS= GOWORK=off $(GO) build $(BUILD) -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $@ ./cmd/$*

bin/kubectl-rollcall: bin/rollcall
	ln -sf rollcall $@

bin/rollcall-cluster: FORCE
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) -C test/cluster build -trimpath -o $(CURDIR)/$@ .

bin/rollcall-images: FORCE
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) -C test/cluster build -trimpath -o $(CURDIR)/$@ ./cmd/images

bin/grpcurl: test/tools/go.mod
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -modfile=test/tools/go.mod -o $@ github.com/fullstorydev/grpcurl/cmd/grpcurl

bin/helm: test/tools/helm/go.mod
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -modfile=$< -o $@ helm.sh/helm/v4/cmd/helm

bin/golangci-lint: test/tools/lint/go.mod
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -modfile=$< -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/kwok: test/tools/kwok/go.mod
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -modfile=$< -o $@ sigs.k8s.io/kwok/cmd/kwok

.PHONY: FORCE
FORCE:

.PHONY: sbom
sbom: $(addprefix bin/,$(PROGRAMS)) ## what is linked into each program, as CycloneDX: bin/PROGRAM.cdx.json
	for p in $(PROGRAMS); do $(GO) tool -modfile=test/tools/sbom/go.mod cyclonedx-gomod bin -json -noserial -notimestamp -version '$(VERSION)' -output bin/$$p.cdx.json bin/$$p; done

.PHONY: images
images: bin/rollcall-images ## build all images (Solr, OpenSearch, MySQL, MariaDB, agent, coordinator) without Docker
	bin/rollcall-images build

.PHONY: deps
deps: ## install what the local cluster and the images need, with apt
	bash test/deps.sh

## Seeing it work

.PHONY: rehearse
rehearse: bin/rollcall ## a rollout in a simulated world, as a timeline (ARGS="--fault kill-leader")
	bin/rollcall rehearse $(ARGS)

.PHONY: demo
demo: deps build ## a real database upgraded under load on a real Kubernetes on this machine (ENGINE=opensearch, mysql or mariadb)
	$(GO) run ./test/e2e/cmd/demo --name $(CLUSTER_NAME) --engine $(ENGINE)

.PHONY: compare
compare: deps build ## the same change rolled plainly, one at a time, and by Rollcall
	$(GO) run ./test/e2e/cmd/compare --name compare

.PHONY: down
down: bin/rollcall-cluster ## stop the demo's cluster
	bin/rollcall-cluster down --name $(CLUSTER_NAME)

.PHONY: purge
purge: bin/rollcall-cluster ## stop the demo's cluster and remove its data
	bin/rollcall-cluster down --name $(CLUSTER_NAME) --purge

## Checking

.PHONY: test
test: deps build ## everything that can run: units, race, real Solr, OpenSearch, MySQL and MariaDB, real browser and cluster
	bash test/deps.sh browser
	bash test/run.sh all

.PHONY: test-unit
test-unit: ## unit tests with the race detector, no root, no cluster
	bash test/run.sh unit

.PHONY: test-opensearch
test-opensearch: deps build ## the OpenSearch adapter against real servers of each version, and of two at once
	ROLLCALL_OPENSEARCH_ALL=1 bash test/run.sh opensearch

.PHONY: test-solr
test-solr: deps build ## the Solr adapter against real servers of each version
	ROLLCALL_SOLR_ALL=1 bash test/run.sh solr

.PHONY: test-mysql
test-mysql: deps bin/rollcall-images ## what is there for MySQL and MariaDB, against real servers
	bash test/run.sh mysql

.PHONY: test-mysql-all
test-mysql-all: deps bin/rollcall-images ## the same, with every break of a switchover at every boundary
	ROLLCALL_MYSQL_ALL=1 bash test/run.sh mysql

.PHONY: test-foundationdb
test-foundationdb: ## FoundationDB on real servers, over loopback and in pods (FDB=FOLDER with fdbserver and fdbcli; root, two hours)
	ROLLCALL_FDB_HOME='$(FDB)' bash test/run.sh foundationdb-real

.PHONY: test-foundationdb-models
test-foundationdb-models: deps ## what may go of 100,000 random FoundationDB clusters, against the truth of a model
	bash test/run.sh foundationdb-models

.PHONY: test-siege
test-siege: deps bin/rollcall-cluster ## what strangers and tenants send, against the real programs at their memory limits (root; half an hour, and as long without their defences)
	ROLLCALL_SIEGE_ALL=1 bash test/run.sh siege

.PHONY: test-e2e
test-e2e: deps build ## the real-cluster tests only
	bash test/run.sh e2e

.PHONY: measure
measure: deps build ## what happens when Solr is killed, pods are deleted and nodes drained past Rollcall
	ROLLCALL_E2E_MEASURE=1 bash test/run.sh e2e

.PHONY: nightly
nightly: deps build mutate mutate-named mutate-mysql sim-mutants ## what takes too long for every commit (about six hours): all that `make test` tries a part of
	bash test/run.sh nightly

.PHONY: check
check: fmt lint generated test-unit fuzz ## format, lint, generated code current, tests with race, short fuzz

.PHONY: fmt
fmt: ## fail when a file is not formatted
	@out=$$(gofmt -l $$(git ls-files '*.go' | grep -v '\.pb\.go$$')); test -z "$$out" || { echo "not formatted (gofmt -w):"; echo "$$out"; exit 1; }

.PHONY: lint
lint: bin/golangci-lint ## go vet and golangci-lint for every module, buf lint
	for m in $(MODULES); do $(GO) -C $$m vet ./...; (cd $$m; $(CURDIR)/bin/golangci-lint run); done
	$(TOOLS) buf lint

.PHONY: generate
generate: ## regenerate protobuf, deepcopy, CRD, schemas, manifests and licences
	bash test/generate.sh

.PHONY: generated
generated: generate ## fail when generated files are not current
	@git diff --exit-code --stat -- proto coordinator deploy || { echo "generated files were not current: commit them"; exit 1; }

.PHONY: fuzz
fuzz: ## every fuzz target for a few seconds
	bash test/fuzz.sh $(or $(FUZZTIME),5s)

# A copy of the database, where vuln.go.dev is out of reach.
GOVULNDB ?=

.PHONY: vuln
vuln: ## known vulnerabilities in what is linked in; asks the Go project's database (GOVULNDB=file:///... for a copy), and fails without
	@$(GO) tool -modfile=test/tools/vuln/go.mod govulncheck $(if $(GOVULNDB),-db '$(GOVULNDB)') -tags grpcnotrace ./cmd/... || { code=$$?; test $$code = 3 || printf '%s\n' \
	  '' '*** NOT CHECKED for vulnerabilities: govulncheck did not get through, most often because its database is out of reach.' \
	  '*** Where there is a network: curl -O https://vuln.go.dev/vulndb.zip && unzip -d vulndb vulndb.zip' \
	  '*** Then here: make vuln GOVULNDB=file:///path/to/vulndb' >&2; exit $$code; }

.PHONY: mutate
mutate: mutate-incidents ## make the policy wrong in many ways; its tests must notice each
	$(GO) run ./test/cmd/mutate

.PHONY: mutate-incidents
mutate-incidents: ## switch off what keeps an incident of other systems from happening; its test must fail
	$(GO) run ./test/cmd/mutate -list test/cmd/mutate/incidents.txt

.PHONY: mutate-named
mutate-named: ## break what the documents promise, one promise at a time; the test that they name must fail
	$(GO) run ./test/cmd/mutate -list 'test/cmd/mutate/named-*.txt'

.PHONY: sim
sim: ## rollouts in a simulated world, SEEDS of them, with all that can go wrong
	$(GO) run ./test/sim/cmd -twice 100 -seeds $(or $(SEEDS),10000)
	$(GO) run ./test/sim/cmd -galera -twice 100 -seeds 1000

.PHONY: sim-mutants
sim-mutants: ## plant bugs in the simulated world; each must be found, and every invariant be broken by one
	$(GO) run ./test/sim/cmd -bugs -seeds $(or $(SEEDS),2000)

.PHONY: mutate-mysql
mutate-mysql: ## make switchovers of MySQL and MariaDB wrong in many ways; their simulation must notice each
	$(GO) run ./test/cmd/mutate -list test/cmd/mutate/mysql.txt

.PHONY: search
search: ## all orders in which two leaders can act, to 12 steps, and the shortest ways to planted bugs
	$(GO) run ./test/sim/search/cmd

.PHONY: bench
bench: ## benchmarks, and tables of how long rollouts take, how fast news travels and what an agent costs (deploy/docs/results.md)
	$(GO) test -run '^TestMakespans$$' -count 1 -v ./coordinator/policy -args -speed
	$(GO) test -run '^TestScale$$' -count 1 -timeout 30m -v ./agent/gossip -args -speed
	ROLLCALL_BENCH=1 $(GO) test -run '^TestProcess$$' -count 1 -v ./cmd/rollcall-agent
	$(GO) test -short -run '^$$' -bench '^BenchmarkReportToEviction$$' -benchtime 1x -timeout 30m ./coordinator
	$(GO) test -short -run '^$$' -bench . -benchmem ./coordinator/... ./engines/... ./agent/... -skip '^BenchmarkReportToEviction$$'

.PHONY: scale
scale: bin/rollcall-coordinator bin/rollcall-cluster bin/kwok ## 10,000 simulated pods in 100 clusters on a real API server: memory, requests, failover (root; half an hour; ARGS="-clusters 10")
	$(GO) run ./test/e2e/scale $(ARGS)
