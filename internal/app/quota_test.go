package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/config"
	"ponder/internal/quota"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

type quotaTest struct {
	*testing.T
	store *sqlite.Store
	limit config.Token
	ctx   context.Context //nolint:containedctx // of a request of hers
}

func NewTill(t *testing.T, limit config.Token) *quotaTest {
	store, err := sqlite.Open(t.Context(), t.TempDir()+"/p.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	ctx := auth.WithCaller(t.Context(), auth.Caller{Token: "anna", Owner: "anna", Scopes: auth.Scopes()})
	return &quotaTest{t, store, limit, ctx}
}

func (t *quotaTest) Serve() *Service {
	b, err := openServerDB(t.Context(), t.store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{}
	cfg.Serve.Tokens = map[string]config.Token{"anna": t.limit}
	return &Service{App: &App{Settings: cfg}, Store: t.store, Log: t.store, DB: b, quotas: quota.New(t.store.SQL()), life: t.Context()}
}

func (t *quotaTest) startSession(s *Service, id ponder.ThreadID, want ponder.Money) (ponder.Money, error) {
	b := ponder.Budget{Cost: ponder.Cost{Money: want}}
	err := s.startWithQuota(t.ctx, id, &b, func() error {
		started := ponder.Event{ID: ponder.NewID("evt"), Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Version: 2, Input: "?", Budget: b}}
		return t.store.Create(t.ctx, ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: "anna"}, started)
	})
	return b.Money, err
}

func (t *quotaTest) appendEvents(id ponder.ThreadID, bodies ...ponder.Body) {
	t.Helper()
	node := ponder.NodeID(ponder.NewID("nod")) // alive
	if err := t.store.Join(t.ctx, ponder.Node{ID: node}); err != nil {
		t.Fatal(err)
	}
	lease, err := t.store.Take(t.ctx, id, node)
	if err != nil {
		t.Fatal(err)
	}
	head, cause := lease.Head, fmt.Sprintf("call-%d", lease.Head)
	for _, b := range bodies {
		evs, err := t.store.Append(t.ctx, id, lease.Fence, ponder.Event{Run: "run_1", Cause: cause, Body: b})
		if err != nil {
			t.Fatal(err)
		}
		head = evs[0].Seq
	}
	if err := t.store.Release(t.ctx, id, lease.Fence, head, 0); err != nil {
		t.Fatal(err)
	}
}

func callEvents(m ponder.Money) []ponder.Body {
	return []ponder.Body{
		ponder.CallStarted{Role: ponder.Slow, Mode: session.Name, Model: "sim/a"},
		ponder.CallFinished{Model: "sim/a", Spent: ponder.Cost{Calls: 1, Money: m}, Price: ponder.PriceTable},
	}
}

func (t *quotaTest) reservedCost(id ponder.ThreadID) (sum ponder.Money) {
	t.Helper()
	err := t.store.SQL().Read.QueryRow(`SELECT coalesce(sum(ceiling - cost), 0) FROM serve_thread WHERE held > 0 AND ceiling > cost AND (thread = ? OR '' = ?)`,
		string(id), string(id)).Scan(&sum)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func (t *quotaTest) quotaLeft(s *Service) (left ponder.Money) {
	t.Helper()
	_, err := s.quotas.Reserve(t.ctx, quota.Request{
		Token: "anna", Limit: quota.Limit{Cost: MoneyOf(t.limit.Cost)}, Thread: "thr_probe", Amount: func(_ quota.Row, now ponder.Money) (ponder.Money, error) {
			left = now
			return 0, errProbe
		},
	})
	var refused *quota.Refusal
	if !errors.Is(err, errProbe) && !errors.As(err, &refused) {
		t.Error(err)
	}
	return left
}

var errProbe = errors.New("only a look")

func (t *quotaTest) checkRefused(code Code, err error) {
	t.Helper()
	if CodeOf(err) != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// Concurrent starts through two servers never exceed the limit, and each budget in the log
// equals its reservation.
func TestGrantsAtOnce(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1.5})
	servers := []*Service{l.Serve(), l.Serve()}
	var mu sync.Mutex
	var sum ponder.Money
	var begun, refused int
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			m, err := l.startSession(servers[i%2], ponder.ThreadID(fmt.Sprintf("thr_%d", i)), 400_000)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				sum, begun = sum+m, begun+1
				return
			}
			l.checkRefused(OverBudget, err)
			refused++
		})
	}
	all.Wait()
	if sum != 1_500_000 || begun != 4 || refused != 8 {
		t.Errorf("%d sessions with %d in all, %d refused", begun, sum, refused)
	}
	if _, err := l.startSession(l.Serve(), "thr_late", 1); err == nil || !strings.Contains(err.Error(), "wait until") {
		t.Errorf("after a restart: %v", err)
	}
}

