package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/quota"
	"ponder/llm"
	"ponder/mode/session"
)

type eventCounter struct {
	ponder.Store
	read int
}

func (l *eventCounter) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range l.Store.Events(ctx, id, after) {
			l.read++
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (t *quotaTest) threadInfo(id ponder.ThreadID) ponder.Info {
	t.Helper()
	info, err := t.store.Thread(t.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (t *quotaTest) sendCommand(id ponder.ThreadID, body ponder.Body) {
	t.Helper()
	if _, err := ponder.SendCommands(t.ctx, t.store, id, ponder.Event{Run: "run_1", Body: body}); err != nil {
		t.Fatal(err)
	}
}

func (t *quotaTest) startTalk(s *Service, id ponder.ThreadID) error {
	thread := ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: "anna"}
	return s.continueThread(t.ctx, ponder.Info{Thread: thread}, func() error {
		return t.store.Create(t.ctx, thread, ponder.Event{ID: ponder.NewID("evt"), Run: "run_1", Body: ponder.RunStarted{Mode: "chat", Input: "?"}})
	})
}

func (t *quotaTest) newAccount(s *Service, id ponder.ThreadID) quota.Account {
	return quota.Account{Quotas: s.quotas, Token: "anna", Limit: quota.Limit{Cost: MoneyOf(t.limit.Cost)}, Thread: id, Life: t.ctx}
}

// A reservation reads no events unless a row lacks its ceiling.
func TestReservationReadsNoLog(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 10})
	s := l.Serve()
	for i := range 4 {
		id := ponder.ThreadID(fmt.Sprintf("thr_%d", i))
		if _, err := l.startSession(s, id, 1_000_000); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			l.appendEvents(id, callEvents(100)...)
		}
	}
	l.sendCommand("thr_0", ponder.RunPaused{})
	log := &eventCounter{Store: s.Log}
	s.Log = log
	if _, err := l.startSession(s, "thr_new", 500_000); err != nil {
		t.Error(err)
	}
	if err := s.continueThinking(l.ctx, l.threadInfo("thr_0"), func() error { l.sendCommand("thr_0", ponder.RunResumed{}); return nil }); err != nil {
		t.Error(err)
	}
	if err := s.CostsMore(l.ctx, l.threadInfo("thr_1"), 5_000, 2_000_000, func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := l.startTalk(s, "thr_talk"); err != nil {
		t.Error(err)
	}
	if _, _, settle, err := l.newAccount(s, "thr_talk").Reserve(l.ctx, ponder.Model{Price: ponder.Price{Source: ponder.PriceTable, Output: 1}}, &llm.Request{MaxTokens: 1000}); err != nil {
		t.Error(err)
	} else {
		settle(10)
	}
	if log.read != 0 {
		t.Errorf("%d events were read", log.read)
	}
	if left, want := l.quotaLeft(s), ponder.Money(10_000_000-500_000-3*1_000_000-2_000_000-10); left != want {
		t.Errorf("%d is left, want %d", left, want)
	}
	l.execSQL(`UPDATE serve_thread SET ceiling = NULL WHERE thread = 'thr_2'`)
	if err := s.continueThread(l.ctx, l.threadInfo("thr_2"), func() error { return nil }); err != nil || log.read < 100 {
		t.Errorf("%d events were read of a thread without a ceiling: %v", log.read, err)
	}
	if left := l.reservedCost("thr_2"); left != 995_000 {
		t.Errorf("%d is reserved by the log", left)
	}
}

