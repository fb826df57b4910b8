package taint

import (
	"encoding/json"
	"slices"

	"ponder/internal/toolname"
	"ponder/llm"
)

// A View is the context of a tool call.
type View struct {
	Context
	Described bool     // the model has read descriptions of tools that strangers wrote
	Message   string   // of the user, which the turn answers
	Earlier   []string // messages of the user
	Public    []string // texts that strangers know: results of web tools
	Private   []string // other texts that the model has read
}

// A Text is a text that a model has read. The zero value is private: no stranger knows it.
type Text struct {
	Content string
	User    bool   // a message of the user
	Tool    string // its result, or empty
}

// NewView returns the view of a model that has read some texts, the oldest first.
func NewView(c Context, texts []Text, results []Result) View {
	v := View{Context: c}
	for _, r := range results {
		texts = append(texts, Text{Content: r.Text, Tool: r.Tool})
	}
	for _, t := range texts {
		switch {
		case t.User:
			v.Earlier, v.Message = append(v.Earlier, t.Content), t.Content
		case t.Tool == toolname.WebSearch, t.Tool == toolname.WebFetch:
			v.Public = append(v.Public, t.Content)
		case t.Tool == toolname.Think, t.Content == "":
		default:
			v.Private = append(v.Private, t.Content)
		}
	}
	v.Earlier = v.Earlier[:max(0, len(v.Earlier)-1)]
	return v
}

// IsExposed reports whether the model has read text or descriptions of strangers.
func (v View) IsExposed() bool { return v.Described || v.IsTainted() }

// Results returns the results of tools in messages to a model.
func Results(list []llm.Message) (results []Result) {
	for _, m := range list {
		for _, p := range m.Parts {
			if p.Result != nil {
				results = append(results, Result{Tool: p.Result.Name, Text: p.Result.Text})
			}
		}
	}
	return results
}

// A Call is a tool call of a model.
type Call struct {
	Tool    string
	Args    json.RawMessage
	View    View
	Results []Result // that the model has read in this turn
}

// A Decision is the decision on a call. The zero value permits it.
type Decision struct {
	Refusal string          // why it is refused, for the model; or empty
	Ask     string          // why the user must approve it, for the user; or empty
	Args    json.RawMessage // to use instead of the arguments of the model, if not nil
}

// A Gate decides on calls. It must be pure. A nil gate permits all.
type Gate func(Call) Decision

// Decide decides on a call.
func (g Gate) Decide(c Call) Decision {
	if g == nil {
		return Decision{}
	}
	return g(c)
}

// Names returns the sources of untrusted text.
func (c Context) Names() (list []string) {
	for _, s := range c.Sources {
		list = append(list, s.Source)
	}
	return slices.Clip(list)
}
