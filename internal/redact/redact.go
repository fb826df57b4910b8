// Package redact takes secrets out of text and JSON before that is stored.
//
// What it knows by itself: keys of providers and tokens by their beginnings and
// shapes (key.go), private keys (block.go), passwords in URLs, after names such as
// password and api_key, and behind flags (pair.go, value.go), the numbers of cards
// and accounts by their check digits (number.go). E-mail addresses and patterns of the
// user's own come on wish. What is found is replaced by "[redacted: KIND]".
//
// It works by what things look like. A password in the middle of a sentence, or a
// key of a form that nobody has heard of, is not found; a word that looks like a
// secret is lost. It takes time and memory linear in the size of a text, whatever
// that is.
package redact

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A Kind says what was found.
type Kind string

// The kinds.
const (
	APIKey     Kind = "api key"
	Token      Kind = "token"
	PrivateKey Kind = "private key"
	Password   Kind = "password"
	Card       Kind = "card number"
	IBAN       Kind = "iban"
	Email      Kind = "e-mail"
	Pattern    Kind = "pattern" // of the user
)

// kinds returns all kinds.
func kinds() []Kind {
	return []Kind{APIKey, Token, PrivateKey, Password, Card, IBAN, Email, Pattern}
}

// Bounds on the patterns of a user.
const (
	MaxPatterns = 32
	MaxPattern  = 500 // bytes of one
	maxProgram  = 600 // instructions that one may come to
)

// Emails is the pattern that stands for all e-mail addresses. For the word itself,
// write "[e]mails".
const Emails = "emails"

// Options say what to take out beside what is always taken out.
type Options struct {
	// Patterns are regular expressions in the syntax of RE2, or [Emails].
	Patterns []string
}

// A Redactor takes secrets out. Its zero value does what needs no patterns, and
// nil too. It is safe for concurrent use.
type Redactor struct {
	emails   bool
	patterns []*regexp.Regexp
}

// New returns a redactor, or an error that names the pattern which is no good.
func New(opts Options) (*Redactor, error) {
	if len(opts.Patterns) > MaxPatterns {
		return nil, fmt.Errorf("redact: %d patterns, of at most %d", len(opts.Patterns), MaxPatterns)
	}
	r := &Redactor{}
	for _, p := range opts.Patterns {
		if p == Emails {
			r.emails = true
			continue
		}
		re, err := compile(p)
		if err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
		r.patterns = append(r.patterns, re)
	}
	return r, nil
}

// Check returns why a pattern is no good, or nil.
func Check(pattern string) error {
	if pattern == Emails {
		return nil
	}
	_, err := compile(pattern)
	return err
}

// compile returns a pattern whose program is small.
func compile(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > MaxPattern {
		return nil, fmt.Errorf("pattern %.20q... has %d bytes, of at most %d", pattern, len(pattern), MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, reason(err))
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	if len(prog.Inst) > maxProgram {
		return nil, fmt.Errorf("pattern %q: repeats too much", pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("pattern %q: it matches where nothing is", pattern)
	}
	return re, nil
}

// reason returns what is wrong with a pattern, without the pattern.
func reason(err error) error {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return errors.New(e.Code.String())
	}
	return err
}

// Text returns a text without the secrets in it.
func (r *Redactor) Text(text string) string {
	spans := r.find(text)
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(mark(s.kind))
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// mark returns what stands for a secret.
func mark(k Kind) string { return "[redacted: " + string(k) + "]" }

// A span is a place in a text with a secret.
type span struct {
	from, to int
	kind     Kind
}

// find returns the places of secrets, in order, none touching another.
func (r *Redactor) find(text string) []span {
	var all []span
	for _, find := range []func(string) []span{blocks, keys, passwords, pairs, cards, accounts} {
		all = append(all, find(text)...)
	}
	if r != nil && r.emails {
		all = append(all, emails(text)...)
	}
	if r != nil {
		for _, re := range r.patterns {
			for _, m := range re.FindAllStringIndex(text, -1) {
				all = append(all, span{m[0], m[1], Pattern})
			}
		}
	}
	return merged(outside(all, marks(text)))
}

// marks returns the places that were redacted before.
func marks(text string) (spans []span) {
	const begin = "[redacted: "
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return spans
		}
		at += i
		for _, k := range kinds() {
			if strings.HasPrefix(text[at:], mark(k)) {
				spans = append(spans, span{at, at + len(mark(k)), k})
			}
		}
		at += len(begin)
	}
}

// outside returns the spans that are not within a mark.
func outside(spans, marks []span) []span {
	if len(marks) == 0 {
		return spans
	}
	return slices.DeleteFunc(spans, func(s span) bool {
		i, _ := slices.BinarySearchFunc(marks, s.from, func(m span, from int) int { return cmp.Compare(m.to, from+1) })
		return i < len(marks) && marks[i].from <= s.from && s.to <= marks[i].to
	})
}

// merged returns the spans in order. Of those that overlap it makes one, of the
// kind that was found first.
func merged(spans []span) (list []span) {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range spans {
		if s.from >= s.to {
			continue
		}
		if n := len(list); n > 0 && s.from < list[n-1].to {
			list[n-1].to = max(list[n-1].to, s.to)
			continue
		}
		list = append(list, s)
	}
	return list
}
