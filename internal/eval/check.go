package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ponder/llm"
)

const (
	maxPattern = 2000     // bytes
	maxSchema  = 64 << 10 // bytes
	maxAnswer  = 1 << 20  // bytes of an answer that are checked
	shortWords = 12
)

// A Check is a property of a right answer, of a kind listed in the package comment.
type Check struct {
	contains, not, oneOf []string
	regex                *regexp.Regexp
	number               *float64
	tolerance            float64
	relative             bool
	schema               *llm.Schema
}

type checkJSON struct {
	Contains    texts           `json:"contains"`
	NotContains texts           `json:"not_contains"`
	Regex       *string         `json:"regex"`
	Number      *float64        `json:"number"`
	Tolerance   json.RawMessage `json:"tolerance"`
	OneOf       texts           `json:"one_of"`
	Schema      json.RawMessage `json:"json_schema"`
}

func (c *Check) UnmarshalJSON(js []byte) error {
	var s checkJSON
	d := json.NewDecoder(bytes.NewReader(js))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return fmt.Errorf("check: %w", plainJSONError(err))
	}
	kinds := 0
	for _, there := range []bool{s.Contains != nil, s.NotContains != nil, s.Regex != nil, s.Number != nil, s.OneOf != nil, s.Schema != nil} {
		if there {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("check: use one of contains, not_contains, regex, number, one_of, json_schema")
	}
	if s.Tolerance != nil && s.Number == nil {
		return errors.New("check: tolerance requires number")
	}
	*c = Check{contains: s.Contains, not: s.NotContains, oneOf: s.OneOf, number: s.Number}
	if err := errors.Join(c.readTolerance(s.Tolerance), c.readRegex(s.Regex), c.readSchema(s.Schema)); err != nil {
		return fmt.Errorf("check: %w", err)
	}
	return nil
}

// readTolerance parses a number, or a share such as "1%".
func (c *Check) readTolerance(js json.RawMessage) error {
	if js == nil {
		return nil
	}
	text := strings.Trim(string(js), `"`)
	text, c.relative = strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(n >= 0) || math.IsInf(n, 0) {
		return errors.New(`tolerance: must be a number or a share such as "1%"`)
	}
	if c.tolerance = n; c.relative {
		c.tolerance = n / 100
	}
	return nil
}

func (c *Check) readRegex(pattern *string) (err error) {
	if pattern == nil {
		return nil
	}
	if len(*pattern) > maxPattern {
		return fmt.Errorf("regex: more than %d bytes", maxPattern)
	}
	if c.regex, err = regexp.Compile(*pattern); err != nil {
		return fmt.Errorf("regex: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}

const schemaName = "ponder_eval_check"

func (c *Check) readSchema(js json.RawMessage) error {
	if js == nil {
		return nil
	}
	if len(js) > maxSchema {
		return fmt.Errorf("json_schema: more than %d bytes", maxSchema)
	}
	if js[0] != '{' {
		return errors.New("json_schema: not an object")
	}
	c.schema = &llm.Schema{Name: schemaName, JSON: js}
	_, err := llm.Decode[json.RawMessage]("{}", c.schema)
	if err != nil && strings.Contains(err.Error(), schemaName) { // the schema is wrong
		_, what, _ := strings.Cut(err.Error(), schemaName+": ")
		return fmt.Errorf("json_schema: %.200s", what)
	}
	return nil
}

func (c Check) Kind() string {
	switch {
	case c.contains != nil:
		return "contains"
	case c.not != nil:
		return "not_contains"
	case c.regex != nil:
		return "regex"
	case c.number != nil:
		return "number"
	case c.oneOf != nil:
		return "one_of"
	case c.schema != nil:
		return "json_schema"
	}
	return ""
}

// Holds reports whether an answer passes the check. It checks the first maxAnswer bytes. The
// zero Check holds.
func (c Check) Holds(answer string) bool {
	answer = answer[:min(len(answer), maxAnswer)]
	switch {
	case c.regex != nil:
		return c.regex.MatchString(answer)
	case c.number != nil:
		return c.isNear(answer)
	case c.oneOf != nil:
		return containsPhrase(answer, c.oneOf)
	case c.schema != nil:
		_, err := llm.Decode[json.RawMessage](answer, c.schema)
		return err == nil
	}
	folded := normalizeText(answer)
	for _, text := range c.contains {
		if !strings.Contains(folded, normalizeText(text)) {
			return false
		}
	}
	return !slices.ContainsFunc(c.not, func(text string) bool { return strings.Contains(folded, normalizeText(text)) })
}

func (c Check) isNear(answer string) bool {
	q, ok := findQuantity(answer)
	allowed := c.tolerance
	if c.relative {
		allowed *= math.Abs(*c.number)
	}
	slack := 1e-9 * max(1, math.Abs(*c.number)) // for decimal fractions in binary
	return ok && q.isNear(*c.number, allowed+slack)
}

func normalizeText(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// containsPhrase reports whether a text has one of the phrases, as whole words.
func containsPhrase(text string, list []string) bool {
	words := " " + wordsOnly(text) + " "
	for _, one := range list {
		if w := wordsOnly(one); w != "" && strings.Contains(words, " "+w+" ") || w == "" && strings.Contains(text, one) {
			return true
		}
	}
	return false
}

func wordsOnly(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }), " ")
}

// Scored reports whether checks can score answers to the question.
func (q Question) Scored() bool { return len(q.Checks) > 0 || len(q.shortReferences()) > 0 }

// shortReferences returns the references that are short enough for an exact match.
func (q Question) shortReferences() (list []string) {
	for _, r := range q.Reference {
		if len(strings.Fields(r)) <= shortWords {
			list = append(list, r)
		}
	}
	return list
}

// Right reports whether an answer is right, and the kinds of failed checks. The question must
// be [Question.Scored].
func (q Question) Right(answer string) (right bool, failed []string) {
	checks := q.Checks
	if len(checks) == 0 {
		if list := q.shortReferences(); list != nil && !containsPhrase(answer, list) {
			failed = append(failed, "reference")
		}
	}
	for _, c := range checks {
		if !c.Holds(answer) {
			failed = append(failed, c.Kind())
		}
	}
	return len(failed) == 0, failed
}
