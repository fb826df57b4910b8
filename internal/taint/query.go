package taint

import (
	"encoding/json"
	"regexp"
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
	Described bool     // the model has read descriptions of tools that strangers wrote
	Message   string   // of the user, which the turn answers
	Earlier   []string // messages of the user
	Public    []string // texts that strangers know: results of web tools
	Private   []string // other texts that the model has read
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

// OwnQuery returns a query for a search provider without words that may be secrets of the user:
// passwords, keys and numbers that the current message does not contain. Words that strangers know
// stay. See [View.IsOwn].
func (v View) OwnQuery(query string) string {
	own := v.ownWords()
	return strings.Join(slices.DeleteFunc(strings.Fields(SanitizeQuery(query)), func(token string) bool {
		for w := range words(token) {
			if !own(w) {
				return true
			}
		}
		return isSecretLike(token) && !containsFold(v.Message, token) && !slices.ContainsFunc(v.Public, func(text string) bool { return containsFold(text, token) })
	}), " ")
}

// IsOwn reports whether a text for another party contains no secret of the user, as far as its words
// show: each is in the current message or in a text that strangers know, or it neither looks like a
// secret nor is a part of one, forwards or backwards. A part of a longer text, in words that are
// common, is not recognized.
func (v View) IsOwn(text string) bool {
	own := v.ownWords()
	for w := range words(text) {
		if !own(w) {
			return false
		}
	}
	return true
}

// ownWords returns the function that reports whether a word may be sent.
func (v View) ownWords() func(word string) bool {
	known, secret := wordSet(append(slices.Clone(v.Public), v.Message)...), secretWords(append(slices.Clone(v.Private), v.Earlier...))
	addAnnounced(v.Message, func(token string) {
		for w := range words(token) {
			known[w], secret[w] = false, true
		}
	})
	return func(w string) bool { return known[w] || !isSecretLike(w) && !secret[w] && !secret[reverse(w)] }
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

// IsExposed reports whether the model has read text or descriptions of strangers.
func (v View) IsExposed() bool { return v.Described || v.IsTainted() }

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

// secretCue finds a token that a text announces as a secret: "the code of the door is 1234".
var secretCue = regexp.MustCompile(`(?i)\b(?:pass\w*|pin|secret|token|key|code|kennwort|geheim\w*)\b((?:\s+\w+){0,4}?)\s*(?:\b(?:is|ist|lautet)\b|[=:])[\s=:"']*([^\s"']+)`)

// secretWords returns the words of all secrets in texts.
func secretWords(texts []string) map[string]bool {
	set := make(map[string]bool)
	add := func(token string) {
		for w := range words(token) {
			if len(w) >= 3 {
				set[w] = true
			}
		}
	}
	for _, text := range texts {
		for token := range strings.FieldsSeq(text) {
			if isSecretLike(token) {
				add(token)
			}
		}
		addAnnounced(text, add)
	}
	return set
}

// addAnnounced adds the tokens that a text announces as secrets.
func addAnnounced(text string, add func(token string)) {
	for _, m := range secretCue.FindAllStringSubmatch(text, -1) {
		if hasDigit(m[2]) || m[1] == "" && len(m[2]) >= 6 {
			add(m[2])
		}
	}
}

// isSecretLike reports whether a token looks like a password, a key, or the number of a card or an
// account: it has four digits and is no year, it mixes letters and digits in at least six
// characters, or it is an address of a person.
func isSecretLike(token string) bool {
	token = strings.Trim(token, ".,;:!?()[]{}\"'“”„*_`<>")
	digits, letters := 0, 0
	for _, r := range token {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		}
	}
	if digits == 4 && len(token) == 4 && token >= "1500" && token < "2100" {
		return false
	}
	return digits >= 4 || digits > 0 && letters > 0 && digits+letters >= 6 || letters > maxQueryWord/2 || strings.Contains(token, "@")
}

func reverse(word string) string {
	r := []rune(word)
	slices.Reverse(r)
	return string(r)
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
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
		if isSecretLike(w) && !asked[w] && strings.Contains(address, w) {
			return true
		}
	}
	return false
}
