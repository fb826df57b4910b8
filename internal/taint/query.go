package taint

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit"
)

// Limits of a query to a search provider.
const (
	maxQuery     = 400     // bytes
	maxQueryWord = 40      // letters; longer words may be secrets
	maxLetters   = 28      // of a word that cannot be an encoding
	maxOwn       = 4 << 10 // bytes of a text that is compared
)

// SanitizeQuery returns a query without possible addresses and keys, because search providers
// see it.
func SanitizeQuery(query string) string {
	words := slices.DeleteFunc(strings.Fields(query), func(w string) bool {
		return utf8.RuneCountInString(w) > maxQueryWord && !isUnspaced(w) || strings.Contains(w, "://") || strings.Contains(w, "@")
	})
	query = strings.Join(words, " ")
	if len(query) > maxQuery {
		query = strings.TrimSuffix(textkit.TruncateBytes(query, maxQuery), "…")
	}
	return query
}

// OwnQuery returns a query for a search provider without private words: those that are in a private
// text, and neither in the message of the user nor in a text that strangers know. See [View.IsOwn].
// isMost reports whether at least half of the query is left.
func (v View) OwnQuery(query string) (own string, isMost bool) {
	tokens := strings.Fields(SanitizeQuery(query))
	kept := slices.Clone(tokens)[:0]
	for i, private := range v.newFilter().markPrivate(tokens) {
		if !private {
			kept = append(kept, tokens[i])
		}
	}
	own = strings.Join(kept, " ")
	return own, 2*countLetters(own) >= countLetters(strings.Join(tokens, " "))
}

// IsOwn reports whether a text for another party carries no private text, as far as its words show.
// Each word is in the message of the user or in a text that strangers know, or no private text has
// it and it does not look like a secret. The statements of earlier messages are private, and so are
// tokens like secrets in statements of the current one: a user asks about the words of a question.
//
// The rule compares sources, so it holds for every language. It does not find a translation, another
// spelling, or a code made of words that no private text has.
func (v View) IsOwn(text string) bool {
	return len(text) <= maxOwn && !slices.Contains(v.newFilter().markPrivate(strings.Fields(text)), true)
}

// IsOwnSearch reports whether a search of the web is for the user's own question, so that the model
// may read its results: the model had read no text of strangers, or the query is the user's own.
func (v View) IsOwnSearch(args json.RawMessage) bool {
	var in struct {
		Query string `json:"query"`
	}
	return !v.IsExposed() || json.Unmarshal(args, &in) == nil && v.IsOwn(in.Query)
}

// IsReturned reports whether all words of a text are in the message of the user or in texts
// that its receiver returned before.
func (v View) IsReturned(text string, returned ...string) bool {
	known := wordSet(append(slices.Clip(returned), v.Message)...)
	return !slices.ContainsFunc(listWords(text), func(w string) bool { return !known[w] })
}

// OverlapsMessage reports whether at least half of the words of a text are in the message of
// the user.
func (v View) OverlapsMessage(text string) bool {
	said, all, found := wordSet(v.Message), 0, 0
	for w := range wordSet(text) {
		if utf8.RuneCountInString(w) < 3 && !hasDigit(w) && !isUnspaced(w) {
			continue
		}
		all++
		if said[w] {
			found++
		}
	}
	return all > 0 && 2*found >= all
}

// EchoesSecret reports whether the address of a search result contains a word of the query that may
// be a secret and is not in the question. A hostile page can cause such a query, and the address
// would send the word to its host.
func EchoesSecret(address, query, question string) bool {
	asked := wordSet(question)
	address = strings.ToLower(address)
	return slices.ContainsFunc(listWords(query), func(w string) bool {
		return isSecretLike(w) && !asked[w] && strings.Contains(address, w)
	})
}
