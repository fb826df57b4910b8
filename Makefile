# make         the program, in bin/
# make test    everything that must hold; installs what it needs on Debian as root
# make real    the whole suite with a real model and embedder; OPENAI_BASE_URL names another model
# make bench   the figures of cmd/ponder-bench/README.md
# make sbom   the components of the program, in bin/ponder.cdx.json
# make fuzz    a minute on each parser of foreign input

GO       ?= go
LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
DEADCODE := golang.org/x/tools/cmd/deadcode@v0.52.0
SUM      := gotest.tools/gotestsum@v1.13.0
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FLAGS    := -trimpath -ldflags '-s -w -X main.version=$(VERSION)'

# Without cgo the program is the same everywhere. The race detector alone needs a C compiler.
export CGO_ENABLED := 0

# With -trimpath everywhere, the tools and the tests share what is compiled. The compiler takes a
# quarter less time if it collects no garbage below 2 GiB; that changes no output.
export GOFLAGS := -trimpath '-toolexec=env GOGC=off GOMEMLIMIT=2GiB'

.PHONY: build sbom advisories test check install cross lint page dead unit race marked size real bench fuzz clean

build:
	$(GO) build $(FLAGS) -o bin/ponder ./cmd/ponder
	$(GO) build $(FLAGS) -o bin/ponder-sim ./cmd/ponder-sim

test:
	@scripts/need
	@$(MAKE) --no-print-directory check size sbom advisories install
	@$(MAKE) --no-print-directory -j4 race cross lint unit page
	@scripts/skipped bin/unit.json bin/marked.json bin/race.json
	@echo "all tests passed"

check:
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	@scripts/subjects
	$(GO) mod verify

# go install builds the same program, byte for byte.
install: build
	@dir=$$(mktemp -d) && GOBIN=$$dir $(GO) install $(FLAGS) ./cmd/ponder && cmp $$dir/ponder bin/ponder && rm -r $$dir

# Type-checks the program with its modules for the other systems and the other processor of a
# release, in a sixth of the time of a build. scripts/nightly builds them all.
cross: dead
	GOOS=darwin GOARCH=arm64 bin/deadcode ./cmd/ponder > /dev/null
	GOOS=windows GOARCH=amd64 bin/deadcode ./cmd/ponder > /dev/null

# go vet is a part of golangci-lint.
lint: cross
	$(GO) run $(LINT) run

# Functions that no program calls are deleted, but for those of packages for tests,
# and the methods that encoding/json finds by itself.
KEPT := test/|arshalJSON$$

# The page in the repository is the one that its source builds.
page:
	@scripts/page --check

dead: bin/deadcode
	@bin/deadcode ./... > bin/dead || { cat bin/dead; exit 1; }
	@! grep -vE '$(KEPT)' bin/dead || { echo "no program calls these functions"; exit 1; }

# Each test runs once: in packages in which goroutines may meet, under the race detector,
# else without it (scripts/tests). Tests that skip themselves there run in unit.
GOTEST = $(GO) run $(SUM) --format standard-quiet --hide-summary skipped --jsonfile bin/$@.json --

unit: marked
	$(GOTEST) -trimpath -vet=off -p 2 -timeout 30m $$(scripts/tests plain)

marked:
	@mkdir -p bin
	@$(GOTEST) -trimpath -vet=off -p 2 -timeout 30m -run "$$(scripts/tests names)" $$(scripts/tests marked)

race:
	@mkdir -p bin
	@GOTEST='$(GOTEST)' scripts/race -p 2 $$(scripts/tests race)

bin/deadcode: Makefile
	@GOBIN=$(CURDIR)/bin $(GO) install $(DEADCODE) && touch $@

# The bill of materials of the program, in CycloneDX. Fails if a module has no known licence.
sbom: build
	bin/ponder licenses --sbom bin/ponder > bin/ponder.cdx.json

# Deprecated and retracted modules, and known vulnerabilities of the program. A line says so if the
# database of vulnerabilities is out of reach.
advisories: build
	@scripts/advisories bin/ponder

size: build
	@echo "bin/ponder: $$(wc -c < bin/ponder) bytes"

# About 20 minutes on two cores. The short part of the suite runs in unit.
real:
	@scripts/need
	PONDER_REAL=all $(GO) test -trimpath -count=1 -v -timeout 90m -run TestModel ./test/real

bench: build
	$(GO) run ./cmd/ponder-bench

fuzz:
	@scripts/fuzz 60s

clean:
	rm -rf bin
