# make         the program, in bin/
# make test    everything that must hold; installs what it needs on Debian as root
# make bench   the figures of bench/README.md
# make fuzz    a minute on each parser of foreign input

GO      ?= go
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
MOST    := 40000000 # bytes of the binary; docs/dependencies.md has its parts

# What is compiled with functions put into their callers (inlining): what thinks, stores,
# searches and reads, and what that stands on. All else waits for models, networks and
# people, and is compiled without, which makes the program 3 MB smaller.
HOT := runtime/... internal/... sync/... bytes strings strconv bufio io unicode/... reflect \
	encoding/json encoding/binary encoding/base64 encoding/hex hash/... compress/... math \
	math/bits math/rand/... sort slices maps cmp iter context time fmt os \
	net/http crypto/internal/... golang.org/x/net/html golang.org/x/text/unicode/norm \
	modernc.org/... ponder ponder/llm ponder/llm/openai ponder/llm/internal/... ponder/store/... \
	ponder/mode/session ponder/mode/internal/... ponder/recall/... ponder/document ponder/words ponder/same \
	ponder/internal/stream

# All is compiled once, as the program is, and once more for the race detector.
PLAIN := $(filter-out -trimpath -gcflags=%,$(shell $(GO) env GOFLAGS 2>/dev/null)) -trimpath
export CGO_ENABLED := 0
export GOFLAGS     := $(PLAIN) -gcflags=all=-l $(HOT:%=-gcflags=%=)

.PHONY: build test check lint unit race size bench fuzz clean

build:
	$(GO) build -ldflags '-s -w -funcalign=16 -X main.version=$(VERSION)' -o bin/ponder ./cmd/ponder
	$(GO) build -ldflags '-s -w' -o bin/ponder-sim ./cmd/ponder-sim

test:
	@scripts/need
	@$(MAKE) --no-print-directory check lint build size unit race
	@echo "all tests passed"

check:
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	$(GO) mod verify

race fuzz: export GOFLAGS := $(PLAIN)

lint: # go vet is a part of it
	$(GO) run $(LINT) run

# What takes longest, and waits for others most of that time, comes first, so that the
# rest goes on beside it.
FIRST := ./cmd/ponder ./clients

unit:
	$(GO) test -vet=off -p 3 -timeout 30m $(FIRST) ./...

# The race detector wants a C compiler. It makes programs ten times as slow, and has
# nothing to find where one thing goes on at a time: in parsers and statistics, in tests
# that fold and decide without an engine, and in those of processes that meet in a file.
ALONE_IN := /(archive|bench|claim|clients|document|calibration|eval|evidence|gate|redact|retention|same|sensor|sensor/(calendar|feed|git|mail|own|system)|transcript|words|web/extract|recall/query|tool/(think|memory|thread)|internal/(report|deptest)|mode/internal/[a-z]+|llm/llmtest/internal/mimic)$$
ALONE    := AlwaysEnds|CutA|Linear$$|Quick$$|Quality$$|EvidenceRecall|StateIsBounded|^TestDoneSet|^TestShapeAgrees|^TestRepair|^TestReference|^TestPrefixes|^TestView|^TestTorn|^TestRows|^TestReadOfLong|^TestEval|^TestCalibrated|^TestGateForgets|^TestKill|^TestRecoverMany|^TestZombie|^Fuzz|^TestInjections|^TestTwelveChanges|^TestMergeProperties|^TestAnyWorld|^TestPromptBounds|^TestLookUpSeldom|^TestRetry$$|^TestWantedBounds|^TestListPages|^TestPromiseComesUp|^TestDeadlineComesUp|^TestHostileCalendars|^TestExpandAsOthers|^TestStates$$|^TestFadeProperties|^TestEchoProperty|^TestFindProperties|^TestTwelveStates|^TestShownTo|^TestRace$$|^TestOpenAtOnce|^TestTwoProcesses|^TestLatePages|^TestBadArguments|^TestLongAnswersAreCut|^TestTooLong|^TestPlanFails|^TestSynthesisOnly|^TestRefusedWishes|^TestHostileFolder|^TestLongThread|^TestHostileItems|^TestFormats|^TestManyItems

race:
	@scripts/race -p 3 -skip '$(ALONE)' ./cmd/ponder $$($(GO) list ./... | grep -vE '$(ALONE_IN)')

size: build
	@n=$$(wc -c < bin/ponder); echo "bin/ponder: $$n bytes"; test $$n -le $(MOST) || { echo "that is more than $(MOST)"; exit 1; }

bench: build
	$(GO) run ./bench

fuzz:
	@scripts/fuzz 60s

clean:
	rm -rf bin
