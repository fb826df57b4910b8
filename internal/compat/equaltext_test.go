package compat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
	"ponder/mode/research"
)

func partLines(t *testing.T, list []compat.Part) (out []string) {
	t.Helper()
	for _, p := range list {
		js, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(js))
	}
	return out
}

func checkSame(t *testing.T, who string, got, want []compat.Part) {
	t.Helper()
	a, b := partLines(t, got), partLines(t, want)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			t.Errorf("%s: %d parts, want %d: part %d is missing: %s", who, len(a), len(b), i, b[i])
			return
		case i >= len(b) || a[i] != b[i]:
			wanted := "nothing"
			if i < len(b) {
				wanted = b[i]
			}
			t.Errorf("%s: part %d is\n%s, want\n%s\nbehind %v", who, i, a[i], wanted, a[max(0, i-2):i])
			return
		}
	}
}

type randomModel struct{ *rand.Rand }

func (w randomModel) randomWords(n int) string {
	var b strings.Builder
	for range w.IntN(n + 1) {
		word := []string{"The", "sea", "is", "tief", "und", "größer", "als\n", "a", "lake.", "\n\n", " ", "日本語", "x-ray,", strings.Repeat("long", w.IntN(30))}[w.IntN(14)]
		b.WriteString(word)
		if w.IntN(5) > 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

type lockedSource struct {
	mu sync.Mutex
	of rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of.Uint64()
}

func (w randomModel) randomCut() func(text string) []string {
	own := rand.New(rand.NewPCG(2, w.Uint64()))
	return func(text string) (list []string) {
		rest := []rune(text)
		most := 1 + own.IntN(40)
		for len(rest) > 0 {
			n := min(len(rest), 1+own.IntN(most))
			list, rest = append(list, string(rest[:n])), rest[n:]
		}
		return list
	}
}

func (w randomModel) randomTime(most time.Duration) time.Duration {
	if w.IntN(3) == 0 {
		return 0
	}
	return time.Duration(w.Int64N(int64(most)))
}

// randomAnswer uses tools while rounds are left.
func (w randomModel) randomAnswer(req *llm.Request, rounds *int) protocoltest.Answer {
	a := protocoltest.Answer{Cut: w.randomCut(), Wait: w.randomTime(3 * time.Second), Pause: w.randomTime(300 * time.Millisecond)}
	if w.IntN(2) == 0 {
		a.Reasoning = w.randomWords(30)
	}
	if w.IntN(4) > 0 {
		a.Text = w.randomWords(60)
	}
	if *rounds--; *rounds > 0 && len(req.Tools) > 0 {
		for i := range w.IntN(4) {
			name := req.Tools[w.IntN(len(req.Tools))].Name
			input := fmt.Sprintf(`{"query":"sea %d %d"}`, *rounds, i)
			if name == research.WebFetchTool {
				input = fmt.Sprintf(`{"query":"sea","url":"https://a.test/%d"}`, i)
			}
			a.Calls = append(a.Calls, llm.ToolCall{ID: fmt.Sprintf("c%d-%d", *rounds, i), Name: name, Input: json.RawMessage(input)})
		}
	}
	if len(a.Calls) == 0 && strings.TrimSpace(a.Text) == "" {
		a.Text = "So it is. " + a.Text
	}
	return a
}

func collectParts(desk *compat.Dispatcher, w compat.Job, titled bool, pace func() time.Duration) (list []compat.Part, err error) {
	f := desk.OpenStream(context.Background(), w, titled)
	defer f.Close()
	for {
		more, err := f.Next(context.Background())
		if errors.Is(err, compat.ErrQuiet) {
			continue
		}
		if err != nil {
			return list, err
		}
		if list = append(list, more...); list[len(list)-1].Kind == compat.Ended {
			return list, nil
		}
		time.Sleep(pace())
	}
}

func collectAll(t *testing.T, r *protocoltest.Rig, w compat.Job, titled bool, rng randomModel) []compat.Part {
	t.Helper()
	type listener struct {
		who  string
		late time.Duration
		pace func() time.Duration
		list []compat.Part
		err  error
	}
	eager := func() time.Duration { return 0 }
	many := []*listener{
		{who: "first", pace: eager}, {who: "second", pace: eager}, {who: "slow"},
		{who: "late", pace: eager, late: rng.randomTime(10 * time.Second)}, {who: "later", pace: eager, late: rng.randomTime(60 * time.Second)},
	}
	slow := randomModel{rand.New(rand.NewPCG(1, rng.Uint64()))}
	many[2].pace = func() time.Duration { return slow.randomTime(2 * time.Second) }
	var wg sync.WaitGroup
	for _, l := range many {
		wg.Go(func() {
			time.Sleep(l.late)
			l.list, l.err = collectParts(r.Desk, w, titled, l.pace)
		})
	}
	wg.Wait()
	time.Sleep(time.Minute)
	after, err := collectParts(r.Desk, w, titled, eager)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range many {
		if l.err != nil {
			t.Fatalf("%s: %v", l.who, l.err)
		}
		checkSame(t, l.who, l.list, after)
	}
	again, err := r.Desk.FindJob(t.Context(), protocoltest.Owner, w.ID())
	if err != nil {
		t.Fatal(err)
	}
	if titled {
		return after
	}
	list, end, err := r.Desk.Result(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	checkSame(t, "result", append(list, compat.Part{Kind: compat.Ended, End: &end}), after)
	checkWhole(t, after)
	return after
}

// checkWhole checks that pieces add up to texts, and texts to the answer.
func checkWhole(t *testing.T, list []compat.Part) {
	t.Helper()
	said, end := make(map[string]string), list[len(list)-1].End
	var answer strings.Builder
	for _, p := range list {
		switch p.Kind {
		case compat.Text:
			if p.Again {
				clear(said)
				answer.Reset()
			}
			said[p.Item] += p.Text
			answer.WriteString(p.Text)
		case compat.TextEnd:
			if !strings.HasSuffix(strings.TrimSpace(said[p.Item]), p.Text) || !strings.HasSuffix(answer.String(), p.Text) {
				t.Errorf("the pieces of %s are %q, the text %q", p.Item, said[p.Item], p.Text)
			}
		}
	}
	if answer.String() != end.Text {
		t.Errorf("the pieces are %q, the answer %q", answer.String(), end.Text)
	}
}

const seaQuestion = "How deep is the sea, and why do sources differ?"

// All readers get the same parts, at any start and pace, live or from the log.
func TestSame(t *testing.T) {
	for name, ask := range map[string]compat.Request{
		"ponder/chat":     {},
		"relay":           {Standalone: true},
		"relay, client's": {Tools: []llm.Tool{protocoltest.Tool("weather")}},
		"ponder/session":  {}, "ponder/research": {},
	} {
		t.Run(name, func(t *testing.T) {
			times := 30
			if strings.Contains(name, "se") {
				times = 4
			}
			for seed := range uint64(times) {
				synctest.Test(t, func(t *testing.T) {
					rng := randomModel{rand.New(&lockedSource{of: rand.NewPCG(seed, 7)})}
					o := protocoltest.Options{Tools: protocoltest.Lookups(3 * time.Second)}
					model, rounds := "ponder/chat", 1+rng.IntN(4)
					if strings.HasPrefix(name, "ponder/") {
						model = name
					}
					plausible := strings.Contains(name, "se")
					o.Model = &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
						if plausible {
							return protocoltest.Answer{Cut: rng.randomCut(), Wait: rng.randomTime(time.Second)}
						}
						return rng.randomAnswer(req, &rounds)
					}}
					r := protocoltest.New(t, o)
					ask.Model, _ = r.Desk.Model(model)
					ask.Messages = []llm.Message{llm.Say(llm.User, seaQuestion)}
					ask.Budget = ponder.Budget{Time: time.Minute}
					list := collectAll(t, r, r.Start(ask), false, rng)
					if end := list[len(list)-1].End; end.Status != ponder.Completed {
						t.Errorf("seed %d: ended %+v", seed, end)
					}
					if t.Failed() {
						t.Fatalf("seed %d", seed)
					}
				})
			}
		})
	}
}