func (t *quotaTest) execSQL(query string, args ...any) {
	t.Helper()
	err := t.store.SQL().Tx(t.ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.ctx, query, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Runs of the previous schema keep their reservations.
func TestReservationsOfOlderVersion(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 2})
	old := fstest.MapFS{}
	for n := 1; n <= 6; n++ {
		name := fmt.Sprintf("00%d.sql", n)
		text, err := fs.ReadFile(serveSchema, "schema/"+name)
		if err != nil {
			t.Fatal(err)
		}
		old[name] = &fstest.MapFile{Data: text}
	}
	if err := l.store.SQL().Migrate(t.Context(), "serve", old); err != nil {
		t.Fatal(err)
	}
	row := func(id ponder.ThreadID, kind ponder.Kind, held ponder.Money, bodies ...ponder.Body) {
		t.Helper()
		b := ponder.Budget{Cost: ponder.Cost{Money: 500_000}}
		started := ponder.Event{ID: ponder.NewID("evt"), Run: "run_1", Body: ponder.RunStarted{Mode: session.Name, Version: 2, Input: "?", Budget: b}}
		if err := l.store.Create(l.ctx, ponder.Thread{ID: id, Kind: kind, Owner: "anna"}, started); err != nil {
			t.Fatal(err)
		}
		l.execSQL(`INSERT INTO serve_thread (thread, token, wishes, held, since) VALUES (?, 'anna', '{}', ?, ?)`, string(id), int64(held), time.Now().Add(-time.Hour).Unix())
		l.appendEvents(id, bodies...)
	}
	row("thr_held", ponder.KindSession, 500_000, callEvents(100_000)...)
	row("thr_free", ponder.KindSession, 0, callEvents(200_000)...) // active by its log
	row("thr_over", ponder.KindSession, 500_000, append(callEvents(50_000), ponder.RunFinished{Status: ponder.Completed, Answer: "!"})...)
	row("thr_paused", ponder.KindSession, 500_000, callEvents(10_000)...)
	l.sendCommand("thr_paused", ponder.RunPaused{})
	l.execSQL(`INSERT INTO serve_day (token, day, begun, micro_usd) VALUES ('anna', ?, 4, 30_000)`, time.Now().Format(time.DateOnly)) // of a removed thread
	s := l.Serve()
	log := &eventCounter{Store: s.Log}
	s.Log = log
	if err := s.adoptRuns(l.ctx); err != nil {
		t.Fatal(err)
	}
	const spent, reserved = 100_000 + 200_000 + 50_000 + 10_000 + 30_000, 400_000 + 300_000
	if left := l.quotaLeft(s); left != 2_000_000-spent-reserved {
		t.Errorf("%d is left", left)
	}
	log.read = 0
	if err := s.adoptRuns(l.ctx); err != nil || log.read != 0 {
		t.Errorf("%d events are read again: %v", log.read, err)
	}
	l.appendEvents("thr_held", append(callEvents(25_000), ponder.RunFinished{Status: ponder.Completed, Answer: "!"})...)
	if left := l.quotaLeft(s); left != 2_000_000-spent-25_000-300_000 {
		t.Errorf("%d is left once one has ended", left)
	}
	if err := s.continueThinking(l.ctx, l.threadInfo("thr_paused"), func() error { l.sendCommand("thr_paused", ponder.RunResumed{}); return nil }); err != nil {
		t.Fatal(err)
	}
	if left := l.quotaLeft(s); left != 2_000_000-spent-25_000-300_000-490_000 {
		t.Errorf("%d is left once one is resumed", left)
	}
}

// A quotaModel makes random operations with a token, and computes the possible cost from the
// log.
type quotaModel struct {
	*quotaTest
	rnd     *rand.Rand
	s       [2]*Service // two processes
	spent   map[string]ponder.Money
	runs    map[ponder.ThreadID]ponder.Status
	cost    map[ponder.ThreadID]ponder.Money
	flights []flight
}

type flight struct {
	thread ponder.ThreadID
	max    ponder.Money
	settle quota.Settle
}

func (m *quotaModel) threadsWith(status ponder.Status) (ids []ponder.ThreadID) {
	for n := range len(m.runs) {
		if id := ponder.ThreadID(fmt.Sprintf("thr_%d", n)); m.runs[id] == status {
			ids = append(ids, id)
		}
	}
	return ids
}

func (m *quotaModel) pickThread(status ponder.Status) (ponder.ThreadID, bool) {
	ids := m.threadsWith(status)
	if len(ids) == 0 {
		return "", false
	}
	return ids[m.rnd.IntN(len(ids))], true
}

func (m *quotaModel) today() string { return time.Now().Format(time.DateOnly) }

func (m *quotaModel) mayCost(id ponder.ThreadID) ponder.Money {
	return max(0, m.limitIn(id, "run_1")-m.cost[id])
}

func (m *quotaModel) chargeThread(id ponder.ThreadID, c ponder.Money) {
	m.appendEvents(id, callEvents(c)...)
	m.spent[m.today()] += c
	m.cost[id] += c
}

// mayRefuse fails the test unless err is a quota error.
func (m *quotaModel) mayRefuse(err error) bool {
	if err != nil {
		m.checkRefused(OverBudget, err)
	}
	return err == nil
}

