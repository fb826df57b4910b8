package engine_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// A pacedModel is a model that reads and writes at a speed, like a small model on a laptop.
type pacedModel struct {
	load   time.Duration // before each answer
	read   float64       // tokens per second of the request
	write  float64       // tokens per second
	tokens int           // of an answer; 0: as many as requested
	stops  int           // tokens after which it is silent for ever; 0: never
	deaf   bool          // goes on after the end of ctx
}

func (pacedModel) Name() string { return "local/paced" }

// pacedTokens is an answer of more tokens than any call writes. It is no repetition.
var pacedTokens = distinctWords(8000)

const pacedToken = 6 // bytes

func (m pacedModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		in := req.Size() / 4
		sleep := func(d time.Duration) bool {
			if m.deaf {
				time.Sleep(d)
				return true
			}
			select {
			case <-time.After(d):
				return true
			case <-ctx.Done():
				yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled", Err: ctx.Err()})
				return false
			}
		}
		if !sleep(m.load + time.Duration(float64(in)/m.read*float64(time.Second))) {
			return
		}
		n := req.MaxTokens
		if m.tokens > 0 {
			n = min(n, m.tokens)
		}
		for i, piece := 0, 0; i < n; i += piece {
			if m.stops > 0 && i >= m.stops && !sleep(100*time.Hour) {
				return
			}
			piece = min(n-i, 1+int(m.write))
			if !sleep(time.Duration(float64(piece)/m.write*float64(time.Second))) || !yield(llm.Delta{Text: pacedTokens[i*pacedToken : (i+piece)*pacedToken]}, nil) {
				return
			}
		}
		f := llm.FinishStop
		if n == req.MaxTokens {
			f = llm.FinishLength
		}
		text := pacedTokens[:n*pacedToken]
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, text), Finish: f, Usage: llm.Usage{Input: in, Output: n}}}, nil)
	}
}

// waves is the state of a mode with parallel calls, like a session. It keeps their texts and ends with
// a call for the answer.
type waves struct {
	Width int
	Begun int
	Open  map[string]bool
	Texts int // bytes of text
	Over  string
	Final *string
}

func wavesMode(width int) ponder.Mode {
	return ponder.Mode{Name: "waves", Version: 1, Start: func(ponder.Run) ponder.State { return waves{Width: width}.startWave() }}
}

func (s waves) startWave() waves {
	s.Open = make(map[string]bool)
	for range s.Width {
		s.Begun++
		s.Open[fmt.Sprintf("think-%d", s.Begun)] = true
	}
	return s
}

func (s waves) Apply(ev ponder.Event) ponder.State {
	key, _, _ := strings.Cut(ev.Cause, "#")
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		if key == "final" {
			text := b.Text() + b.Error
			s.Final = &text
			return s
		}
		open := make(map[string]bool)
		for k := range s.Open {
			open[k] = open[k] || k != key
		}
		delete(open, key)
		s.Texts += len(b.Text())
		if s.Open = open; len(open) == 0 {
			s = s.startWave()
		}
	case ponder.BudgetSpent:
		s.Over = b.String()
	}
	return s
}

func (s waves) Next(ponder.Moment) (do []ponder.Action) {
	switch {
	case s.Final != nil:
		return []ponder.Action{ponder.Finish{Answer: fmt.Sprintf("%d bytes, then: %s", s.Texts, *s.Final), Reason: s.Over}}
	case s.Over != "":
		return []ponder.Action{ponder.Call{Key: "final", Role: ponder.Frontier, Request: pacedRequest(6000, 8192), Answer: true}}
	}
	for i := range s.Width {
		if k := fmt.Sprintf("think-%d", s.Begun-s.Width+1+i); s.Open[k] {
			do = append(do, ponder.Call{Key: k, Role: ponder.Slow, Request: pacedRequest(4000, 4096)})
		}
	}
	return do
}

func pacedRequest(bytes, tokens int) llm.Request {
	return llm.Request{Messages: []llm.Message{llm.Say(llm.User, strings.Repeat("w", bytes))}, MaxTokens: tokens}
}

