package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/llm"
)

// An Adapter is an adapter that [Conform] tests.
type Adapter struct {
	// New returns a provider; it appends its dialect's path to the URL.
	New func(Server) llm.Provider

	// Model supports the whole dialect; Other is another model.
	Model, Other string

	// Lacks lists missing features.
	Lacks []MissingFeature
}

// A Server is the server of an adapter under test.
type Server struct {
	URL string
	Key string

	// Patience limits the server's silence before and in an answer. Zero is the adapter's
	// default.
	Patience time.Duration
}

// A MissingFeature is a missing feature of a dialect.
type MissingFeature string

const (
	NoEmbeddings   MissingFeature = "embeddings"
	NoFilter       MissingFeature = "content filter"
	NoForcedTools  MissingFeature = "tools that must be called"
	NoAnswerID     MissingFeature = "ids of answers"
	NoRetryHeaders MissingFeature = "times to wait in headers"
	NoCheck        MissingFeature = "a list of models"
	NoCache        MissingFeature = "counts of cached tokens"
	NoPayment      MissingFeature = "errors of its own for an account without credit"
)

func (a Adapter) supports(l MissingFeature) bool { return !slices.Contains(a.Lacks, l) }

// Conform tests an adapter against a [Sim] over the wire: text, reasoning, tools,
// schemas, images, usage, and each failure's class. A broken stream must be no answer,
// and a reader that stops must close the connection.
func Conform(t *testing.T, a Adapter) {
	for _, group := range []struct {
		name  string
		tests []conformTest
	}{
		{"answers", answerTests()}, {"tools", toolTests()}, {"usage", usageTests()}, {"failures", failureTests()},
		{"breaks", breakTests()}, {"cancel", cancelTests()}, {"provider", providerTests()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.tests {
				t.Run(c.name, func(t *testing.T) {
					if c.needs == "" || a.supports(c.needs) {
						c.run(newRig(t, a, c.config))
					}
				})
			}
		})
	}
}

type conformTest struct {
	name   string
	needs  MissingFeature // skipped for dialects that lack it
	config SimConfig
	run    func(*rig)
}

const rigKey = "sk-test-0123456789abcdefghijklmnop"

// A rig is an adapter and its server.
type rig struct {
	*testing.T
	adapter  Adapter
	sim      *Sim
	base     string
	provider llm.Provider
	model    llm.Model
	asked    chan struct{} // received
	records  chan Record
}

func newRig(t *testing.T, a Adapter, c SimConfig) *rig {
	r := &rig{T: t, adapter: a, asked: make(chan struct{}, 1000), records: make(chan Record, 1000)}
	c.Seed = 7
	c.Asked = func(Record) { r.asked <- struct{}{} }
	c.Record = func(rec Record) {
		if rec.Prompt != "" || rec.Status >= 400 {
			r.records <- rec
		}
	}
	r.sim = NewSim(c)
	r.base = Serve(t, r.sim)
	r.provider = a.New(Server{URL: r.base, Key: rigKey})
	r.model = r.provider.Model(a.Model)
	return r
}

const patience = 20 * time.Second

func (r *rig) nextRecord() Record {
	r.Helper()
	select {
	case rec := <-r.records:
		return rec
	case <-time.After(patience):
		r.Fatal("the server is still answering")
		return Record{}
	}
}

// generate returns an answer after the checks common to all answers.
func (r *rig) generate(req *llm.Request) *llm.Response {
	r.Helper()
	return r.generateWith(r.model, req)
}

func (r *rig) generateWith(m llm.Model, req *llm.Request) *llm.Response {
	r.Helper()
	var text, reasoning strings.Builder
	var done *llm.Response
	for d, err := range m.Generate(r.Context(), req) {
		if err != nil {
			r.Fatalf("Generate: %v", err)
		}
		if done != nil {
			r.Error("a delta after the last one")
		}
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		done = d.Done
	}
	if done == nil {
		r.Fatal("the stream ended without a last delta")
	}
	if got := done.Message.Text(); got != text.String() {
		r.Errorf("text of the answer is %q, of its deltas %q", got, text.String())
	}
	if got := reasoningText(done.Message); got != reasoning.String() {
		r.Errorf("reasoning of the answer is %q, of its deltas %q", got, reasoning.String())
	}
	if done.Model != m.Name() {
		r.Errorf("Model is %q, want %q", done.Model, m.Name())
	}
	if done.Message.Role != llm.Assistant {
		r.Errorf("Role is %q, want %q", done.Message.Role, llm.Assistant)
	}
	return done
}

