// Package redact removes secrets from text and JSON before storage.
//
// It always finds keys and tokens of known providers (key.go) and private keys (block.go). It finds
// passwords in URLs, after flags and after names such as password and api_key (pair.go, value.go).
// It finds card and account numbers by their check digits (number.go). E-mail addresses and user
// patterns are optional. Each match becomes "[redacted: KIND]".
//
// Detection is by form. It misses a password in prose or a key of an unknown format, and removes
// words that resemble secrets. Time and memory are linear in the size of any text.
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

// A Kind is a kind of secret.
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

func allKinds() []Kind {
	return []Kind{APIKey, Token, PrivateKey, Password, Card, IBAN, Email, Pattern}
}

// Limits on user patterns.
const (
	MaxPatterns = 32
	MaxPattern  = 500 // bytes per pattern
	maxProgram  = 600 // instructions per compiled pattern
)

// Emails is the pattern for all e-mail addresses. For the literal word, use "[e]mails".
const Emails = "emails"

// Options add to the built-in detection.
type Options struct {
	// Patterns are RE2 regular expressions, or [Emails].
	Patterns []string
}

// A Redactor removes secrets. The zero value and nil use no patterns. It is safe for concurrent
// use.
type Redactor struct {
	emails   bool
	patterns []*regexp.Regexp
}

// New returns a redactor. An error names the invalid pattern.
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
		re, err := compilePattern(p)
		if err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
		r.patterns = append(r.patterns, re)
	}
	return r, nil
}

// Check returns an error if a pattern is invalid.
func Check(pattern string) error {
	if pattern == Emails {
		return nil
	}
	_, err := compilePattern(pattern)
	return err
}

// compilePattern compiles a pattern and limits its program size.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > MaxPattern {
		return nil, fmt.Errorf("pattern %.20q... has %d bytes, of at most %d", pattern, len(pattern), MaxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, syntaxReason(err))
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
		return nil, fmt.Errorf("pattern %q: matches the empty text", pattern)
	}
	return re, nil
}

// syntaxReason returns the error of a pattern without its text.
func syntaxReason(err error) error {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		return errors.New(e.Code.String())
	}
	return err
}

// Text returns the redacted text.
func (r *Redactor) Text(text string) string {
	spans := r.findSecrets(text)
	if len(spans) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(redactionMark(s.kind))
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

func redactionMark(k Kind) string { return "[redacted: " + string(k) + "]" }

type span struct {
	from, to int
	kind     Kind
}

// findSecrets returns the secrets in order without overlaps.
func (r *Redactor) findSecrets(text string) []span {
	var all []span
	for _, find := range []func(string) []span{findKeyBlocks, findKeys, findURLPasswords, findPairs, findCards, findAccounts} {
		all = append(all, find(text)...)
	}
	if r != nil && r.emails {
		all = append(all, findEmails(text)...)
	}
	if r != nil {
		for _, re := range r.patterns {
			for _, m := range re.FindAllStringIndex(text, -1) {
				all = append(all, span{m[0], m[1], Pattern})
			}
		}
	}
	return mergeSpans(dropMarked(all, findMarks(text)))
}

// findMarks returns the positions of earlier redactions.
func findMarks(text string) (spans []span) {
	const begin = "[redacted: "
	for at := 0; ; {
		i := strings.Index(text[at:], begin)
		if i < 0 {
			return spans
		}
		at += i
		for _, k := range allKinds() {
			if strings.HasPrefix(text[at:], redactionMark(k)) {
				spans = append(spans, span{at, at + len(redactionMark(k)), k})
			}
		}
		at += len(begin)
	}
}

// dropMarked drops the spans within a mark.
func dropMarked(spans, marks []span) []span {
	if len(marks) == 0 {
		return spans
	}
	return slices.DeleteFunc(spans, func(s span) bool {
		i, _ := slices.BinarySearchFunc(marks, s.from, func(m span, from int) int { return cmp.Compare(m.to, from+1) })
		return i < len(marks) && marks[i].from <= s.from && s.to <= marks[i].to
	})
}

// mergeSpans sorts the spans and joins overlapping ones under the kind found first.
func mergeSpans(spans []span) (list []span) {
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
