# make         the program, in bin/
# make test    everything that must hold; installs what it needs on Debian as root
# make bench   the figures of cmd/ponder-bench/README.md
# make fuzz    a minute on each parser of foreign input

GO      ?= go
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# The race detector sets CGO_ENABLED itself; without it the program is the same everywhere.
export CGO_ENABLED := 0

.PHONY: build test check lint unit race size bench fuzz clean

build:
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ponder ./cmd/ponder
	$(GO) build -trimpath -ldflags '-s -w' -o bin/ponder-sim ./cmd/ponder-sim

test:
	@scripts/need
	@$(MAKE) --no-print-directory check lint build size unit race
	@echo "all tests passed"

check:
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	$(GO) mod verify

lint: # go vet is a part of it
	$(GO) run $(LINT) run

# What takes longest, and waits for others most of that time, comes first, so that the
# rest goes on beside it.
FIRST := ./cmd/ponder ./test/clients

unit:
	$(GO) test -trimpath -vet=off -p 3 -timeout 30m $(FIRST) ./...

# The race detector wants a C compiler. It makes programs ten times as slow, and has
# nothing to find where one thing goes on at a time: in parsers and statistics, in tests
# that fold and decide without an engine, and in those of processes that meet in a file.
ALONE_IN := /(knowledge/(archive|claim|document|evidence|web/extract|recall/query)|cmd/ponder-bench|test/clients|sensor|sensor/(calendar|feed|git|mail|own|system)|tool/(approval|think|memory|thread)|internal/(calibration|eval|redact|retention|transcript|report|layers|textkit/[a-z]+)|mode/internal/[a-z]+|llm/llmtest/internal/mimic)$$
ALONE    := AlwaysEnds|CutA|Linear$$|Quick$$|Quality$$|EvidenceRecall|StateIsBounded|^TestDoneSet|^TestShapeAgrees|^TestRepair|^TestReference|^TestPrefixes|^TestView|^TestTorn|^TestRows|^TestReadOfLong|^TestEval|^TestCalibrated|^TestGateForgets|^TestKill|^TestRecoverMany|^TestZombie|^Fuzz|^TestInjections|^TestTwelveChanges|^TestMergeProperties|^TestAnyWorld|^TestPromptBounds|^TestLookUpSeldom|^TestRetry$$|^TestWantedBounds|^TestListPages|^TestPromiseComesUp|^TestDeadlineComesUp|^TestHostileCalendars|^TestExpandAsOthers|^TestStates$$|^TestFadeProperties|^TestEchoProperty|^TestFindProperties|^TestTwelveStates|^TestShownTo|^TestRace$$|^TestOpenAtOnce|^TestTwoProcesses|^TestLatePages|^TestBadArguments|^TestLongAnswersAreCut|^TestTooLong|^TestPlanFails|^TestSynthesisOnly|^TestRefusedWishes|^TestHostileFolder|^TestLongThread|^TestHostileItems|^TestFormats|^TestManyItems

race:
	@scripts/race -trimpath -p 3 -skip '$(ALONE)' ./cmd/ponder $$($(GO) list ./... | grep -vE '$(ALONE_IN)')

size: build
	@echo "bin/ponder: $$(wc -c < bin/ponder) bytes"

bench: build
	$(GO) run ./cmd/ponder-bench

fuzz:
	@scripts/fuzz 60s

clean:
	rm -rf bin