// expectError returns an error of one of the classes after the checks common to all errors.
func (r *rig) expectError(ctx context.Context, req *llm.Request, want ...llm.Class) *llm.Error {
	r.Helper()
	var err error
	for d, e := range r.model.Generate(ctx, req) {
		if err != nil {
			r.Error("a delta after the error")
		}
		if d.Done != nil {
			r.Fatalf("an answer, want an error of class %v: %q", want, d.Done.Message.Text())
		}
		err = e
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		r.Fatalf("error is %v (%T), want an *llm.Error of class %v", err, err, want)
	}
	if !slices.Contains(want, e.Class) {
		r.Errorf("class is %q, want %q: %v", e.Class, want, e)
	}
	if e.Model != r.model.Name() {
		r.Errorf("error names model %q, want %q", e.Model, r.model.Name())
	}
	if text := e.Error(); strings.Contains(text, rigKey) || strings.ContainsAny(text, "\r\n") || e.Message == "" {
		r.Errorf("error text %q: want one line without the key", text)
	}
	return e
}

func reasoningText(m llm.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		b.WriteString(p.Reasoning)
	}
	return b.String()
}

func newQuestion(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Say(llm.User, text)}}
}

// scriptLine returns a line that answers text to a pattern.
func scriptLine(pattern, text string) Line {
	return Line{Match: regexp.MustCompile(pattern), Reply: encodeJSON(text)}
}

// certainChances returns chances of 1.
func certainChances(of ...Behaviour) map[Behaviour]float64 {
	m := make(map[Behaviour]float64, len(of))
	for _, b := range of {
		m[b] = 1
	}
	return m
}

func hasBody(body []byte, text string) bool {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return false
	}
	var in func(any) bool
	in = func(v any) bool {
		switch v := v.(type) {
		case string:
			return strings.Contains(v, text)
		case []any:
			return slices.ContainsFunc(v, in)
		case map[string]any:
			for _, x := range v {
				if in(x) {
					return true
				}
			}
		}
		return false
	}
	return in(v)
}

// expectedStatus returns the expected status of the error.
func expectedStatus(rec Record) int {
	if rec.Status == http.StatusOK {
		return 0
	}
	return rec.Status
}

func usageTests() []conformTest {
	return []conformTest{
		{name: "as counted", run: func(r *rig) {
			done, rec := r.generate(newQuestion("How many tokens is this?")), r.nextRecord()
			if got := done.Usage; got.Input != rec.Input || got.Output != rec.Output || got.Estimated || got.CacheRead != 0 {
				r.Errorf("usage is %+v, the server counted %d and %d", got, rec.Input, rec.Output)
			}
		}},
		{name: "with reasoning", config: SimConfig{Behaviours: certainChances(Reason)}, run: func(r *rig) {
			done, rec := r.generate(newQuestion("How many tokens is this?")), r.nextRecord()
			if got := done.Usage; got.Output != rec.Output || got.Reasoning > got.Output {
				r.Errorf("usage is %+v, the server wrote %d with reasoning", got, rec.Output)
			}
		}},
		{name: "from a cache", needs: NoCache, config: SimConfig{Cached: 0.5}, run: func(r *rig) {
			done, rec := r.generate(newQuestion("How many tokens is this, if half of them are cached?")), r.nextRecord()
			if got := done.Usage; got.CacheRead != rec.Input/2 || got.Input+got.CacheRead != rec.Input {
				r.Errorf("usage is %+v, the server counted %d with half of it cached", got, rec.Input)
			}
		}},
		{name: "missing", config: SimConfig{Behaviours: certainChances(UsageMissing)}, run: func(r *rig) {
			if got := r.generate(newQuestion("Say something.")).Usage; !got.Estimated || got.Input <= 0 || got.Output <= 0 {
				r.Errorf("usage is %+v, want an estimate", got)
			}
		}},
		{name: "negative", config: SimConfig{Behaviours: certainChances(UsageNegative)}, run: conformSane},
		{name: "huge", config: SimConfig{Behaviours: certainChances(UsageHuge)}, run: conformSane},
		{name: "zero", config: SimConfig{Behaviours: certainChances(UsageZero)}, run: conformSane},
		{name: "of a broken answer", config: SimConfig{Behaviours: certainChances(Cut)}, run: func(r *rig) {
			e := r.expectError(r.Context(), newQuestion("Tell a story that breaks off."), llm.Truncated)
			if e.Usage.Total() <= 0 {
				r.Errorf("usage of the failed attempt is %+v, want the usage of the streamed part", e.Usage)
			}
		}},
	}
}

func conformSane(r *rig) {
	u := r.generate(newQuestion("Say something.")).Usage
	for _, n := range []int{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Total()} {
		if n < 0 {
			r.Errorf("usage is %+v: a count is below zero", u)
			return
		}
	}
}
