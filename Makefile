# promcost. `make run` shows it, `make test` tests it; both do all their own set-up on a machine that has Go.
# `make help` lists the targets.

.DEFAULT_GOAL := build

GO         ?= go
FUZZTIME   ?= 20s
SOAKTIME   ?= 1h
BENCH      ?= .
BASE       ?= HEAD

# A Kubernetes API with its controllers, nodes and pods that are made up, and what exports metrics of them.
KUBERNETES = bin/etcd bin/kube-apiserver bin/kube-controller-manager bin/kube-scheduler bin/kwok bin/kube-state-metrics

# Which Prometheus the tests start. Setting PROMETHEUS (and PROMTOOL) uses those binaries instead of building 3.15.
ifndef PROMETHEUS
TEST_TOOLS += bin/prometheus
endif
ifndef PROMTOOL
TEST_TOOLS += bin/promtool
endif
ifndef VICTORIA_METRICS
TEST_TOOLS += bin/victoria-metrics
endif
PROMETHEUS       ?= $(CURDIR)/bin/prometheus
PROMTOOL         ?= $(CURDIR)/bin/promtool
VICTORIA_METRICS ?= $(CURDIR)/bin/victoria-metrics
export PROMETHEUS PROMTOOL VICTORIA_METRICS

# These are found once, so that all that one make builds has the same.
VERSION           ?= $(shell .ci/version)
REVISION          ?= $(shell git rev-parse --verify --quiet HEAD 2>/dev/null || echo unknown)
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1767225600)
VERSION           := $(VERSION)
REVISION          := $(REVISION)
SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)
STAMP     = github.com/prometheus/common/version
# Google's storage client brings gRPC's xDS along, 13 MB that nothing here speaks, unless told not to.
TAGS      = disable_grpc_modules
LDFLAGS   = -s -w -X $(STAMP).Version=$(VERSION) -X $(STAMP).Revision=$(REVISION)

.PHONY: help run test soak check fmt lint verify verify-tidy verify-format verify-generated verify-notice vet race build e2e e2e-tools record record-clients \
	image dist dist-check fuzz bench bench-explorer bench-compare compare cover govulncheck prices promises generate pictures screenshots clean tools FORCE

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

run: build ## the demo: a made-up cluster, computed and served on http://127.0.0.1:9003
	bin/promcost demo

build: bin/promcost ## build bin/promcost

bin/promcost: FORCE
	$(GO) build -tags '$(TAGS)' -ldflags '$(LDFLAGS)' -o $@ ./cmd/promcost

bin/promcost-apiserver: FORCE
	$(GO) build -ldflags '$(LDFLAGS)' -o $@ ./cmd/promcost-apiserver

# What is released: static binaries that are the same bytes wherever they are built, so that nothing in them depends on the
# directory, the clock or the state of the repository.
RELEASED  = linux-amd64/promcost linux-arm64/promcost darwin-amd64/promcost darwin-arm64/promcost windows-amd64/promcost.exe windows-arm64/promcost.exe
# The aggregated API runs in clusters only.
APISERVER = linux-amd64/promcost-apiserver linux-arm64/promcost-apiserver
BUILT_ON  = $(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y%m%d-%T 2>/dev/null || date -u -r $(SOURCE_DATE_EPOCH) +%Y%m%d-%T)

$(RELEASED:%=bin/build/%) $(APISERVER:%=bin/build/%): bin/build/%: FORCE
	CGO_ENABLED=0 GOOS=$(word 1,$(subst -, ,$(*D))) GOARCH=$(word 2,$(subst -, ,$(*D))) $(GO) build -trimpath -buildvcs=false \
		-tags '$(TAGS)' -ldflags '$(LDFLAGS) -X $(STAMP).BuildDate=$(BUILT_ON)' -o $@ ./cmd/$(basename $(*F))

image: bin/build/linux-amd64/promcost bin/build/linux-arm64/promcost $(APISERVER:%=bin/build/%) bin/image ## write images of promcost and promcost-apiserver for amd64 and arm64, OCI layouts, into bin/oci and bin/oci-apiserver; no container engine is needed
	bin/image -o bin/oci -port 9003/tcp -version '$(VERSION)' -revision '$(REVISION)' -created $(SOURCE_DATE_EPOCH) -licenses LICENSE,NOTICE $(filter %/promcost,$^)
	bin/image -o bin/oci-apiserver -port 8443/tcp -version '$(VERSION)' -revision '$(REVISION)' -created $(SOURCE_DATE_EPOCH) -licenses LICENSE,NOTICE $(filter %/promcost-apiserver,$^)

dist: $(RELEASED:%=bin/build/%) $(APISERVER:%=bin/build/%) bin/nfpm bin/archive ## write archives, packages, bills of materials and checksums of a release into bin/dist
	VERSION='$(VERSION)' SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) .ci/dist bin/dist bin/build/$(shell $(GO) env GOHOSTOS)-$(shell $(GO) env GOHOSTARCH)/promcost $(filter bin/build/%,$^)

