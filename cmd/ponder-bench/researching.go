package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/placement"
	"ponder/knowledge/web"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/llm/openai"
	"ponder/mode/research"
	"ponder/store/sqlite"
	webtool "ponder/tool/web"
)

// A researchLoad researches questions on a web with delays.
type researchLoad struct {
	questions, atOnce int
	plan, synthesis   time.Duration // to the first token
	fastest, slowest  time.Duration // duration of a search
	page              time.Duration // duration of a fetch
}

type researchSpan struct{ began, ended time.Time }

func (s researchSpan) elapsedTime() time.Duration { return s.ended.Sub(s.began) }

// A researchMeter measures one question and the operations that it waits for.
type researchMeter struct {
	mu       sync.Mutex
	calls    []researchSpan
	searches map[string]researchSpan // by query
	pages    map[string][]researchSpan
}

// researchScenario measures the duration of an answer relative to the unavoidable waits: the plan, the
// slowest search with its page, and the writing.
func researchScenario(l researchLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		base, stop, err := startSim(ctx, l.simConfig())
		if err != nil {
			return nil, err
		}
		defer stop()
		var mu sync.Mutex
		var ratios, first []float64
		var errs []error
		slots := make(chan struct{}, l.atOnce)
		var wg sync.WaitGroup
		for n := range l.questions {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				ratio, late, err := l.measureQuestion(ctx, base, n)
				mu.Lock()
				defer mu.Unlock()
				ratios, first, errs = append(ratios, ratio), append(first, late), append(errs, err)
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		slices.Sort(ratios)
		slices.Sort(first)
		return []figure{
			{Name: "total over plan, slowest search and synthesis, p50", Value: ratios[len(ratios)/2], Goal: 1.03},
			{Name: "the same, worst", Value: ratios[len(ratios)-1]},
			{Name: "first evidence after the fastest first search, p50", Value: first[len(first)/2], Unit: "ms", Goal: 30},
			{Name: "the same, worst", Value: first[len(first)-1], Unit: "ms"},
			{Name: "questions", Value: float64(len(ratios))},
		}, nil
	}
}

// simConfig returns the configuration of the model, which plans and writes about the pages.
func (l researchLoad) simConfig() llmtest.SimConfig {
	say := func(v any) json.RawMessage {
		js, _ := json.Marshal(v) // texts and lists of texts always encode
		return js
	}
	return llmtest.SimConfig{Seed: 1, Chunks: 40, Token: llmtest.Delay{Mean: 20 * time.Millisecond}, Script: llmtest.Script{
		{Match: regexp.MustCompile("Your task: plan"), Latency: &llmtest.Delay{Mean: l.plan}, Reply: say(map[string][]string{
			"plan": {"find out how tides work", "find out what wind adds"}, "importantTerms": {"tide", "wind"},
			"webQueries": {"spring tide height harbour", "wind setup shallow bay", "air pressure sea level"}, "memoryQueries": {},
		})},
		{Latency: &llmtest.Delay{Mean: l.synthesis}, Reply: say(tideFact + " [e1]. " + windFact + " [e2].")},
	}}
}

// Contents of the pages.
const (
	tideFact = "The spring tide raises the water in the harbour by 1.2 m"
	windFact = "Wind that blows for a day adds 30 cm in a shallow bay"
)

// measureQuestion researches a question. It returns the duration relative to the unavoidable waits, and the
// milliseconds from the end of the first search to the first evidence.
func (l researchLoad) measureQuestion(ctx context.Context, base string, n int) (ratio, late float64, err error) {
	dir, err := os.MkdirTemp("", "ponder-bench")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "bench.db"))
	if err != nil {
		return 0, 0, err
	}
	defer store.Close()
	m := &researchMeter{searches: make(map[string]researchSpan), pages: make(map[string][]researchSpan)}
	provider := openai.New(openai.Config{Name: "sim", BaseURL: base + "/v1", Key: "any"})
	model := []ponder.Model{{Model: recordingModel{provider.Model("any"), m}, Price: ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}}}
	node := placement.CurrentNode()
	mind, err := engine.New(engine.Config{
		Store: store, Node: node, Logger: slog.New(slog.DiscardHandler), Modes: []ponder.Mode{research.New()},
		Models: map[ponder.Role][]ponder.Model{ponder.Fast: model, ponder.Slow: model, ponder.Cheap: model},
		Tools:  webtool.New(webtool.Options{Search: l.searchFunc(m), Fetch: l.fetchFunc(m), Judge: webtool.NewJudge(time.Now)}),
	})
	if err != nil {
		return 0, 0, err
	}
	if err := mind.Open(ctx); err != nil {
		return 0, 0, err
	}
	defer mind.Close(context.WithoutCancel(ctx))
	p, err := placement.Open(ctx, placement.Config{Store: store, DB: store.DB(), Node: node, Work: mind.Work, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, 0, err
	}
	defer p.Close(context.WithoutCancel(ctx))
	began, evidence, ended, err := m.askQuestion(ctx, store, p, fmt.Sprintf("How do tides, wind and air pressure together shape the water level in harbour %d, and why?", n))
	if err != nil {
		return 0, 0, err
	}
	must, fastest := m.minimumWait()
	return float64(ended.Sub(began)) / float64(must), toMillis(evidence.Sub(fastest)), nil
}

