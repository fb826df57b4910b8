package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// facts is the server's description of a model. The zero value has none.
type facts struct {
	capabilities   []string
	family         string
	thinking       []any // booleans and words, or nil
	context        int   // largest, in tokens, or 0
	defaultContext int   // num_ctx of the Modelfile, or 0
}

// canThink reports whether the server separates reasoning.
func (f facts) canThink() bool {
	return slices.Contains(f.capabilities, "thinking") || slices.ContainsFunc(f.thinking, func(v any) bool { return v != false })
}

// A factsEntry caches a model's description. The holder of turn may request it.
type factsEntry struct {
	turn  chan struct{} // capacity 1
	facts *facts        // set once
}

func (p *Provider) entryFor(id string) *factsEntry {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.known[id]
	if e == nil {
		e = &factsEntry{turn: make(chan struct{}, 1)}
		p.known[id] = e
	}
	return e
}

// dropFacts drops the description of a model that may have been removed.
func (p *Provider) dropFacts(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}

// modelFacts returns a model's description; of concurrent callers one requests it. A missing
// description is no error, a missing model is.
func (p *Provider) modelFacts(ctx context.Context, id string) (facts, error) {
	e := p.entryFor(id)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return facts{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled", Err: ctx.Err()}
	}
	if e.facts != nil {
		return *e.facts, nil
	}
	f, err := p.requestFacts(ctx, id)
	switch {
	case err == nil:
		e.facts = &f
	case isMissingAPI(err):
		err = nil // try again next time
	}
	return f, err
}

// isMissingAPI reports whether err is that of an imitation without the API.
func isMissingAPI(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && (e.Class == llm.BadRequest || e.Class == llm.Malformed ||
		e.Class == llm.NotFound && !strings.Contains(e.Message, "model"))
}

const maxShow = 16 << 20

func (p *Provider) requestFacts(ctx context.Context, id string) (facts, error) {
	body, err := wire.Body(map[string]string{"model": id})
	if err != nil {
		return facts{}, err
	}
	data, err := p.client.Fetch(wire.ImmediateContext(ctx), id, http.MethodPost, p.base+"/api/show", p.header, body, maxShow)
	if err != nil {
		return facts{}, err
	}
	f, err := readFacts(data)
	if err == nil {
		p.setWindow(id, f.window())
	}
	return f, err
}

func readFacts(data []byte) (facts, error) {
	var got struct {
		Capabilities []string                   `json:"capabilities"`
		Details      struct{ Family string }    `json:"details"`
		Parameters   string                     `json:"parameters"`
		ModelInfo    map[string]json.RawMessage `json:"model_info"`
		Thinking     struct {
			Values []any `json:"values"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return facts{}, wire.PieceError("the description", err)
	}
	f := facts{capabilities: got.Capabilities, family: got.Details.Family, thinking: got.Thinking.Values}
	for key, value := range got.ModelInfo {
		if n := toInt(value); strings.HasSuffix(key, ".context_length") && n > 0 {
			f.context = n
		}
	}
	for line := range strings.Lines(got.Parameters) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "num_ctx" {
			n, _ := strconv.Atoi(words[1]) // zero if invalid
			f.defaultContext = max(0, n)
		}
	}
	return f, nil
}

func toInt(raw json.RawMessage) int {
	var n float64
	if json.Unmarshal(raw, &n) != nil || n < 0 || n > 1<<31 {
		return 0
	}
	return int(n)
}

// thinkValue returns nil for the model's default. The server silently ignores unknown words,
// so think sends only reported ones.
func (f facts) thinkValue(effort string) any {
	if effort == "" || !f.canThink() {
		return nil
	}
	values := f.thinking
	if values == nil {
		if values = []any{false, true}; f.family == "gptoss" || f.family == "gpt-oss" {
			values = []any{"low", "medium", "high"}
		}
	}
	if effort == "none" && slices.Contains(values, any(false)) {
		return false
	}
	if word := nearestLevel(effort, values); word != "" {
		return word
	}
	if effort != "none" && slices.Contains(values, any(true)) {
		return true
	}
	return nil
}

// nearestLevel returns the lowest word that reaches effort, or the highest.
func nearestLevel(effort string, values []any) (best string) {
	for rank, word := range wire.Efforts() {
		if !slices.Contains(values, any(word)) {
			continue
		}
		if best = word; rank >= wire.EffortRank(effort) {
			return best
		}
	}
	return best
}
