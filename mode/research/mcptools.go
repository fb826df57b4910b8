package research

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/lookup"
)

const otherLookup = "others"

// Limits of external tools, in bytes.
const (
	maxOthersArgs = 8 << 10
	othersPiece   = 1500
)

func (s *state) isOther(name string) bool {
	return slices.ContainsFunc(s.opts.Tools, func(t llm.Tool) bool { return t.Name == name })
}

func (s *state) addOtherLookup(c llm.ToolCall, args []byte, i int) {
	s.addLookup(lookupCall{Kind: otherLookup, Tool: c.Name, Args: args, Query: textkit.TruncateBytes(textkit.OneLine(lookup.Sanitize(string(args))), maxQuery), Use: i + 1})
}

// viewOfSources returns the texts that the model has read. Research runs without a user who could
// approve a call, and pages may give orders. So no word that stands only in a private source leaves.
func (s *state) viewOfSources() taint.View {
	texts, results := []taint.Text{{Content: s.MemoryText}, {Content: s.run.Input, User: true}}, []taint.Result(nil)
	for _, p := range s.Evidence {
		results = append(results, taint.Result{Tool: p.Tool, Text: p.Quote})
	}
	v := taint.NewView(taint.Context{}, texts, results)
	v.Public = append(v.Public, s.run.Input) // the user wants it searched
	return v
}

// boundQuery returns a query in the form in which a lookup may send it.
func (s *state) boundQuery(kind, query string) string {
	if query = textkit.OneLine(query); kind != webLookup {
		return taint.SanitizeQuery(query)
	}
	query, _ = s.viewOfSources().OwnQuery(query)
	return query
}

func (l lookupCall) otherAction() ponder.Action {
	return ponder.Do{Key: l.actionKey(), Tool: l.Tool, Args: l.Args}
}

// readOther splits a tool's result into untrusted passages. Their source is the tool with its
// arguments.
func (l lookupCall) readOther(result string) (list []lookup.Hit) {
	sum := sha256.Sum256([]byte(l.Tool + "\x00" + string(l.Args)))
	source := "tool:" + l.Tool + "#" + hex.EncodeToString(sum[:4])
	all := sha256.Sum256([]byte(result))
	for start := 0; start < len(result) && len(list) < l.MaxHits; {
		end := start + passageLen(result[start:])
		if quote := result[start:end]; strings.TrimSpace(quote) != "" {
			list = append(list, lookup.Hit{
				Source: source, Title: l.Tool, Quote: quote, Start: start, End: end, Hash: hex.EncodeToString(all[:]), Score: 1,
				Kind: "tool", Untrusted: true,
			})
		}
		start = end
	}
	return list
}

// passageLen returns the length of the first passage of s. It ends at a paragraph, line or sentence if
// that is not too short.
func passageLen(s string) int {
	if len(s) <= othersPiece {
		return len(s)
	}
	for _, end := range []string{"\n\n", "\n", ". "} {
		if i := strings.LastIndex(s[:othersPiece], end); i > othersPiece/2 {
			return i + len(end)
		}
	}
	return len(textkit.Prefix(s, othersPiece))
}

func othersArgs(input []byte) json.RawMessage {
	if len(input) > maxOthersArgs {
		return nil
	}
	return slices.Clone(input)
}