// askQuestion asks the question and returns the times of the question, the first evidence and the
// answer.
func (m *researchMeter) askQuestion(ctx context.Context, store *sqlite.Store, p *placement.Placement, question string) (began, evidence, ended time.Time, err error) {
	opts, err := json.Marshal(research.Options{Web: true, MaxRounds: 1})
	if err != nil {
		return began, evidence, ended, err
	}
	id := ponder.ThreadID("thr_bench")
	start := ponder.Event{Run: "run_bench", Body: ponder.RunStarted{Input: question, Mode: research.Name, Budget: ponder.Budget{Time: time.Minute}, Options: opts}}
	began = time.Now()
	if err := store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindResearch}, start); err != nil {
		return began, evidence, ended, err
	}
	if err := p.Start(ctx, id); err != nil {
		return began, evidence, ended, err
	}
	for ev, err := range ponder.Follow(ctx, store, id, 0) {
		if err != nil {
			return began, evidence, ended, err
		}
		switch b := ev.Body.(type) {
		case ponder.Evidence:
			if evidence.IsZero() {
				evidence = time.Now()
			}
		case ponder.RunFinished:
			if b.Status != ponder.Completed || evidence.IsZero() {
				return began, evidence, ended, fmt.Errorf("the research is %s: %s", b.Status, b.Reason)
			}
			return began, evidence, time.Now(), nil
		}
	}
	return began, evidence, ended, errors.New("the research did not end")
}

// minimumWait returns the duration of the plan, the slowest look-up and the synthesis, and the end of
// the first search.
func (m *researchMeter) minimumWait() (must time.Duration, fastest time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	plan, synthesis := m.calls[0], m.calls[len(m.calls)-1]
	var slowest time.Duration
	for query, s := range m.searches {
		if fastest.IsZero() || s.ended.Before(fastest) {
			fastest = s.ended
		}
		if s.began.Before(plan.ended) {
			continue
		}
		read := time.Duration(0)
		for _, p := range m.pages[query] {
			read = max(read, p.elapsedTime())
		}
		slowest = max(slowest, s.elapsedTime()+read)
	}
	return plan.elapsedTime() + slowest + synthesis.elapsedTime(), fastest
}

func (l researchLoad) searchDelay(query string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(query))
	return l.fastest + time.Duration(h.Sum32()%1000)*(l.slowest-l.fastest)/1000
}

func (l researchLoad) searchFunc(m *researchMeter) func(context.Context, webtool.Query) (webtool.Found, error) {
	return func(ctx context.Context, q webtool.Query) (webtool.Found, error) {
		began := time.Now()
		time.Sleep(l.searchDelay(q.Text))
		f := webtool.Found{}
		for i := range 4 {
			h := fnv.New32a()
			fmt.Fprint(h, q.Text, i)
			f.Results = append(f.Results, webtool.Result{
				URL: fmt.Sprintf("https://site%d.example/%s", h.Sum32()%1000, querySlug(q.Text)), Title: "On " + q.Text,
				Snippet: fmt.Sprintf("About %s, note %d: %s.", q.Text, h.Sum32()%97, tideFact), Providers: []string{"sim"},
			})
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.searches[q.Text] = researchSpan{began, time.Now()}
		return f, ctx.Err()
	}
}

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

func querySlug(query string) string { return notSlug.ReplaceAllString(query, "-") }

func (l researchLoad) fetchFunc(m *researchMeter) func(context.Context, string) (*web.Page, error) {
	return func(ctx context.Context, url string) (*web.Page, error) {
		began := time.Now()
		time.Sleep(l.page)
		m.mu.Lock()
		defer m.mu.Unlock()
		for query := range m.searches {
			if querySlug(query) == filepath.Base(url) {
				m.pages[query] = append(m.pages[query], researchSpan{began, time.Now()})
			}
		}
		text := fmt.Sprintf("# Water in harbours\n\n%s. %s. This is written at %s, where air pressure, wind and tides are measured each hour.\n", tideFact, windFact, url)
		return &web.Page{URL: url, Final: url, Type: "text/markdown", Charset: "utf-8", Title: "Water in harbours", Fetched: time.Now(), Markdown: text, Bytes: len(text)}, ctx.Err()
	}
}

// A recordingModel records the times of calls.
type recordingModel struct {
	llm.Model
	meter *researchMeter
}

// Generate implements [llm.Model].
func (m recordingModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s := researchSpan{began: time.Now()}
		for d, err := range m.Model.Generate(ctx, req) {
			if d.Done != nil || err != nil {
				s.ended = time.Now()
				m.meter.mu.Lock()
				m.meter.calls = append(m.meter.calls, s)
				m.meter.mu.Unlock()
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
