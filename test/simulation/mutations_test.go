package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ponder/internal/racetest"
)

var mutationsFlag = flag.Int("mutations", 2, "number of planted faults to find; scripts/nightly finds all")

// mutantSeeds is the number of seeds in which the simulation must find a planted fault.
const mutantSeeds = 1000

// A mutation is a planted fault: a replacement of the only place of a text in a file.
type mutation struct {
	name     string
	file     string
	old, new string
}

var mutations = []mutation{
	{"skip the check of the fence", "store/internal/storerules/rule.go", "if fence != 0 && !held {", "if fence != 0 && !held && len(events) == 0 {"},
	{"charge a call twice", "engine/threadstate.go", "r.held, r.spent = r.held.Sub(in.held), r.spent.Add(spent)", "r.held, r.spent = r.held.Sub(in.held), r.spent.Add(spent).Add(spent)"},
	{"send a request before its intent is in the log", "engine/perform.go", "a.release = sync.OnceFunc(func() { close(a.recorded) })", "a.release = sync.OnceFunc(func() {}); close(a.recorded)"},
	{"ignore the place after which a decision was made", "store/internal/storerules/rule.go", "if ev.After != 0 && ev.After != head {", "if ev.After != 0 && ev.After > head {"},
	{"forget what the same decision reserved", "engine/admit.go", "d.held[up.ID] = d.held[up.ID].Add(held)", "d.held[up.ID] = held.Sub(held)"},
	{"forget what calls in flight reserve", "engine/threadstate.go", "r.held = r.held.Add(in.held)", "r.held = r.held.Add(ponder.Cost{})"},
	{"never release a reservation", "engine/threadstate.go", "r.held, r.spent = r.held.Sub(in.held), r.spent.Add(spent)", "r.held, r.spent = r.held, r.spent.Add(spent)"},
	{"deliver a message twice", "engine/inbox.go", "	for _, m := range h.inbox.claimMessages(h.thread) {\n", "	list := h.inbox.claimMessages(h.thread)\n	for i, m := range append(list, list...) {\n		if i >= len(list) {\n			for _, ev := range m.events {\n				ev.Cause += \"again\"\n				h.stampEvents(0, ev)\n			}\n			continue\n		}\n"},
	{"acknowledge messages that a refused batch had", "engine/inbox.go", "		var stored []ponder.Event\n", "		stored := m.events\n"},
	{"release a lease below the head", "engine/holder.go", "			if errors.Is(err, ponder.ErrStale) {\n				if err := h.readNew(); err != nil {\n					return err\n				}\n				continue\n			}\n			err = cmp.Or(err, errIdle)", "			if errors.Is(err, ponder.ErrStale) {\n				info, _ := h.Store.Thread(h.ctx, h.thread)\n				err = h.Store.Release(h.ctx, h.thread, h.lease.Fence, info.Head, h.elapsed())\n			}\n			err = cmp.Or(err, errIdle)"},
	{"treat Retry-After as passed", "engine/decide.go", "case d.now.Before(a.retryAt):", "case d.now.Before(a.retryAt.Add(-time.Hour)):"},
	{"drop the mark that a run has a result", "engine/threadstate.go", "	r.dirty = true\n	if in.superseded || r.ended || a == nil {", "	if in.superseded || r.ended || a == nil {"},
	{"save a checkpoint with the wrong place", "engine/checkpoint.go", "h.foldVersion(), h.committed, js)", "h.foldVersion(), h.committed-1, js)"},
	{"repeat a tool that must not be used twice", "engine/perform.go", "case tool.Once && doubt:", "case tool.Once && doubt && tool.Do == nil:"},
	{"take a store error for success", "engine/holder.go", "		if err == nil || done || h.ctx.Err() != nil {\n", "		if errors.Is(err, ponder.ErrFull) {\n			err = nil\n		}\n		if err == nil || done || h.ctx.Err() != nil {\n"},
	{"show internal results", "engine/perform.go", "	ev := ponder.Event{Run: in.run.ID, Cause: in.cause, Internal: in.internal}\n	if r.tool != nil {", "	ev := ponder.Event{Run: in.run.ID, Cause: in.cause}\n	if r.tool != nil {"},
	{"store an interrupted result as a result", "engine/perform.go", "	if in.superseded || in.run.ended {", "	if in.run.ended {"},
	{"lose the results of a refused batch", "engine/holder.go", "	h.state, h.batch, h.batchBytes = nil, nil, 0\n	h.replyPending(nil)", "	h.state, h.batch, h.batchBytes, h.results = nil, nil, 0, nil\n	h.replyPending(nil)"},
	{"take a thread from a living node", "store/memory/nodes.go", "case !s.isReplaceable(t.lease.Node):", "case !s.isReplaceable(t.lease.Node) && t.lease.Fence%2 == 0:"},
	{"repeat an interrupted use of such a tool", "engine/perform.go", "inherited || attempts > 1)", "inherited)"},
	{"ignore a cancellation", "engine/threadstate.go", "r.cancelled, r.answerNow = r.cancelled || b.Do == ponder.Cancel, r.answerNow", "r.cancelled, r.answerNow = r.cancelled, r.answerNow"},
	{"lose the wake-up for a retry", "engine/decide.go", "		if r.wakeAt.IsZero() || a.retryAt.Before(r.wakeAt) {\n			r.wakeAt = a.retryAt\n		}\n", ""},
	{"end a run before its calls have ended", "engine/perform.go", "		if h.attempts[id] == nil && !h.hasResult(id) {\n", "		if h.attempts[id] == nil && !h.hasResult(id) && !in.run.ended {\n"},
	{"lose a message at a change of lease", "engine/holder.go", "if h.committed = h.state.head; h.committed < lease.Head && h.readNew() != nil {", "if h.committed = h.state.head; h.committed < lease.Head {"},
	{"forget threads that no holder released", "store/memory/nodes.go", `hasWork := t.info.Status == ponder.Thinking || t.lease.Node != "";`, "hasWork := t.info.Status == ponder.Thinking;"},
	{"revive a dead node", "store/memory/nodes.go", "	if !s.isAlive(id) {\n		return fmt.Errorf(\"send heartbeat of %s: %w\", id, ponder.ErrFenced)\n	}\n", ""},
}

