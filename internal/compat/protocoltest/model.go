package protocoltest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// A Model is a scripted model. Set the fields before its first use.
type Model struct {
	ID string // full name; empty: test/model

	// Answer answers request n, from 0; calls are serialized. Empty or nil gives plausible content; nil takes
	// half a second, because instant answers make sessions think very often.
	Answer func(req *llm.Request, n int) Answer

	mu       sync.Mutex
	requests []*llm.Request
}

type Answer struct {
	Reasoning string // before the text
	Text      string
	Calls     []llm.ToolCall
	Finish    llm.Finish // empty: derived from Calls
	Usage     llm.Usage  // zero: estimated from the text

	Wait  time.Duration // before the first piece
	Pause time.Duration // before later pieces
	Piece int           // letters of a piece; 0: 12
	Cut   func(text string) []string

	Err   error // fails,
	After int   // after this number of pieces; 0: at the end
}

func Plain(text string) Answer { return Answer{Text: text} }

func FixedModel(text string) *Model {
	return &Model{Answer: func(*llm.Request, int) Answer { return Plain(text) }}
}

func (m *Model) Requests() []*llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *Model) Name() string { return cmp.Or(m.ID, "test/model") }

func (m *Model) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		a, err := m.nextAnswer(req)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		a.streamPieces(ctx, m.Name(), req, yield)
	}
}

func (m *Model) nextAnswer(req *llm.Request) (a Answer, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.requests)
	m.requests = append(m.requests, req)
	if m.Answer != nil {
		a = m.Answer(req, n)
	} else {
		a.Wait = time.Second / 2
	}
	if a.Text != "" || a.Reasoning != "" || len(a.Calls) > 0 || a.Err != nil || a.Finish != "" {
		return a, nil
	}
	msg, err := llmtest.Plausible(0)(req)
	a.Text, a.Calls = msg.Text(), msg.Calls()
	return a, err
}

func (a Answer) splitPieces() (list []llm.Delta) {
	cut := a.Cut
	if cut == nil {
		cut = func(text string) (list []string) {
			for piece := range slices.Chunk([]rune(text), max(1, cmp.Or(a.Piece, 12))) {
				list = append(list, string(piece))
			}
			return list
		}
	}
	for _, text := range cut(a.Reasoning) {
		list = append(list, llm.Delta{Reasoning: text})
	}
	for _, text := range cut(a.Text) {
		list = append(list, llm.Delta{Text: text})
	}
	return list
}

func (a Answer) streamPieces(ctx context.Context, name string, req *llm.Request, yield func(llm.Delta, error) bool) {
	wait := a.Wait
	for i, d := range a.splitPieces() {
		if a.Err != nil && a.After > 0 && i == a.After {
			break
		}
		if !sleepContext(ctx, wait) {
			yield(llm.Delta{}, ctx.Err())
			return
		}
		if wait = a.Pause; !yield(d, nil) {
			return
		}
	}
	if !sleepContext(ctx, wait) {
		a.Err = ctx.Err()
	}
	if a.Err != nil {
		yield(llm.Delta{}, a.Err)
		return
	}
	yield(llm.Delta{Done: a.newResponse(name, req)}, nil)
}

// sleepContext returns false if ctx ends first.
func sleepContext(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (a Answer) newResponse(name string, req *llm.Request) *llm.Response {
	msg := llm.Message{Role: llm.Assistant}
	if a.Reasoning != "" {
		msg.Parts = append(msg.Parts, llm.Part{Reasoning: a.Reasoning})
	}
	if a.Text != "" {
		msg.Parts = append(msg.Parts, llm.Part{Text: a.Text})
	}
	for _, c := range a.Calls {
		msg.Parts = append(msg.Parts, llm.Part{Call: &c})
	}
	finish := llm.FinishStop
	if len(a.Calls) > 0 {
		finish = llm.FinishTools
	}
	use := a.Usage
	if use.Total() == 0 {
		const letters = 4 // of a token
		use.Output, use.Reasoning = (len(a.Reasoning)+len(a.Text))/letters+1, len(a.Reasoning)/letters
		use.Input = len(req.System)/letters + 1
		for _, m := range req.Messages {
			use.Input += len(m.Text()) / letters
		}
	}
	return &llm.Response{Message: msg, Finish: cmp.Or(a.Finish, finish), Model: name, Usage: use}
}
