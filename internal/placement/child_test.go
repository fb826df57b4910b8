//go:build unix

package placement

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/sqlite"
)

// Tests with processes start this program again with a job in childEnv.
const childEnv = "PLACE_TEST_CHILD"

type job struct {
	Role    string // name in roles
	File    string // database
	Calls   string // file that records each call at its start
	Name    string // author in the answers, if set
	Latency time.Duration
	Life    time.Duration // time until it exits
	Threads []ponder.ThreadID
}

func TestMain(m *testing.M) {
	spec := os.Getenv(childEnv)
	if spec == "" {
		os.Exit(m.Run())
	}
	go func() { // the test has ended
		io.Copy(io.Discard, os.Stdin)
		os.Exit(2)
	}()
	if err := runChild(spec); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// A childProcess is the test's handle of a child.
type childProcess struct {
	*exec.Cmd
	lines chan string // standard output; closed at the end
}

func startChild(t *testing.T, j job) *childProcess {
	t.Helper()
	js, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	p := &childProcess{Cmd: exec.Command(os.Args[0]), lines: make(chan string, 1000)}
	p.Env = append(os.Environ(), childEnv+"="+string(js))
	p.Stderr = os.Stderr
	if _, err := p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { p.killChild() })
	return p
}

// killChild ends a child abruptly and reaps it.
func (p *childProcess) killChild() {
	if p.ProcessState == nil {
		p.Process.Signal(syscall.SIGKILL)
		p.Process.Signal(syscall.SIGCONT)
		p.waitExit()
	}
}

// waitExit waits for a child to exit.
func (p *childProcess) waitExit() error {
	for range p.lines {
	}
	return p.Wait()
}

// waitLine waits for a line with the prefix what and returns the rest.
func (p *childProcess) waitLine(t *testing.T, what string) string {
	t.Helper()
	rest, err := p.readLine(what)
	if err != nil {
		t.Fatal(err)
	}
	return rest
}

func (p *childProcess) readLine(what string) (rest string, err error) {
	late := time.After(2 * patience)
	for {
		select {
		case line, more := <-p.lines:
			if !more {
				return "", fmt.Errorf("the child ended before it said %q: %w", what, p.Wait())
			}
			if rest, ok := strings.CutPrefix(line, what); ok {
				return strings.TrimSpace(rest), nil
			}
		case <-late:
			return "", fmt.Errorf("the child does not say %q", what)
		}
	}
}

type child struct {
	job
	begun time.Time
	store *sqlite.Store
	mind  *engine.Engine
	place *Placement
	model *scriptedModel
}

var roles = map[string]func(context.Context, *child) error{
	"finish": finishAll, "race": raceForAll, "hold": holdOne, "serve": serveOthers, "many": recoverMany,
}

func runChild(spec string) error {
	c := &child{begun: time.Now()}
	if err := json.Unmarshal([]byte(spec), &c.job); err != nil {
		return err
	}
	ctx := context.Background()
	calls, err := os.OpenFile(c.Calls, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c.model = &scriptedModel{name: c.Name, latency: c.Latency, calls: calls}
	if c.store, err = sqlite.Open(ctx, c.File); err != nil {
		return err
	}
	node := CurrentNode()
	if c.mind, err = engine.New(engineConfig(c.store, c.model, node)); err != nil {
		return err
	}
	if err := c.mind.Open(ctx); err != nil {
		return err
	}
	serve := c.Role == "serve" || c.Role == "many"
	if c.place, err = Open(ctx, Config{Store: c.store, DB: c.store.DB(), Node: node, Work: c.mind.Work, Serve: serve}); err != nil {
		return err
	}
	err = roles[c.Role](ctx, c)
	return errors.Join(err, c.place.Close(ctx), c.mind.Close(ctx), c.store.Close())
}

// finishAll recovers the threads and waits until all have finished.
func finishAll(ctx context.Context, c *child) error {
	if _, err := c.place.Recover(ctx); err != nil {
		return err
	}
	fmt.Println("recovered")
	return c.awaitThreads(ctx, c.Threads...)
}

func (c *child) awaitThreads(ctx context.Context, threads ...ponder.ThreadID) error {
	for _, thread := range threads {
		if _, err := ponder.Await(ctx, c.store, thread, runOf(thread)); err != nil {
			return err
		}
	}
	return nil
}

// raceForAll repeatedly tries to take each thread until all have finished or its time is over.
func raceForAll(ctx context.Context, c *child) error {
	fmt.Println("ready")
	ctx, cancel := context.WithTimeout(ctx, c.Life)
	defer cancel()
	var wg sync.WaitGroup
	for _, thread := range c.Threads {
		wg.Go(func() {
			for sleepContext(ctx, time.Millisecond) {
				info, err := c.store.Thread(ctx, thread)
				if err != nil || info.Status.Ended() {
					return
				}
				c.place.Start(ctx, thread)
				c.place.Wait(ctx, thread)
			}
		})
	}
	wg.Wait()
	c.place.Close(context.Background())
	fmt.Println("left", ctx.Err() == nil)
	return nil
}

// holdOne works on a thread until another process takes it, then on a new thread as a new node.
func holdOne(ctx context.Context, c *child) error {
	if err := c.place.Start(ctx, c.Threads[0]); err != nil {
		return err
	}
	err := c.place.Wait(ctx, c.Threads[0])
	fmt.Println("first ended", errors.Is(err, ponder.ErrHeld), err)
	const second = "thr_second"
	if err := makeThread(ctx, c.store, second, 3); err != nil {
		return err
	}
	if err := c.place.Start(ctx, second); err != nil {
		return err
	}
	fmt.Println("second ended", c.place.Wait(ctx, second))
	return nil
}

// serveOthers waits for threads of other processes.
func serveOthers(ctx context.Context, c *child) error {
	fmt.Println("ready")
	return c.awaitThreads(ctx, c.Threads...)
}

// recoverMany reports when both calls of each thread have started, then blocks.
func recoverMany(ctx context.Context, c *child) error {
	before := heapInUse()
	begun := time.Now()
	if _, err := c.place.Recover(ctx); err != nil {
		return err
	}
	for c.model.begun.Load() < 2*int64(len(c.Threads)) {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("all", time.Since(begun).Milliseconds(), time.Since(c.begun).Milliseconds())
	time.Sleep(2 * time.Second) // until the rows exist
	fmt.Println("memory", (heapInUse()-before)/uint64(len(c.Threads)))
	select {}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// A scriptedModel model answers by the request alone after a delay and records each call at its start.
type scriptedModel struct {
	name    string
	latency time.Duration
	calls   *os.File
	begun   atomic.Int64
}

func (m *scriptedModel) Name() string { return "scripted/model" }

func (m *scriptedModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		text := req.Messages[0].Text()
		if m.calls != nil {
			fmt.Fprintf(m.calls, "%s\n", text)
		}
		m.begun.Add(1)
		if !sleepContext(ctx, m.latency) {
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Model: m.Name(), Message: "cancelled", Err: ctx.Err()})
			return
		}
		answer := strings.TrimSpace("answer to " + text + " " + m.name)
		yield(llm.Delta{Done: &llm.Response{
			Message: llm.Say(llm.Assistant, answer), Finish: llm.FinishStop, Model: m.Name(), Usage: llm.Usage{Input: 10, Output: 5},
		}}, nil)
	}
}