// A run with a time limit ends at most 20 s after it, with any model, and uses the texts of calls
// that it cut.
func TestTimeHolds(t *testing.T) {
	const s = time.Second
	for name, tt := range map[string]struct {
		model  pacedModel
		limit  time.Duration
		width  int
		texts  int // bytes at least
		answer int // bytes at least
	}{
		"a fast model":                    {pacedModel{load: s, read: 5000, write: 80, tokens: 400}, 3 * time.Minute, 1, 40000, 2000},
		"in parallel":                     {pacedModel{load: s, read: 5000, write: 80, tokens: 400}, 3 * time.Minute, 4, 150000, 2000},
		"a slow model":                    {pacedModel{read: 200, write: 20, tokens: 300}, 3 * time.Minute, 1, 7000, 1500},
		"in 90 s":                         {pacedModel{read: 200, write: 20, tokens: 300}, 90 * s, 1, 2000, 1500},
		"that never stops":                {pacedModel{read: 200, write: 20}, 3 * time.Minute, 1, 7000, 2000},
		"nor in 90 s":                     {pacedModel{read: 200, write: 20}, 90 * s, 1, 3000, 2000},
		"nor in parallel":                 {pacedModel{read: 200, write: 20}, 90 * s, 3, 9000, 2000},
		"a minute before the first token": {pacedModel{load: 60 * s, read: 200, write: 20, tokens: 300}, 3 * time.Minute, 1, 1800, 1000},
		"that in 90 s":                    {pacedModel{load: 60 * s, read: 200, write: 20, tokens: 300}, 90 * s, 1, 1800, 0},
		"that in a minute":                {pacedModel{load: 60 * s, read: 200, write: 20, tokens: 300}, 60 * s, 1, 500, 0},
		"a model that stalls":             {pacedModel{read: 200, write: 20, stops: 100}, 90 * s, 1, 600, 600},
		"a silent model":                  {pacedModel{load: 2 * time.Hour, read: 200, write: 20}, 90 * s, 1, 0, 0},
		"that ignores the end":            {pacedModel{load: 2 * time.Hour, read: 200, write: 20, deaf: true}, 90 * s, 1, 0, 0},
		"a second for a slow model":       {pacedModel{read: 200, write: 20, tokens: 300}, s, 1, 0, 0},
		"an hour":                         {pacedModel{load: 20 * s, read: 200, write: 20, tokens: 2000}, time.Hour, 2, 200_000, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConfig(nil)
				c.Modes = []ponder.Mode{wavesMode(tt.width)}
				c.Models = enginetest.Models(tt.model, price)
				eng := enginetest.Start(t, c)
				begun := time.Now()
				fin := runMode(t, eng, "waves", ponder.Budget{Time: tt.limit})
				took := time.Since(begun)
				var texts int
				var answer string
				if _, err := fmt.Sscanf(fin.Answer, "%d bytes, then:", &texts); err != nil {
					t.Fatalf("%+v", fin)
				}
				_, answer, _ = strings.Cut(fin.Answer, "then: ")
				t.Logf("ended after %v of %v: %d bytes of texts, answer of %d bytes", took, tt.limit, texts, len(answer))
				if took > tt.limit+20*s || took < tt.limit/2 || texts < tt.texts || tt.answer > 0 && len(answer) < tt.answer {
					t.Errorf("want an end within 20 s, at least %d bytes of texts and an answer of %d; %s", tt.texts, tt.answer, fin.Reason)
				}
				time.Sleep(3 * time.Hour) // a deaf model ends
				checkTimeEvents(t, eng.Events(), tt.limit)
			})
		})
	}
}

// checkTimeEvents checks that the run is notified once, has no open calls and decides alike when the
// log is read again.
func checkTimeEvents(t *testing.T, evs []ponder.Event, limit time.Duration) {
	t.Helper()
	notified := 0
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.BudgetSpent); ok {
			if notified++; b.What != "time" || b.Limit != (ponder.Budget{Time: limit}) {
				t.Errorf("notified of %+v", b)
			}
		}
	}
	if open := openCalls(evs); notified != 1 || len(open) > 0 {
		t.Errorf("notified %d times; open calls: %v", notified, open)
	}
}

// The time holds for random models and limits, too.
func TestTimeHoldsRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for i := range 40 {
		m := pacedModel{
			load: time.Duration(r.ExpFloat64() * float64(10*time.Second)), read: 20 + r.ExpFloat64()*1000, write: 1 + r.ExpFloat64()*50,
			tokens: r.IntN(3) * r.IntN(3000), stops: max(0, r.IntN(2000)-1000),
		}
		limit := time.Second + time.Duration(r.ExpFloat64()*float64(4*time.Minute))
		width := 1 + r.IntN(4)
		synctest.Test(t, func(t *testing.T) {
			c := newConfig(nil)
			c.Modes = []ponder.Mode{wavesMode(width)}
			c.Models = enginetest.Models(m, price)
			eng := enginetest.Start(t, c)
			begun := time.Now()
			fin := runMode(t, eng, "waves", ponder.Budget{Time: limit})
			if took := time.Since(begun); took > limit+20*time.Second || fin.Status != ponder.Completed {
				t.Errorf("%d: %+v with %d calls at a time ended after %v of %v: %+v", i, m, width, took, limit, fin)
			}
			checkTimeEvents(t, eng.Events(), limit)
		})
	}
}
