package compat

import (
	"cmp"
	"encoding/json"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"unicode"

	"ponder"
)

// Bounds of what is shown of a result.
const (
	maxFound   = 40
	maxContent = 2000 // bytes
)

// An activeTools has the tools of ours that are in use, by the keys of their actions.
type activeTools map[string]*Search

// event returns what is told of the use of a tool.
func (u *activeTools) event(ev ponder.Event) []Part {
	if *u == nil {
		*u = make(activeTools)
	}
	key := ev.ActionKey()
	switch b := ev.Body.(type) {
	case ponder.ToolCall:
		if (*u)[key] != nil {
			return nil // it is used again, after a failure
		}
		s := &Search{Tool: b.Name, Args: b.Args}
		var in struct{ Query, URL string }
		if json.Unmarshal(b.Args, &in) == nil {
			s.Query, s.URL = textkit.TruncateBytes(Plain(in.Query), maxWhy), textkit.TruncateBytes(Plain(in.URL), maxContent)
		}
		(*u)[key] = s
		return []Part{{Kind: Searching, Item: string(ev.Run) + "/" + key, Search: s}}
	case ponder.ToolResult:
		s := (*u)[key]
		if s == nil || !b.RetryAt.IsZero() || b.Dropped {
			return nil
		}
		delete(*u, key)
		found := *s
		found.Error = textkit.TruncateBytes(Plain(b.Error), maxWhy)
		if b.Error == "" {
			found.Results, found.Number = resultsOf(b.Result)
		}
		return []Part{{Kind: Found, Item: string(ev.Run) + "/" + key, Search: &found}}
	}
	return nil
}

// resultsOf reads what tools of ours answer.
func resultsOf(text string) (list []Result, all int) {
	type found struct {
		Title, URL, Source, Snippet, Quote, Text, Content, Memory string
		Score                                                     float64
	}
	var said struct{ Results, Hits, Sources []found }
	if json.Unmarshal([]byte(text), &said) != nil {
		return nil, 0
	}
	hits := slices.Concat(said.Results, said.Hits, said.Sources)
	for _, f := range hits[:min(len(hits), maxFound)] {
		list = append(list, Result{
			Title: textkit.TruncateBytes(Plain(f.Title), maxWhy), URL: textkit.TruncateBytes(Plain(f.URL), maxContent), Source: textkit.TruncateBytes(Plain(f.Source), maxContent), Score: f.Score,
			Content: textkit.TruncateBytes(Plain(cmp.Or(f.Snippet, f.Quote, f.Content, f.Memory, f.Text)), maxContent),
		})
	}
	return list, len(hits)
}

// Plain returns a text of strangers without what terminals obey, or what turns the
// direction of letters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u2028' || r == '\u2029' || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}