// A session that ends or pauses returns its unused reservation. Spent money stays charged, also
// for removed threads.
func TestGrantsGiveBack(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	is := func(id ponder.ThreadID, want, granted ponder.Money) {
		t.Helper()
		if m, err := l.startSession(l.Serve(), id, want); err != nil || m != granted {
			t.Errorf("%s is granted %d: %v; want %d", id, m, err, granted)
		}
	}
	is("thr_1", 0, 500_000) // half of the rest, without an amount
	is("thr_2", 9_000_000, 500_000)
	_, err := l.startSession(l.Serve(), "thr_none", 1)
	l.checkRefused(OverBudget, err)
	l.appendEvents("thr_1", callEvents(200_000)...)
	_, err = l.startSession(l.Serve(), "thr_none", 1)
	l.checkRefused(OverBudget, err)
	l.appendEvents("thr_1", ponder.RunFinished{Status: ponder.Completed, Answer: "x"})
	is("thr_3", 100_000, 100_000)
	if _, err := ponder.SendCommands(l.ctx, l.store, "thr_2", ponder.Event{Run: "run_1", Body: ponder.RunPaused{}}); err != nil {
		t.Fatal(err)
	}
	is("thr_4", 0, 350_000) // of 1 - 0.2 - 0.1
	if err := l.Serve().DB.Remove(l.ctx, "thr_1"); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no")
	b := ponder.Budget{}
	if err := l.Serve().startWithQuota(l.ctx, "thr_failed", &b, func() error { return failed }); !errors.Is(err, failed) || b.Money != 175_000 {
		t.Errorf("%v, %d", err, b.Money)
	}
	is("thr_5", 0, 175_000) // a failed start reserves nothing

	if _, err := ponder.SendCommands(l.ctx, l.store, "thr_2", ponder.Event{Run: "run_1", Body: ponder.RunResumed{}}); err != nil {
		t.Fatal(err)
	}
	info, err := l.store.Thread(l.ctx, "thr_2")
	if err != nil {
		t.Fatal(err)
	}
	s := l.Serve()
	if err := s.continueThread(l.ctx, info, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if more := l.reservedCost("thr_2"); more != 175_000 {
		t.Errorf("%d is reserved for it", more)
	}
	cut := ponder.Money(0)
	for ev, err := range l.store.Events(l.ctx, "thr_2", 0) {
		if err != nil {
			t.Fatal(err)
		}
		cut = max(cut, commandBudget(ev))
	}
	if cut != 175_000 {
		t.Errorf("the cost limit is %d", cut)
	}
}

// Concurrent starts stop exactly at the daily number.
func TestBeginsAtOnce(t *testing.T) {
	l := NewTill(t, config.Token{PerDay: 5})
	servers := []*Service{l.Serve(), l.Serve()}
	var mu sync.Mutex
	begun := 0
	var all sync.WaitGroup
	for i := range 15 {
		all.Go(func() {
			_, err := l.startSession(servers[i%2], ponder.ThreadID(fmt.Sprintf("thr_%d", i)), 0)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				begun++
				return
			}
			l.checkRefused(Limit, err)
		})
	}
	all.Wait()
	if begun != 5 {
		t.Errorf("%d sessions", begun)
	}
	if err := l.Serve().DB.Remove(l.ctx, "thr_1"); err != nil {
		t.Fatal(err)
	}
	_, err := l.startSession(l.Serve(), "thr_late", 0)
	l.checkRefused(Limit, err)
}

type costlyModel struct {
	mu    sync.Mutex
	calls int
	hold  chan struct{}
}

func (*costlyModel) Name() string { return "sim/dear" }

func (d *costlyModel) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		d.mu.Lock()
		d.calls++
		d.mu.Unlock()
		<-d.hold
		yield(llm.Delta{Done: &llm.Response{Usage: llm.Usage{Input: 10, Output: 10}}}, nil)
	}
}

// Calls of conversations reserve their maximal cost beside sessions, through two servers, and
// return the rest.
func TestCallsArePaid(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	if m, err := l.startSession(l.Serve(), "thr_session", 500_000); err != nil || m != 500_000 {
		t.Fatal(m, err)
	}
	d := &costlyModel{hold: make(chan struct{})}
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 100} // 1000 tokens are ten cents
	failed := make(chan error, 20)
	var all sync.WaitGroup
	for i := range 10 {
		id := ponder.ThreadID(fmt.Sprintf("thr_talk_%d", i))
		thread := ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: "anna"}
		s := l.Serve()
		if err := s.continueThread(l.ctx, ponder.Info{Thread: thread}, func() error {
			return l.store.Create(l.ctx, thread, ponder.Event{ID: ponder.NewID("evt"), Body: ponder.UserMessage{Content: "?"}})
		}); err != nil {
			t.Fatal(err)
		}
		models, err := s.meterModels(t.Context(), engineSpec{Payer: id}, map[ponder.Role][]ponder.Model{ponder.Fast: {{Model: d, Price: price}}})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for _, err := range models[ponder.Fast][0].Generate(t.Context(), &llm.Request{MaxTokens: 1000}) {
				if err != nil {
					failed <- err
				}
			}
		})
	}
	for range 6 { // four of ten fit in half a dollar, with their input
		if err := <-failed; llm.ClassOf(err) != llm.Payment {
			t.Error(err)
		}
	}
	_, err := l.startSession(l.Serve(), "thr_none", 0)
	if err != nil {
		t.Errorf("a session within the rest of the limit: %v", err)
	}
	close(d.hold)
	all.Wait()
	if d.calls != 4 || len(failed) != 0 {
		t.Errorf("%d calls were made, %d more failed", d.calls, len(failed))
	}
	if m, err := l.startSession(l.Serve(), "thr_after", 400_000); err != nil || m < 390_000 {
		t.Errorf("%d is left: %v", m, err)
	}
}

