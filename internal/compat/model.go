package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A Way is how a request is answered.
type Way string

// The ways.
const (
	Chat     Way = "chat"     // a turn of a conversation that Ponder keeps
	Research Way = "research" // minutes, with sources
	Session  Way = "session"  // for as long as it is given
	Exchange Way = "exchange" // one question to a model, of a client that keeps the conversation and uses tools itself
)

func wayOf(kind ponder.Kind) Way {
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

// A Model is what a client may name as the model that answers.
type Model struct {
	Name  string // as it is named, which answers repeat
	Way   Way    // Chat, Research or Session
	Model string // provider/model that thinks; empty: as configured
}

// The names of Ponder itself.
const prefix = "ponder/"

var ways = map[string]Way{
	"ponder": Chat, "ponder/chat": Chat, "ponder-chat": Chat,
	"ponder/research": Research, "ponder-research": Research,
	"ponder/session": Session, "ponder-session": Session, "ponder/think": Session, "ponder-think": Session,
}

// Names returns the names that stand for ways of thinking.
func Names() []string { return []string{"ponder/chat", "ponder/research", "ponder/session"} }

// Model reads the name of a model: of a way of thinking, ponder/PROVIDER/MODEL or
// PROVIDER/MODEL for a conversation with that, or an alias. "ponder/research:PROVIDER/MODEL"
// has that model think. It reports whether the name means anything; whether there is such
// a model is found when it is asked.
func (d *Desk) Model(name string) (Model, bool) {
	meant := strings.TrimSpace(name)
	if alias, ok := d.alias(meant); ok {
		meant = alias
	}
	m := Model{Name: name}
	if way, ok := ways[meant]; ok {
		m.Way = way
		return m, true
	}
	if head, model, ok := strings.Cut(meant, ":"); ok && ways[head] != "" && strings.Contains(model, "/") {
		m.Way, m.Model = ways[head], model
		return m, true
	}
	meant = strings.TrimPrefix(meant, prefix)
	if provider, model, ok := strings.Cut(meant, "/"); !ok || provider == "" || model == "" || provider == "ponder" {
		return Model{}, false
	}
	m.Way, m.Model = Chat, meant
	return m, true
}

// alias returns what a name stands for. An alias that ends in * stands for all names that
// begin so; the longest that fits counts.
func (d *Desk) alias(name string) (string, bool) {
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

// efforts are how hard to think, as clients say it. Empty leaves it to what is configured.
var efforts = map[string]struct {
	time   time.Duration // of a session
	rounds int           // of research; zero: as configured
}{
	"": {}, "none": {30 * time.Second, 1}, "minimal": {time.Minute, 1}, "low": {2 * time.Minute, 2}, "medium": {5 * time.Minute, 0},
	"high": {15 * time.Minute, 7}, "xhigh": {30 * time.Minute, 10}, "max": {time.Hour, 10},
}

// IsEffort reports whether a client may say so how hard to think. Empty leaves it to what
// is configured.
func IsEffort(name string) bool {
	_, ok := efforts[name]
	return ok
}

// budget returns the limits of a session or research: those that are asked for, and the
// time that an effort stands for.
func (a Ask) budget() ponder.Budget {
	b := a.Budget
	if b.Time == 0 && a.way() == Session {
		b.Time = efforts[a.Effort].time
	}
	return b
}

// modelEffort returns an effort as models know it.
func modelEffort(effort string) string {
	if effort == "xhigh" || effort == "max" {
		return "high"
	}
	return effort
}

// deepEffort reports whether a message of a conversation is to be reflected on.
func deepEffort(effort string) bool { return effort == "high" || effort == "xhigh" || effort == "max" }

// Names returns what an owner may name as a model: the ways of thinking, and conversations
// with each model that is configured.
func (d *Desk) Names(ctx context.Context, owner string) ([]string, error) {
	names := Names()
	models, err := d.Service.Models(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		names = append(names, prefix+m)
	}
	return names, nil
}

// Bounds of what is embedded at once.
const (
	mostTexts = 2048
	mostEmbed = 1 << 20 // bytes of all
)

// Embed returns a vector for each text. The model is named as in [Desk.Model], or as none
// for the one that is configured.
func (d *Desk) Embed(ctx context.Context, owner, name string, texts []string) ([][]float32, llm.Usage, error) {
	model, size := "", 0
	for i, text := range texts {
		if size += len(text); text == "" {
			return nil, llm.Usage{}, Wrong("input", "input[%d] is empty", i)
		}
	}
	switch {
	case len(texts) == 0:
		return nil, llm.Usage{}, Wrong("input", "input: expected at least one text")
	case len(texts) > mostTexts || size > mostEmbed:
		return nil, llm.Usage{}, Wrong("input", "input: at most %d texts, of %d bytes in all", mostTexts, mostEmbed)
	}
	if name != "" && name != "ponder/embed" {
		m, ok := d.Model(name)
		if !ok || m.Way == "" {
			return nil, llm.Usage{}, notThere("model " + textkit.TruncateBytes(name, 100))
		}
		model = m.Model
	}
	vectors, usage, _, err := d.Service.Embed(ctx, owner, model, texts)
	return vectors, usage, err
}

// A Mould is JSON of which only some texts change, such as that of the chunks of a stream:
// the rest of it is made once.
type Mould struct{ parts [][]byte }

// Gap stands in a value where a Mould has a text that changes.
const Gap = "\x00"

// NewMould returns the mould of a value.
func NewMould(of any) Mould {
	js, err := json.Marshal(of)
	if err != nil { // which what was read from JSON cannot be
		return Mould{}
	}
	return Mould{bytes.Split(js, []byte(`"\u0000"`))}
}

// Append appends the value with texts in its gaps, as [json.Marshal] writes it. A gap too
// many stays what it is: a client may have named something so.
func (m Mould) Append(b []byte, texts ...string) []byte {
	for i, part := range m.parts {
		switch {
		case i > len(texts):
			b = appendText(b, Gap)
		case i > 0:
			b = appendText(b, texts[i-1])
		}
		b = append(b, part...)
	}
	return b
}

// appendText appends a text as [json.Marshal] writes it.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			js, err := json.Marshal(text)
			if err != nil { // which a text cannot be
				return b
			}
			return append(b, js...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// Without returns the mould without a prefix of its JSON, which has no gap.
func (m Mould) Without(prefix string) Mould {
	if len(m.parts) == 0 {
		return m
	}
	return Mould{append([][]byte{bytes.TrimPrefix(m.parts[0], []byte(prefix))}, m.parts[1:]...)}
}