dist-check: ## build a release twice, in two directories, and compare the bytes; then test what is in it
	GO='$(GO)' .ci/dist-check

test: $(TEST_TOOLS) ## run all tests; builds the servers that they start, once. Where CI is set, also fuzz what reads users' expressions
	$(GO) test -timeout 90m -p 3 -parallel 4 ./...
ifdef CI
	GO='$(GO)' FUZZTIME=4s FUZZPACKAGES='allocation/(filter|jmespath)' .ci/fuzz
endif

# The packages whose tests have more to run, or measure.
SOAKED = $(sort $(dir $(shell grep -rlE 'soak[.](On|Of|Duration)' --include='*_test.go' .)))

soak: $(TEST_TOOLS) ## run all that `test` runs a sample of, tests of time and memory, which want a quiet machine, and fuzz: an hour. Then faults, for SOAKTIME (1h)
	$(GO) test -timeout 3h -p 1 $(SOAKED) -soak
	GO='$(GO)' FUZZTIME='$(FUZZTIME)' .ci/fuzz
	$(GO) test -race -timeout 0 -v -run '^Test(Faults|ClockSetBackHTTP)$$' ./cmd/promcost -soak -soak.duration='$(SOAKTIME)'

race: $(TEST_TOOLS) ## run all tests with the race detector
	$(GO) test -race -timeout 90m ./...

e2e: $(TEST_TOOLS) ## run the tests that want more real servers (e2e-tools builds some); a summary says what was skipped and why
	GO='$(GO)' .ci/e2e

e2e-tools: bin/axe.js bin/duckdb bin/mcp-inspector bin/thanos bin/mimir bin/crds bin/helm bin/kubectl bin/node-exporter bin/otelcol $(KUBERNETES) ## build the servers of e2e that are not needed otherwise: minutes, and gigabytes of memory

record: $(TEST_TOOLS) $(KUBERNETES) bin/node-exporter bin/otelcol ## record the expositions below testdata/recorded again, from real exporters over a real Kubernetes API
	OTELCOL=$(CURDIR)/bin/otelcol $(GO) test -tags e2e -count 1 -timeout 30m -run RecordE2E ./promquery/promtest -record

# Their sources are not in the module proxy. OPENCOST_UI and OPENCOST_UI_LEGACY name the directories of OpenCost's built web
# page (npm run build and build:legacy), KUBECTL_COST a binary; what is not named is not recorded. The page wants Chromium.
record-clients: $(TEST_TOOLS) $(KUBERNETES) ## record the sessions below cmd/promcost/testdata/clients again, from real clients
	cd .ci/tools/opencost-ui && npm install --no-audit --no-fund
	$(GO) test -tags e2e -count 1 -timeout 30m -run 'OpenCostPageE2E|KubectlCostE2E' ./cmd/promcost -record

check: fmt lint verify race ## everything that a change must pass

fmt: bin/golangci-lint ## format all Go files
	bin/golangci-lint fmt

lint: bin/golangci-lint ## run the linters
	bin/golangci-lint run

# What verify reports, another target mends: fmt, generate, `go mod tidy`.
verify: verify-tidy verify-format verify-generated verify-notice vet ## report drift: module files, formatting, generated files, vet

verify-tidy:
	$(GO) mod tidy -diff

verify-format: bin/golangci-lint
	bin/golangci-lint fmt --diff

verify-generated: bin/notice
	GO='$(GO)' .ci/verify-generated

verify-notice:
	cd .ci/tools/notice && $(GO) test ./...

vet:
	$(GO) vet ./...
	$(GO) vet -tags e2e ./...

generate: bin/notice ## rewrite REFERENCE.md, which is made from the tables, the JSON of dashboards, which is made from dashboards/grafana, and NOTICE, from the modules
	$(GO) generate ./...
	bin/notice -o NOTICE -go '$(GO)' -tags '$(TAGS)' -platforms '$(patsubst %/,%,$(sort $(dir $(RELEASED))))' ./cmd/promcost ./cmd/promcost-apiserver

# Not part of check: the prices change without the commit. KARPENTER is a release of Karpenter's provider for AWS.
KARPENTER ?= v1.15.2
prices: ## rewrite the built-in list prices, from a release of Karpenter's provider for AWS, by the module proxy
	cd .ci/tools/prices && $(GO) run . -version '$(KARPENTER)' -o ../../../allocation/listprices/aws.csv

# Not part of check: what is known of a commit changes without the commit.
govulncheck: bin/govulncheck ## look for known vulnerabilities in the programs and in Go, where a database can be reached; VULNDB names another
	GO='$(GO)' TAGS='$(TAGS)' VULNDB='$(VULNDB)' .ci/govulncheck

