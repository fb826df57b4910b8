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
package taint

import (
	"slices"
	"strings"

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
)

// A Context is what a mode remembers about the texts that its model has read. The zero value has
// read nothing. Methods return a changed copy and leave the original alone.
type Context struct {
	Sources   []string `json:"sources,omitempty"`   // of untrusted text, for users
	Addresses []string `json:"addresses,omitempty"` // that the user wrote or a search returned; see [Normalize]
}

// IsTainted reports whether the model has read untrusted text.
func (c Context) IsTainted() bool { return len(c.Sources) > 0 }

// AddSource adds a source of untrusted text.
func (c Context) AddSource(source string) Context {
	source = textkit.TruncateBytes(textkit.OneLine(textkit.Visible(source)), maxSource)
	if source == "" || slices.Contains(c.Sources, source) {
		return c
	}
	c.Sources = append(slices.Clip(c.Sources), source)
	c.Sources = c.Sources[max(0, len(c.Sources)-maxSources):]
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
	Text      string // as stored
	Untrusted bool   // as the tool is marked
	Own       bool   // a search for the user's own question: its addresses may be read
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
		return c.AddSource("results of a web search")
	case toolname.WebFetch:
		var page lookup.Page
		lookup.Decode(r.Text, &page)
		return c.AddAddresses(page.URL, page.Asked).AddSource("web page " + page.URL)
	case toolname.KnowledgeSearch, toolname.KnowledgeRead, toolname.PersonaMemory:
		return c.addPassages(r.Text)
	case toolname.EarlierSessions, toolname.ThreadRead:
		if r.Untrusted || strings.Contains(r.Text, `"untrusted":true`) {
			return c.AddSource("an earlier conversation or session with untrusted text")
		}
		return c
	}
	if r.Untrusted {
		return c.AddSource("result of " + r.Tool)
	}
	return c
}

// addPassages adds the sources of passages that the user did not write: all except memories.
func (c Context) addPassages(text string) Context {
	var found lookup.Found
	if !lookup.Decode(text, &found) || len(found.Hits) == 0 {
		if strings.Contains(text, `"untrusted":true`) || !strings.Contains(text, `"hits"`) {
			return c.AddSource("documents")
		}
		return c
	}
	for _, hit := range found.Hits {
		if hit.Untrusted || hit.Kind != "memory" && hit.Kind != "journal" {
			c = c.AddSource("document " + lookup.SourceName(hit.Source))
		}
	}
	return c
}