type twin struct {
	asked chan bool
	hold  chan struct{}
}

func (twin) Name() string { return "sim/twin" }

func (m twin) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.asked <- req.Hedge
		<-m.hold
		yield(llm.Delta{Done: &llm.Response{Usage: llm.Usage{Input: 10, Output: 10, Hedged: req.Hedge}}}, nil)
	}
}

// A hedged call reserves the cost of two requests, or is not hedged.
func TestCallsThatMayBeMadeTwiceArePaid(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 0.35})
	thread := ponder.Thread{ID: "thr_talk", Kind: ponder.KindConversation, Owner: "anna"}
	s := l.Serve()
	if err := s.continueThread(l.ctx, ponder.Info{Thread: thread}, func() error {
		return l.store.Create(l.ctx, thread, ponder.Event{ID: ponder.NewID("evt"), Body: ponder.UserMessage{Content: "?"}})
	}); err != nil {
		t.Fatal(err)
	}
	m := twin{make(chan bool), make(chan struct{})}
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 100}
	models, err := s.meterModels(t.Context(), engineSpec{Payer: thread.ID}, map[ponder.Role][]ponder.Model{ponder.Cheap: {{Model: m, Price: price, Hedge: true}}})
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 3)
	var all sync.WaitGroup
	for i, want := range []string{"twice", "once", "refused"} {
		all.Go(func() {
			for _, err := range models[ponder.Cheap][0].Generate(t.Context(), &llm.Request{MaxTokens: 1000, Hedge: true}) {
				if err != nil {
					refused <- err
				}
			}
		})
		got := "once"
		select {
		case hedge := <-m.asked:
			if hedge {
				got = "twice"
			}
		case err := <-refused:
			if got = "refused"; llm.ClassOf(err) != llm.Payment {
				t.Error(err)
			}
		}
		if got != want {
			t.Errorf("call %d: %s, want %s", i, got, want)
		}
	}
	close(m.hold)
	all.Wait()
	if held := l.reservedCost(thread.ID); held > 10_000 {
		t.Errorf("%d is reserved at the end", held)
	}
}

// A limited token refuses models without a price.
func TestCallsWithoutAPrice(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.Serve()
	if err := s.continueThread(l.ctx, ponder.Info{Thread: ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation}}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	models, err := s.meterModels(t.Context(), engineSpec{Payer: "thr_1"}, map[ponder.Role][]ponder.Model{ponder.Fast: {{Model: &costlyModel{}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range models[ponder.Fast][0].Generate(t.Context(), &llm.Request{}) {
		if llm.ClassOf(err) != llm.Payment || !strings.Contains(err.Error(), "price of sim/dear is unknown") {
			t.Error(err)
		}
	}
}

// A raised ceiling must fit the token's rest. Ceilings in pending commands are reserved.
func TestGrantsMoreToWhatThinks(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	if m, err := l.startSession(l.Serve(), "thr_1", 500_000); err != nil || m != 500_000 {
		t.Fatal(m, err)
	}
	l.appendEvents("thr_1", callEvents(200_000)...)
	info, err := l.store.Thread(l.ctx, "thr_1")
	if err != nil {
		t.Fatal(err)
	}
	s := l.Serve()
	told := 0
	tell := func(most ponder.Money) error {
		return s.CostsMore(l.ctx, info, 200_000, most, func() error {
			told++
			_, err := ponder.SendCommands(l.ctx, l.store, "thr_1", limitTo(session.Session{Run: "run_1"}, most))
			return err
		})
	}
	err = tell(1_100_000)
	l.checkRefused(OverBudget, err)
	if told != 0 || err == nil || !strings.Contains(err.Error(), "limit the session to $1.00") {
		t.Errorf("told %d times: %v", told, err)
	}
	if err := tell(900_000); err != nil || told != 1 {
		t.Errorf("told %d times: %v", told, err)
	}
	if m, err := l.startSession(l.Serve(), "thr_2", 500_000); err != nil || m != 100_000 {
		t.Errorf("another is granted %d: %v", m, err)
	}
	l.checkRefused(OverBudget, tell(950_000))
}