cover: $(TEST_TOOLS) ## print which part of each package's statements the tests run; fail below 80 %
	GO='$(GO)' .ci/cover

promises: $(TEST_TOOLS) ## add an input, a column, a family, a parameter and a store to copies of the tree; list the files that each touches
	$(GO) test ./cmd/promcost -run '^TestPromises$$' -v -count 1 -timeout 30m -promises

pictures: build ## draw README's pictures of the demo again, and where ../shared/data/traces is that of the back-test
	.ci/pictures
	$(GO) test ./allocation/savings -count 1 -run '^TestBacktestTraces$$' -update

screenshots: bin/axe.js ## use the explorer page in a Chromium, write pictures of it into bin/screenshots, and README's two
	@mkdir -p bin/screenshots
	cd .ci/tools/browser && $(GO) test -count 1 -run 'ViewsE2E|WhyE2E' -shots='$(CURDIR)/bin/screenshots'
	cp bin/screenshots/compared-light.png .ci/explorer.png
	cp bin/screenshots/why-effect.png .ci/explorer-why.png

fuzz: ## run every fuzz target for FUZZTIME, in the packages that match FUZZPACKAGES
	GO='$(GO)' FUZZTIME='$(FUZZTIME)' FUZZPACKAGES='$(FUZZPACKAGES)' .ci/fuzz

bench: ## run the benchmarks that match BENCH, BENCHCOUNT (1) times each
	@mkdir -p bin
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(or $(BENCHCOUNT),1) -timeout 60m ./... | tee bin/bench.txt

bench-explorer: ## measure the explorer page in a Chromium, over a history of 10,000 containers that is written once into bin/explorer-history
	test -d bin/explorer-history || $(GO) test -run '^$$' -bench BenchmarkHistory/disk -benchtime 1x -timeout 60m ./cmd/promcost \
		-history.dir='$(CURDIR)/bin/explorer-history' -history.days=91 -history.hours=216
	cd .ci/tools/browser && $(GO) test -run '^$$' -bench Explorer -benchtime 15x -timeout 30m -history.dir='$(CURDIR)/bin/explorer-history'

bench-compare: bin/benchstat ## compare the benchmarks of the working tree with those of BASE (HEAD), BENCHCOUNT (6) times each
	GO='$(GO)' BENCH='$(BENCH)' BENCHCOUNT='$(BENCHCOUNT)' .ci/bench-compare '$(BASE)'

compare: $(TEST_TOOLS) ## compare the answers of the working tree with those of BASE (HEAD), a commit or a binary; COMPARE has flags, such as -compare.tolerance=1e-12
	GO='$(GO)' TAGS='$(TAGS)' LDFLAGS='$(LDFLAGS)' .ci/compare '$(BASE)' $(COMPARE)

tools: bin/prometheus bin/promtool bin/victoria-metrics bin/golangci-lint bin/benchstat ## build all tools into bin/

clean: ## remove what was built
	rm -rf bin

# Each tool has a module of its own, so that the product's go.mod holds only what the product imports. A tool is built
# again when its module changes.
define tool
bin/$(1): .ci/tools/$(2)/go.mod .ci/tools/$(2)/go.sum
	@mkdir -p bin
	cd .ci/tools/$(2) && $$(GO) build $(5) -ldflags '$(4)' -o ../../../$$@ $(3)
	@touch $$@
endef