var foundSeed = regexp.MustCompile(`seed (\d+): ([^\n]*)`)

// TestMutations plants faults in the engine and the store. The simulation must find each one.
// The sources stay as they are: the go command replaces a file while it compiles.
func TestMutations(t *testing.T) {
	racetest.Skip(t, "it compiles and runs other programs")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range mutations {
		source, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: the text to replace is %d times in %s: %q", m.name, n, m.file, m.old)
			continue
		}
		if i < *mutationsFlag {
			t.Run(m.name, func(t *testing.T) { m.find(t, root, strings.Replace(string(source), m.old, m.new, 1)) })
		}
	}
}

// find compiles the mutant and simulates seeds until one fails.
func (m mutation) find(t *testing.T, root, source string) {
	dir := t.TempDir()
	program, replaced, overlay := filepath.Join(dir, "mutant"), filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	js, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): replaced}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{replaced: []byte(source), overlay: js} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", program, "./").CombinedOutput(); err != nil {
		t.Fatalf("compile the mutant: %v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestSeeds$", "-test.failfast", "-seeds", strconv.Itoa(mutantSeeds), "-stop", "-test.timeout=5m")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err == nil || !errors.As(err, &exit) {
		t.Errorf("%d seeds do not find the fault: %v", mutantSeeds, err)
		return
	}
	if found := foundSeed.FindStringSubmatch(string(out)); found != nil {
		t.Logf("seed %s: %.200s", found[1], found[2])
		return
	}
	if strings.Contains(string(out), "test timed out") { // a slow machine is no finding
		t.Errorf("the seeds take too long: %.300s", out)
		return
	}
	t.Logf("it stops: %.300s", out)
}
