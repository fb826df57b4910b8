package llm

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A parrot is a model that writes its answer byte by byte, and then waits for the end of its context.
type parrot struct {
	answer  string
	penalty []float64 // of the requests
}

func (*parrot) Name() string { return "p/m" }

func (p *parrot) Generate(_ context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		p.penalty = append(p.penalty, req.Penalty)
		for i := range p.answer {
			if !yield(Delta{Text: p.answer[i : i+1]}, nil) {
				return
			}
		}
		yield(Delta{Done: &Response{Message: Say(Assistant, p.answer), Finish: FinishStop}}, nil)
	}
}

// After a structured answer that repeats itself, structured requests have a penalty, also in other
// processes, for a day. Prose and verbatim requests have none, and teach nothing.
func TestRepetition(t *testing.T) {
	item := `{"a":"` + fact + `"},`
	structured := Request{Schema: &Schema{Name: "s", JSON: []byte(`{"type":"object","properties":{"list":{"type":"array"}},"required":["list"]}`)}}
	verbatim := structured
	verbatim.Verbatim = true
	for name, tt := range map[string]struct {
		answer string
		req    Request
		next   float64
	}{
		"a loop in a text":   {`{"list":[{"a":"` + strings.Repeat(clause, 30), structured, RepetitionPenalty},
		"equal items":        {`{"list":[` + strings.Repeat(item, 9), structured, RepetitionPenalty},
		"no loop":            {`{"list":[{"a":"` + plainText(1, 40) + `"}]}`, structured, 0},
		"after its value":    {`{"list":[]}` + strings.Repeat("\n", 900), structured, 0},
		"prose":              {strings.Repeat(fact, 20), Request{}, 0},
		"what a client asks": {strings.Repeat(fact, 20), verbatim, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w, later Windows
				w.Learned = func(model string, l Limits) { later.Restore(model, l, time.Now()) }
				ask := func(w *Windows, req Request, answer string) float64 {
					p := &parrot{answer: answer}
					_, _ = Collect(FitWindow(p, nil, nil, w).Generate(t.Context(), &req))
					if req.Penalty != 0 {
						t.Error("the caller's request was changed")
					}
					return p.penalty[0]
				}
				if got := ask(&w, tt.req, tt.answer); got != 0 {
					t.Errorf("the first request has a penalty of %v", got)
				}
				for _, known := range []*Windows{&w, &later} {
					if got := ask(known, structured, `{"list":[]}`); got != tt.next {
						t.Errorf("the next request has a penalty of %v, want %v", got, tt.next)
					}
					for _, other := range []Request{{}, verbatim} {
						if got := ask(known, other, "So."); got != 0 {
							t.Errorf("%+v has a penalty of %v", other, got)
						}
					}
				}
				time.Sleep(LearnedLifetime + time.Minute)
				if got := w.Lookup("p/m"); got.Repeats {
					t.Errorf("%+v after a day", got)
				}
			})
		})
	}
}

// A repetition changes no limit.
func TestRepetitionKeepsLimits(t *testing.T) {
	var w Windows
	w.Learn("p/m", Limits{Context: 8192})
	w.noteRepetition("p/m")
	w.Learn("p/m", Limits{Output: 4096})
	if got := w.Lookup("p/m"); got != (Limits{Context: 8192, Output: 4096, Repeats: true}) {
		t.Errorf("%+v", got)
	}
}