PROMETHEUS_STAMP = -X $(STAMP).Version=3.15.0
$(eval $(call tool,prometheus,prometheus,github.com/prometheus/prometheus/cmd/prometheus,$(PROMETHEUS_STAMP)))
$(eval $(call tool,promtool,prometheus,github.com/prometheus/prometheus/cmd/promtool,$(PROMETHEUS_STAMP)))
$(eval $(call tool,victoria-metrics,victoria-metrics,github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics,-s -w))
$(eval $(call tool,golangci-lint,golangci-lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,-s -w))
$(eval $(call tool,benchstat,benchstat,golang.org/x/perf/cmd/benchstat,-s -w))
$(eval $(call tool,govulncheck,govulncheck,golang.org/x/vuln/cmd/govulncheck,-s -w))
# Without the tag its sidecar panics on the first call.
$(eval $(call tool,thanos,thanos,github.com/thanos-io/thanos/cmd/thanos,-s -w,-tags slicelabels))
$(eval $(call tool,mimir,mimir,github.com/grafana/mimir/cmd/mimir,-s -w))
KUBERNETES_STAMP = -s -w -X k8s.io/component-base/version.gitVersion=v1.36.3
$(eval $(call tool,kube-apiserver,kubernetes,k8s.io/kubernetes/cmd/kube-apiserver,$(KUBERNETES_STAMP)))
$(eval $(call tool,kube-controller-manager,kubernetes,k8s.io/kubernetes/cmd/kube-controller-manager,$(KUBERNETES_STAMP)))
$(eval $(call tool,kube-scheduler,kubernetes,k8s.io/kubernetes/cmd/kube-scheduler,$(KUBERNETES_STAMP)))
$(eval $(call tool,kubectl,kubernetes,k8s.io/kubernetes/cmd/kubectl,$(KUBERNETES_STAMP)))
$(eval $(call tool,etcd,etcd,go.etcd.io/etcd/server/v3,-s -w))
$(eval $(call tool,kwok,kwok,sigs.k8s.io/kwok/cmd/kwok,-s -w))
$(eval $(call tool,kube-state-metrics,kube-state-metrics,k8s.io/kube-state-metrics/v2,-s -w -X $(STAMP).Version=2.18.0))
$(eval $(call tool,node-exporter,node-exporter,github.com/prometheus/node_exporter,-s -w -X $(STAMP).Version=1.12.1))
$(eval $(call tool,otelcol,otelcol,.,-s -w))
$(eval $(call tool,helm,helm,helm.sh/helm/v4/cmd/helm,-s -w))
$(eval $(call tool,nfpm,nfpm,github.com/goreleaser/nfpm/v2/cmd/nfpm,-s -w))
$(eval $(call tool,image,image,.,-s -w))
$(eval $(call tool,crane,image,github.com/google/go-containerregistry/cmd/crane,-s -w))
$(eval $(call tool,archive,archive,.,-s -w))
$(eval $(call tool,notice,notice,.,-s -w))
bin/image: .ci/tools/image/main.go
bin/otelcol: .ci/tools/otelcol/main.go
bin/archive: .ci/tools/archive/main.go .ci/tools/archive/bill.go
bin/notice: .ci/tools/notice/main.go .ci/tools/notice/module.go .ci/tools/notice/notice.go
# Linking these takes gigabytes: one at a time, also under make -j.
bin/promtool: | bin/prometheus
bin/mimir: | bin/thanos
bin/kube-controller-manager: | bin/kube-apiserver
bin/kube-scheduler: | bin/kube-controller-manager
bin/kubectl: | bin/kube-scheduler
bin/kwok: | bin/kubectl
bin/kube-state-metrics: | bin/kwok
bin/node-exporter: | bin/kube-state-metrics
bin/otelcol: | bin/node-exporter

# Custom resource definitions, by which a Kubernetes API validates objects of others.
bin/crds: .ci/tools/crds/go.mod .ci/tools/crds/go.sum
	@rm -rf $@ && mkdir -p $@
	cd .ci/tools/crds && $(GO) build ./... && \
		cp "$$($(GO) list -m -f '{{.Dir}}' github.com/prometheus-operator/prometheus-operator)"/example/prometheus-operator-crd/*.yaml ../../../$@ && \
		cp "$$($(GO) list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)"/config/crd/standard/*.yaml ../../../$@ && \
		cp "$$($(GO) list -m -f '{{.Dir}}' k8s.io/autoscaler/vertical-pod-autoscaler)"/deploy/vpa-v1-crd-gen.yaml ../../../$@/autoscaling.k8s.io_verticalpodautoscalers.yaml
	@chmod -R u+w $@ && touch $@

# axe looks for what keeps people from using a web page. It comes from npm.
bin/axe.js: .ci/tools/browser/package.json
	@mkdir -p bin/axe.d
	cp .ci/tools/browser/package.json bin/axe.d
	cd bin/axe.d && npm install --no-audit --no-fund --no-package-lock
	cp bin/axe.d/node_modules/axe-core/axe.min.js $@

# DuckDB reads the history's files as others do. It comes from npm.
bin/duckdb: .ci/tools/duckdb/package.json .ci/tools/duckdb/query.js
	@mkdir -p bin/duckdb.d
	cp .ci/tools/duckdb/package.json .ci/tools/duckdb/query.js bin/duckdb.d
	cd bin/duckdb.d && npm install --no-audit --no-fund --no-package-lock
	printf '#!/bin/sh\nexec node "$$(dirname "$$0")/duckdb.d/query.js" "$$@"\n' > $@
	chmod +x $@

# A client of the Model Context Protocol. It comes from npm, too.
bin/mcp-inspector: .ci/tools/mcp-inspector/package.json
	@mkdir -p bin/mcp-inspector.d
	cp .ci/tools/mcp-inspector/package.json bin/mcp-inspector.d
	cd bin/mcp-inspector.d && npm install --no-audit --no-fund --no-package-lock
	printf '#!/bin/sh\nexec "$$(dirname "$$0")/mcp-inspector.d/node_modules/.bin/mcp-inspector" --cli "$$@"\n' > $@
	chmod +x $@
