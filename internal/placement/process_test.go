//go:build unix

package placement

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/store/memory"
	"ponder/store/sqlite"
)

// A scenario is a database and the record of the calls of processes on it.
type scenario struct {
	store   *sqlite.Store
	job     job
	threads []ponder.ThreadID
}

// newScenario creates a database with threads of n steps.
func newScenario(t *testing.T, count, n int) *scenario {
	t.Helper()
	dir := t.TempDir()
	r := &scenario{job: job{File: filepath.Join(dir, "ponder.db"), Calls: filepath.Join(dir, "calls")}}
	store, err := sqlite.Open(t.Context(), r.job.File)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r.store = store
	r.threads = makeThreads(t, store, count, n)
	r.job.Threads = r.threads
	return r
}

func (r *scenario) jobAs(role string, latency time.Duration) job {
	j := r.job
	j.Role, j.Latency = role, latency
	return j
}

// undisturbedRun returns the threads of a run without interruptions, as lines.
func undisturbedRun(t *testing.T, count, n int) map[ponder.ThreadID][]string {
	t.Helper()
	store := memory.New()
	threads := makeThreads(t, store, count, n)
	node := CurrentNode()
	mind, err := engine.New(engineConfig(store, new(scriptedModel), node))
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := Memory(Config{Store: store, Node: node, Work: mind.Work})
	if got, err := p.Recover(t.Context()); got != count || err != nil {
		t.Fatalf("started %d, %v", got, err)
	}
	lines := make(map[ponder.ThreadID][]string)
	for _, thread := range threads {
		if err := p.Wait(t.Context(), thread); err != nil {
			t.Fatal(err)
		}
		lines[thread] = enginetest.Lines(eventsOf(t, store, thread))
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := mind.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return lines
}

type callState struct {
	open, done map[string]bool // by request
}

func (r *scenario) readCalls(t *testing.T) callState {
	t.Helper()
	s := callState{make(map[string]bool), make(map[string]bool)}
	for _, thread := range r.threads {
		for _, ev := range eventsOf(t, r.store, thread) {
			side, step, _ := strings.Cut(strings.Split(ev.Cause, "#")[0], "-")
			text := fmt.Sprintf("%s %s %s", thread, side, step)
			switch ev.Body.(type) {
			case ponder.CallStarted:
				s.open[text] = true
			case ponder.CallFinished:
				delete(s.open, text)
				s.done[text] = true
			}
		}
	}
	return s
}

// TestKill kills processes at random times. The next process must reach the same result and repeat
// no answered call.
func TestKill(t *testing.T) {
	const count, steps, kills = 3, 150, 20
	want := undisturbedRun(t, count, steps)
	r := newScenario(t, count, steps)
	inFlight, killed := 0, 0
	answered := make(map[string]int) // requests per answered question
	random := rand.New(rand.NewPCG(1, 2))
	for {
		p := startChild(t, r.jobAs("finish", 4*time.Millisecond))
		if killed%5 != 4 { // otherwise it may not have started
			p.waitLine(t, "recovered")
		}
		life := time.Duration(random.IntN(60_000)) * time.Microsecond
		if killed >= kills {
			life = patience
		}
		ended := make(chan error, 1)
		go func() { ended <- p.waitExit() }()
		select {
		case err := <-ended:
			if err != nil || killed < kills {
				t.Fatalf("ended after %d kills: %v", killed, err)
			}
			answers := r.compareThreads(t, want)
			if made := len(callsIn(t, r.job.Calls)); made > answers+inFlight {
				t.Errorf("%d calls were made for %d answers, and %d were in flight", made, answers, inFlight)
			}
			asked := r.countCalls(t)
			for text, times := range answered {
				if asked[text] != times || times == 0 {
					t.Errorf("%q was asked %d times before it was answered, and then %d times", text, times, asked[text]-times)
				}
			}
			t.Logf("%d kills, %d calls in flight", killed, inFlight)
			return
		case <-time.After(life):
		}
		p.Process.Signal(syscall.SIGKILL)
		if err := <-ended; err == nil {
			t.Fatalf("ended by itself after %d kills", killed)
		}
		killed++
		now, asked := r.readCalls(t), r.countCalls(t)
		inFlight += len(now.open)
		for text := range now.done {
			if answered[text] == 0 {
				answered[text] = asked[text]
			}
		}
	}
}

func (r *scenario) countCalls(t *testing.T) map[string]int {
	t.Helper()
	asked := make(map[string]int)
	for _, text := range callsIn(t, r.job.Calls) {
		asked[text]++
	}
	return asked
}

// compareThreads compares the threads with want and returns the number of their answers.
func (r *scenario) compareThreads(t *testing.T, want map[ponder.ThreadID][]string) (answers int) {
	t.Helper()
	for _, thread := range r.threads {
		evs := eventsOf(t, r.store, thread)
		if diff := cmp.Diff(want[thread], enginetest.Lines(evs)); diff != "" {
			t.Fatalf("%s: -whole +got\n%s", thread, diff)
		}
		for _, ev := range evs {
			if _, ok := ev.Body.(ponder.CallFinished); ok {
				answers++
			}
		}
	}
	return answers
}

// TestRace runs two processes on the same threads. Together they must do what one process would
// do.
func TestRace(t *testing.T) {
	const count, steps = 20, 8
	want := undisturbedRun(t, count, steps)
	r := newScenario(t, count, steps)
	var lives [2]int
	var wg sync.WaitGroup
	for i := range lives {
		wg.Go(func() {
			for finished := ""; finished != "true"; lives[i]++ {
				j := r.jobAs("race", 5*time.Millisecond)
				j.Life = time.Duration(100+37*i+50*lives[i]) * time.Millisecond
				p := startChild(t, j)
				var err error
				if finished, err = p.readLine("left"); err == nil {
					err = p.waitExit()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	r.compareThreads(t, want)
	t.Logf("%v lives, %d calls", lives, len(callsIn(t, r.job.Calls)))
}

// TestZombie stops a process for longer than its lease. After it wakes, it must write nothing
// until it is a new node.
func TestZombie(t *testing.T) {
	r := newScenario(t, 1, 15)
	j := r.jobAs("hold", 300*time.Millisecond)
	j.Name = "zombie"
	zombie := startChild(t, j)
	r.awaitAnswer(t, "zombie")
	zombie.Process.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	j = r.jobAs("serve", 300*time.Millisecond)
	j.Name = "heir"
	heir := startChild(t, j)
	at := r.awaitAnswer(t, "heir")
	t.Logf("taken over after %v", time.Since(stopped).Round(time.Millisecond))
	if nodes := r.nodesOf(t, zombie.Process.Pid); len(nodes) != 1 {
		t.Errorf("the zombie is %d nodes", len(nodes))
	}
	zombie.Process.Signal(syscall.SIGCONT)
	if got := zombie.waitLine(t, "first ended"); !strings.HasPrefix(got, "true") {
		t.Errorf("the zombie's work ended: %s", got)
	}
	if got := zombie.waitLine(t, "second ended"); got != "<nil>" {
		t.Errorf("the zombie's other work ended: %s", got)
	}
	for _, p := range []*childProcess{zombie, heir} {
		if err := p.waitExit(); err != nil {
			t.Error(err)
		}
	}
	for _, ev := range eventsOf(t, r.store, r.threads[0]) {
		if by := answerAuthor(ev); ev.Seq > at && by == "zombie" {
			t.Errorf("the zombie wrote event %d after the heir wrote %d", ev.Seq, at)
		}
	}
	for thread, by := range map[ponder.ThreadID]string{r.threads[0]: "heir", "thr_second": "zombie"} {
		evs := eventsOf(t, r.store, thread)
		fin, ok := evs[len(evs)-1].Body.(ponder.RunFinished)
		if !ok || fin.Status != ponder.Completed {
			t.Errorf("%s is not finished", thread)
		}
		if got := answerAuthor(evs[len(evs)-2]); got != by {
			t.Errorf("%s was finished by %q, want %q", thread, got, by)
		}
	}
}

// awaitAnswer waits for an answer by name in the first thread and returns its position.
func (r *scenario) awaitAnswer(t *testing.T, name string) ponder.Seq {
	t.Helper()
	for ev, err := range ponder.Follow(t.Context(), r.store, r.threads[0], 0) {
		if err != nil {
			t.Fatal(err)
		}
		if answerAuthor(ev) == name {
			return ev.Seq
		}
	}
	return 0
}

func answerAuthor(ev ponder.Event) string {
	text := ""
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		text = b.Text()
	case ponder.Thought:
		text = b.Content
	}
	return text[strings.LastIndexByte(text, ' ')+1:]
}

func (r *scenario) nodesOf(t *testing.T, pid int) (list []ponder.Node) {
	t.Helper()
	all, err := r.store.AllNodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if n.PID == pid {
			list = append(list, n)
		}
	}
	return list
}

// TestRecoverMany checks that the next process takes over the threads of a killed one at once.
func TestRecoverMany(t *testing.T) {
	const count = 200
	r := newScenario(t, count, 1)
	first := startChild(t, r.jobAs("many", time.Hour))
	t.Logf("first: all at work after %s ms (of Recover, of the process); %s bytes for each", first.waitLine(t, "all"), first.waitLine(t, "memory"))
	first.killChild()
	second := startChild(t, r.jobAs("many", time.Hour))
	t.Logf("second: all at work again after %s ms (of Recover, of the process); %s bytes for each", second.waitLine(t, "all"), second.waitLine(t, "memory"))
	asked := r.countCalls(t)
	for text, n := range asked {
		if n != 2 {
			t.Errorf("%s was asked %d times", text, n)
		}
	}
	if len(asked) != 2*count {
		t.Errorf("%d questions were asked", len(asked))
	}
}
