package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

type JobKind string

const (
	Chat     JobKind = "chat" // a turn of a stored conversation
	Research JobKind = "research"
	Session  JobKind = "session"
	Exchange JobKind = "exchange" // one model request; the client stores the conversation and runs tools
)

func wayOf(kind ponder.Kind) JobKind {
	switch kind {
	case ponder.KindConversation:
		return Chat
	case ponder.KindResearch:
		return Research
	case ponder.KindSession:
		return Session
	case ponder.KindExchange:
		return Exchange
	}
	return ""
}

type Model struct {
	Name  string  // as written, for answers
	Kind  JobKind // Chat, Research or Session
	Model string  // provider/model; empty: as configured
}

const prefix = "ponder/"

var ways = map[string]JobKind{
	"ponder": Chat, "ponder/chat": Chat, "ponder-chat": Chat,
	"ponder/research": Research, "ponder-research": Research,
	"ponder/session": Session, "ponder-session": Session, "ponder/think": Session, "ponder-think": Session,
}

func Names() []string { return []string{"ponder/chat", "ponder/research", "ponder/session"} }

// Model parses a model name: a way, [ponder/]PROVIDER/MODEL for a conversation, or an alias.
// "ponder/research:PROVIDER/MODEL" combines both. It does not check that the model exists.
func (d *Dispatcher) Model(name string) (Model, bool) {
	meant := strings.TrimSpace(name)
	if alias, ok := d.resolveAlias(meant); ok {
		meant = alias
	}
	m := Model{Name: name}
	if way, ok := ways[meant]; ok {
		m.Kind = way
		return m, true
	}
	if head, model, ok := strings.Cut(meant, ":"); ok && ways[head] != "" && strings.Contains(model, "/") {
		m.Kind, m.Model = ways[head], model
		return m, true
	}
	meant = strings.TrimPrefix(meant, prefix)
	if provider, model, ok := strings.Cut(meant, "/"); !ok || provider == "" || model == "" || provider == "ponder" {
		return Model{}, false
	}
	m.Kind, m.Model = Chat, meant
	return m, true
}

// resolveAlias resolves name; the longest matching prefix wins.
func (d *Dispatcher) resolveAlias(name string) (string, bool) {
	if to, ok := d.Aliases[name]; ok {
		return to, true
	}
	best, found := "", ""
	for from, to := range d.Aliases {
		if head, ok := strings.CutSuffix(from, "*"); ok && strings.HasPrefix(name, head) && len(from) > len(best) {
			best, found = from, to
		}
	}
	return found, best != ""
}

// efforts maps efforts to limits. The empty one keeps the configuration.
var efforts = map[string]struct {
	time   time.Duration
	rounds int // of research; zero: as configured
}{
	"": {}, "none": {30 * time.Second, 1}, "minimal": {time.Minute, 1}, "low": {2 * time.Minute, 2}, "medium": {5 * time.Minute, 0},
	"high": {15 * time.Minute, 7}, "xhigh": {30 * time.Minute, 10}, "max": {time.Hour, 10},
}

// IsEffort reports whether name is a valid effort, which may be empty.
func IsEffort(name string) bool {
	_, ok := efforts[name]
	return ok
}

// effectiveBudget returns the limits; the effort sets a missing time of a session.
func (a Request) effectiveBudget() ponder.Budget {
	b := a.Budget
	if b.Time == 0 && a.jobKind() == Session {
		b.Time = efforts[a.Effort].time
	}
	return b
}

func modelEffort(effort string) string {
	if effort == "xhigh" || effort == "max" {
		return "high"
	}
	return effort
}

func deepEffort(effort string) bool { return effort == "high" || effort == "xhigh" || effort == "max" }

// Names returns the ways, the configured models and the aliases without a wildcard.
func (d *Dispatcher) Names(ctx context.Context, owner string) ([]string, error) {
	names := Names()
	models, err := d.Service.Models(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		names = append(names, prefix+m)
	}
	for _, alias := range slices.Sorted(maps.Keys(d.Aliases)) {
		if !strings.HasSuffix(alias, "*") && !slices.Contains(names, alias) {
			names = append(names, alias)
		}
	}
	return names, nil
}

const (
	maxTexts      = 2048
	maxEmbedBytes = 1 << 20 // bytes
)

// Embed returns one vector for each text, of size numbers; zero: as the model has. An empty name selects
// the configured model. Errors name the field "input".
func (d *Dispatcher) Embed(ctx context.Context, owner, name string, texts []string, dimensions int) ([][]float32, llm.Usage, error) {
	model, size := "", 0
	for i, text := range texts {
		if size += len(text); text == "" {
			return nil, llm.Usage{}, InvalidField("input", "input[%d] is empty", i)
		}
	}
	switch {
	case len(texts) == 0:
		return nil, llm.Usage{}, InvalidField("input", "input: expected at least one text")
	case len(texts) > maxTexts || size > maxEmbedBytes:
		return nil, llm.Usage{}, InvalidField("input", "input: at most %d texts, of %d bytes in all", maxTexts, maxEmbedBytes)
	}
	if name != "" && name != "ponder/embed" {
		m, ok := d.Model(name)
		if !ok || m.Kind == "" {
			return nil, llm.Usage{}, notThere("model " + textkit.TruncateBytes(name, 100))
		}
		model = m.Model
	}
	vectors, usage, _, err := d.Service.Embed(ctx, owner, model, texts)
	if err != nil || dimensions == 0 {
		return vectors, usage, err
	}
	for i, v := range vectors {
		if dimensions < 1 || dimensions > len(v) {
			return nil, usage, InvalidField("dimensions", "dimensions: expected 1 to %d for this model", len(v))
		}
		vectors[i] = shortVector(v, dimensions)
	}
	return vectors, usage, nil
}

// shortVector returns the first n numbers with the length 1, as OpenAI's models do. Models that
// are trained for it keep the most of the meaning there.
func shortVector(v []float32, n int) []float32 {
	short, sum := slices.Clone(v[:n]), 0.0
	for _, x := range short {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || n == len(v) {
		return short
	}
	for i := range short {
		short[i] = float32(float64(short[i]) / math.Sqrt(sum))
	}
	return short
}

// A JSONTemplate is a JSON template with variable strings, which saves repeated encoding.
type JSONTemplate struct{ parts [][]byte }

// Placeholder marks a variable string in the value of a JSONTemplate.
const Placeholder = "\x00"

func NewJSONTemplate(of any) JSONTemplate {
	js, err := json.Marshal(of)
	if err != nil {
		return JSONTemplate{}
	}
	return JSONTemplate{bytes.Split(js, []byte(`"\u0000"`))}
}

// Append appends the JSON with texts in its gaps. Surplus gaps keep Gap, because a client may have sent that
// string.
func (m JSONTemplate) Append(b []byte, texts ...string) []byte {
	for i, part := range m.parts {
		switch {
		case i > len(texts):
			b = appendText(b, Placeholder)
		case i > 0:
			b = appendText(b, texts[i-1])
		}
		b = append(b, part...)
	}
	return b
}

// appendText encodes like [json.Marshal]. Plain ASCII takes a fast path.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			js, err := json.Marshal(text)
			if err != nil {
				return b
			}
			return append(b, js...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// TrimPrefix removes a prefix of the JSON without gaps.
func (m JSONTemplate) TrimPrefix(prefix string) JSONTemplate {
	if len(m.parts) == 0 {
		return m
	}
	return JSONTemplate{append([][]byte{bytes.TrimPrefix(m.parts[0], []byte(prefix))}, m.parts[1:]...)}
}