func (m *quotaModel) randomStep() string {
	s := m.s[m.rnd.IntN(2)]
	switch do := m.rnd.IntN(10); do {
	case 0, 1:
		id := ponder.ThreadID(fmt.Sprintf("thr_%d", len(m.runs)))
		if _, err := m.startSession(s, id, ponder.Money(m.rnd.IntN(400_000))); m.mayRefuse(err) {
			m.runs[id] = ponder.Thinking
		}
		return "start"
	case 2, 3:
		if id, ok := m.pickThread(ponder.Thinking); ok && m.mayCost(id) > 0 {
			m.chargeThread(id, 1+ponder.Money(m.rnd.Int64N(int64(m.mayCost(id)))))
		}
		return "call"
	case 4:
		if id, ok := m.pickThread(ponder.Thinking); ok {
			m.appendEvents(id, ponder.RunFinished{Status: ponder.Completed, Answer: "!"})
			m.runs[id] = ponder.Completed
		}
		return "finish"
	case 5:
		if id, ok := m.pickThread(ponder.Thinking); ok {
			m.sendCommand(id, ponder.RunPaused{})
			m.runs[id] = ponder.Paused
		}
		return "pause"
	case 6:
		id, ok := m.pickThread(ponder.Paused)
		fails := m.rnd.IntN(4) == 0
		if !ok {
			return "resume none"
		}
		err := s.continueThinking(m.ctx, m.threadInfo(id), func() error {
			if fails {
				return ponder.ErrStale
			}
			m.sendCommand(id, ponder.RunResumed{})
			return nil
		})
		if fails && errors.Is(err, ponder.ErrStale) {
			return "resume in vain"
		}
		if m.mayRefuse(err) {
			m.runs[id] = ponder.Thinking
		}
		return "resume"
	case 7:
		id := ponder.ThreadID(fmt.Sprintf("thr_talk_%d", m.rnd.IntN(3)))
		if _, err := m.store.Thread(m.ctx, id); errors.Is(err, ponder.ErrNoThread) && !m.mayRefuse(m.startTalk(s, id)) {
			return "talk in vain"
		}
		most := ponder.Money(1 + m.rnd.IntN(200_000))
		model := ponder.Model{Price: ponder.Price{Source: ponder.PriceTable, Output: 1}}
		if _, _, settle, err := m.newAccount(s, id).Reserve(m.ctx, model, &llm.Request{MaxTokens: int(most)}); err == nil {
			m.flights = append(m.flights, flight{id, most, settle})
		}
		return "call of a conversation"
	case 8:
		if len(m.flights) > 0 {
			f := m.flights[0]
			m.flights = m.flights[1:]
			cost := ponder.Money(m.rnd.Int64N(int64(f.max)))
			f.settle(cost)
			m.chargeThread(f.thread, cost)
		}
		return "answer"
	default:
		switch m.rnd.IntN(3) {
		case 0: // killed: calls in flight are unsettled and sent again
			m.s = [2]*Service{m.Serve(), m.Serve()}
			for _, f := range m.flights {
				if err := m.s[0].quotas.Free(m.ctx, f.thread); err != nil {
					m.Error(err)
				}
			}
			m.flights = nil
			return "crash"
		case 1: // killed between reservation and start
			_, err := s.reserveCost(m.ctx, quota.Request{
				Token: "anna", Limit: quota.Limit{Cost: MoneyOf(m.limit.Cost)}, Thread: ponder.ThreadID(ponder.NewID("thr")), Pending: true,
				Amount: func(_ quota.Row, left ponder.Money) (ponder.Money, error) { return left / 3, nil },
			})
			m.mayRefuse(err)
			return "crash in a start"
		}
		time.Sleep(time.Duration(m.rnd.IntN(8)) * time.Hour)
		return "wait"
	}
}

// checkLimit fails the test if the token's possible cost exceeds its limit.
func (m *quotaModel) checkLimit(after string) {
	m.Helper()
	sum := m.spent[m.today()]
	for _, id := range m.threadsWith(ponder.Thinking) {
		sum += m.mayCost(id)
	}
	for _, f := range m.flights {
		sum += f.max
	}
	if limit := MoneyOf(m.limit.Cost); sum > limit {
		m.Fatalf("after %s the token may cost %d of %d", after, sum, limit)
	}
}

// Starts and crashes never raise a token's daily cost above its limit, and unused reservations
// return.
func TestQuotaHoldsThroughCrashes(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewTill(t, config.Token{Cost: 1})
				m := &quotaModel{
					quotaTest: l, rnd: rand.New(rand.NewPCG(seed, 25)), s: [2]*Service{l.Serve(), l.Serve()},
					spent: make(map[string]ponder.Money), runs: make(map[ponder.ThreadID]ponder.Status), cost: make(map[ponder.ThreadID]ponder.Money),
				}
				for range 120 {
					m.checkLimit(m.randomStep())
				}
				for _, id := range m.threadsWith(ponder.Thinking) {
					m.appendEvents(id, ponder.RunFinished{Status: ponder.Completed, Answer: "!"})
				}
				for _, f := range m.flights {
					f.settle(0)
				}
				time.Sleep(quota.StartTime + time.Second)
				if left, want := l.quotaLeft(l.Serve()), MoneyOf(l.limit.Cost)-m.spent[m.today()]; left != max(0, want) {
					t.Errorf("%d is left at the end, want %d", left, want)
				}
			})
		})
	}
}
