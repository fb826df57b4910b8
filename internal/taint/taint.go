// Package taint tracks untrusted text in the context of a model, and decides which data of the
// context may leave the machine without an approval.
//
// Untrusted text is text that a stranger may have written: web pages, mail, documents, results of
// other programs, and all that was made of them. A text that a model has read stays in effect for
// the rest of its conversation, because the model may have repeated it in its answers. So a
// [Context] only grows.
//
// All functions are pure. Modes keep a Context in their states, and tool/approval decides with a
// [View] of it.
//
// taint.go collects sources and addresses, events.go reads them from events, view.go is the context
// of a call, query.go decides which text may leave, and words.go compares words.
package taint

import (
	"encoding/json"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/toolname"
	"ponder/knowledge/lookup"
)

// Limits of a context. With more sources or addresses, the oldest are dropped; a dropped address
// needs an approval again.
const (
	maxSources   = 8
	maxSource    = 200 // bytes
	maxAddresses = 400
	maxAddress   = 2000 // bytes
	maxWords     = 2000
	maxTextWords = 1000 // of one text, so that a list of all words makes few of them known
)

// A Context is what a mode remembers about the texts that its model has read. The zero value has
// read nothing. Methods return a changed copy and leave the original alone.
type Context struct {
	Sources   []ponder.UntrustedSource `json:"sources,omitempty"`
	Addresses []string                 `json:"addresses,omitempty"` // that the user wrote or a search returned; see [Normalize]
	Words     []string                 `json:"words,omitempty"`     // that strangers know: of web pages, and of queries that were sent
}

// IsTainted reports whether the model has read untrusted text.
func (c Context) IsTainted() bool { return len(c.Sources) > 0 }

// AddSource adds a source of untrusted text, with the number of its event or 0.
func (c Context) AddSource(source string, seq ponder.Seq) Context {
	source = textkit.TruncateBytes(textkit.OneLine(textkit.Visible(source)), maxSource)
	if source == "" || slices.ContainsFunc(c.Sources, func(s ponder.UntrustedSource) bool { return s.Source == source }) {
		return c
	}
	c.Sources = append(slices.Clip(c.Sources), ponder.UntrustedSource{Source: source, Seq: seq})
	c.Sources = c.Sources[max(0, len(c.Sources)-maxSources):]
	return c
}

// addWords adds the words of a text that strangers know.
func (c Context) addWords(text string) Context {
	list := listWords(text)
	have := wordSet(c.Words...)
	c.Words = slices.Clip(c.Words)
	for n := 0; len(list) > 0 && n < maxTextWords; list = list[1:] {
		if w := list[0]; !have[w] {
			c.Words, have[w], n = append(c.Words, w), true, n+1
		}
	}
	c.Words = c.Words[max(0, len(c.Words)-maxWords):]
	return c
}

// AddAddresses adds addresses that the model may read without an approval.
func (c Context) AddAddresses(list ...string) Context {
	for _, a := range list {
		if a = Normalize(a); a != "" && len(a) <= maxAddress && !slices.Contains(c.Addresses, a) {
			c.Addresses = append(slices.Clip(c.Addresses), a)
		}
	}
	c.Addresses = c.Addresses[max(0, len(c.Addresses)-maxAddresses):]
	return c
}

// AddMessage adds the addresses in a message of the user.
func (c Context) AddMessage(text string) Context { return c.AddAddresses(FindAddresses(text)...) }

// A Result is the result of a tool.
type Result struct {
	Tool      string
	Args      json.RawMessage // of the call, if known
	Text      string          // as stored
	Seq       ponder.Seq      // of its event
	Untrusted bool            // as the tool is marked
	Own       bool            // a search for the user's own question: its addresses may be read
}

// AddResult adds the result of a tool.
func (c Context) AddResult(r Result) Context {
	if strings.TrimSpace(r.Text) == "" {
		return c
	}
	switch r.Tool {
	case toolname.Think, toolname.DeepThink, toolname.Remember:
		return c
	case toolname.WebSearch:
		var found lookup.WebFound
		lookup.Decode(r.Text, &found)
		for _, hit := range found.Results {
			if r.Own {
				c = c.AddAddresses(hit.URL)
			}
		}
		query, _ := ArgumentText(r.Args)
		shown, _ := ArgumentText(json.RawMessage(r.Text))
		return c.addWords(query).addWords(shown).AddSource("results of a web search", r.Seq)
	case toolname.WebFetch:
		var page lookup.Page
		lookup.Decode(r.Text, &page)
		shown, _ := ArgumentText(json.RawMessage(r.Text))
		return c.AddAddresses(page.URL, page.Asked).addWords(shown).AddSource("web page "+page.URL, r.Seq)
	case toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory:
		return c.addPassages(r)
	case toolname.EarlierSessions, toolname.ThreadRead:
		if r.Untrusted || strings.Contains(r.Text, `"untrusted":true`) {
			return c.AddSource("an earlier conversation or session with untrusted text", r.Seq)
		}
		return c
	}
	if r.Untrusted {
		return c.AddSource("result of "+r.Tool, r.Seq)
	}
	return c
}

// addPassages adds the sources of passages that the user did not write: all except memories.
func (c Context) addPassages(r Result) Context {
	var found lookup.Found
	if !lookup.Decode(r.Text, &found) || len(found.Hits) == 0 {
		if strings.Contains(r.Text, `"untrusted":true`) || !strings.Contains(r.Text, `"hits"`) {
			return c.AddSource("documents", r.Seq)
		}
		return c
	}
	for _, hit := range found.Hits {
		if hit.Untrusted || hit.Kind != "memory" && hit.Kind != "journal" {
			c = c.AddSource("document "+lookup.SourceName(hit.Source), r.Seq)
		}
	}
	return c
}
