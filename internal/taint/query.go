package taint

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/internal/toolname"
)

// Limits of a query to a search provider, in bytes.
const (
	maxQuery     = 400
	maxQueryWord = 40 // longer words may be secrets
)

// SanitizeQuery returns a query without possible addresses and keys, because search providers
// see it.
func SanitizeQuery(query string) string {
	words := slices.DeleteFunc(strings.Fields(query), func(w string) bool {
		return len(w) > maxQueryWord || strings.Contains(w, "://") || strings.Contains(w, "@")
	})
	query = strings.Join(words, " ")
	if len(query) > maxQuery {
		query = strings.TrimSuffix(textkit.TruncateBytes(query, maxQuery), "…")
	}
	return query
}

// A View is the context of a tool call.
type View struct {
	Context
	Message string   // of the user, which the turn answers
	Earlier []string // messages of the user
	Public  []string // texts that strangers know: results of web tools
	Private []string // other texts that the model has read
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

// IsOwn reports whether a text for another party contains only words of the user's question, words
// that strangers know, and words that are in no private text. A word of an earlier message
// counts as private if it may be a secret.
func (v View) IsOwn(text string) bool {
	message, earlier, public, private := wordSet(v.Message), wordSet(v.Earlier...), wordSet(v.Public...), wordSet(v.Private...)
	for w := range words(text) {
		switch {
		case message[w] || public[w]:
		case mayBeSecret(w):
			return false
		case private[w] && !earlier[w]:
			return false
		}
	}
	return true
}

// AddText adds the text of a result that the model has read.
func (v View) AddText(tool, text string) View {
	switch tool {
	case toolname.WebSearch, toolname.WebFetch:
		v.Public = append(slices.Clip(v.Public), text)
	case toolname.Think:
	default:
		v.Private = append(slices.Clip(v.Private), text)
	}
	return v
}

// IsOwnSearch reports whether a search of the web is for the user's own question, so that the model
// may read its results: the model had read no untrusted text, or the query is the user's own.
func (v View) IsOwnSearch(args json.RawMessage) bool {
	var in struct {
		Query string `json:"query"`
	}
	return !v.IsTainted() || json.Unmarshal(args, &in) == nil && v.IsOwn(in.Query)
}

// IsReturned reports whether all words of a text are in the message of the user or in texts
// that its receiver returned before.
func (v View) IsReturned(text string, returned ...string) bool {
	known := wordSet(append(slices.Clip(returned), v.Message)...)
	for w := range words(text) {
		if !known[w] {
			return false
		}
	}
	return true
}

// OverlapsMessage reports whether at least half of the words of a text are in the message of
// the user.
func (v View) OverlapsMessage(text string) bool {
	said, all, found := wordSet(v.Message), 0, 0
	for w := range words(text) {
		if utf8.RuneCountInString(w) < 3 && !hasDigit(w) {
			continue
		}
		all++
		if said[w] {
			found++
		}
	}
	return all > 0 && 2*found >= all
}

// mayBeSecret reports whether a word looks like a password, a number of a card or a key: it has
// four digits and is no year, or it mixes letters and digits in at least eight characters.
func mayBeSecret(word string) bool {
	digits, letters := 0, 0
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	if digits == 4 && letters == 0 && len(word) == 4 && (strings.HasPrefix(word, "19") || strings.HasPrefix(word, "20")) {
		return false
	}
	return digits >= 4 || digits > 0 && letters > 0 && digits+letters >= 8 || letters > maxQueryWord/2
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

func wordSet(texts ...string) map[string]bool {
	set := make(map[string]bool)
	for _, text := range texts {
		for w := range words(text) {
			set[w] = true
		}
	}
	return set
}

// words returns the words of a text in lower case.
func words(text string) func(yield func(string) bool) {
	return strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// EchoesSecret reports whether the address of a search result contains a word of the query that may
// be a secret and is not in the question. A hostile page can cause such a query, and the address
// would send the word to its host.
func EchoesSecret(address, query, question string) bool {
	asked := wordSet(question)
	address = strings.ToLower(address)
	for w := range words(query) {
		if mayBeSecret(w) && !asked[w] && strings.Contains(address, w) {
			return true
		}
	}
	return false
}