// engineConfig returns the engine configuration of these tests.
func engineConfig(store ponder.Store, m llm.Model, node ponder.Node) engine.Config {
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}
	return engine.Config{Store: store, Node: node, Modes: []ponder.Mode{pairsMode()}, Models: enginetest.Models(m, price)}
}

// A pair is the state of a mode that makes two calls at once, appends the result, and repeats as
// often as its input says.
type pair struct {
	Of      string // thread
	N, Step int
	Got     map[string]string // answers of this step
	Said    []string          // of the last step
}

func pairsMode() ponder.Mode {
	return ponder.Mode{
		Name: "pairs", Version: 1,
		Start: func(r ponder.Run) ponder.State {
			p := pair{}
			fmt.Sscan(r.Input, &p.Of, &p.N)
			return p
		},
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var p pair
			err := json.Unmarshal(js, &p)
			return p, err
		},
	}
}

func (p pair) Apply(ev ponder.Event) ponder.State {
	b, ok := ev.Body.(ponder.CallFinished)
	if !ok {
		return p
	}
	key, _, _ := strings.Cut(ev.Cause, "-")
	got := map[string]string{key: b.Text() + b.Error}
	for k, v := range p.Got {
		got[k] = v
	}
	p.Got = got
	if len(got) == 2 {
		p.Step, p.Got, p.Said = p.Step+1, nil, []string{got["left"], got["right"]}
	}
	return p
}

func (p pair) Next(ponder.Moment) (do []ponder.Action) {
	if p.Step > 0 {
		do = append(do, ponder.Write{Key: fmt.Sprintf("note-%d", p.Step), Bodies: []ponder.Body{
			ponder.Thought{Content: p.Said[0], Kind: "exploration"}, ponder.Thought{Content: p.Said[1], Kind: "critique"},
		}})
	}
	if p.Step >= p.N {
		return append(do, ponder.Finish{Answer: "done"})
	}
	for _, side := range []string{"left", "right"} {
		do = append(do, ponder.Call{Key: fmt.Sprintf("%s-%d", side, p.Step), Role: ponder.Slow, Request: llm.Request{
			Messages: []llm.Message{llm.Say(llm.User, fmt.Sprintf("%s %s %d", p.Of, side, p.Step))}, MaxTokens: 100,
		}})
	}
	return do
}

func runOf(thread ponder.ThreadID) ponder.RunID { return ponder.RunID("run_of_" + string(thread)) }

func makeThread(ctx context.Context, store ponder.Threads, id ponder.ThreadID, n int) error {
	start := ponder.RunStarted{Mode: "pairs", Input: fmt.Sprintf("%s %d", id, n)}
	header := ponder.Thread{ID: id, Kind: ponder.KindSession, Created: time.Now()}
	return store.Create(ctx, header, ponder.Event{Run: runOf(id), Body: start})
}

func makeThreads(t *testing.T, store ponder.Threads, count, n int) (threads []ponder.ThreadID) {
	t.Helper()
	for i := range count {
		id := ponder.ThreadID(fmt.Sprintf("thr_%04d", i))
		if err := makeThread(t.Context(), store, id, n); err != nil {
			t.Fatal(err)
		}
		threads = append(threads, id)
	}
	return threads
}

func eventsOf(t *testing.T, store ponder.Log, thread ponder.ThreadID) (evs []ponder.Event) {
	t.Helper()
	for ev, err := range store.Events(t.Context(), thread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, ev)
	}
	return evs
}

func callsIn(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}
