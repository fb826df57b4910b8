package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read.
const (
	MaxLine      = 1 << 20 // bytes
	MaxQuestions = 10_000
	MaxAsked     = 30_000 // bytes of a question with its context
	maxID        = 100    // bytes
	maxList      = 100    // checks, documents, references
)

// A Question is asked of all variants.
type Question struct {
	ID        string
	Line      int // where it stands
	Text      string
	Context   string
	Documents []string // paths, below the folder of the file
	Reference []string // answers that are right; any of them
	Checks    []Check
}

// question is the stored form.
type question struct {
	ID        string          `json:"id"`
	Question  string          `json:"question"`
	Context   string          `json:"context"`
	Documents texts           `json:"documents"`
	Reference texts           `json:"reference"`
	Checks    []Check         `json:"checks"`
	Note      json.RawMessage `json:"note"` // whatever its author wants to keep
}

// texts is a text or a list of texts.
type texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *texts) UnmarshalJSON(js []byte) error {
	var list []string
	if one := ""; json.Unmarshal(js, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(js, &list) != nil || list == nil {
		return errors.New("a text or a list of texts is wanted")
	}
	if len(list) > maxList {
		return fmt.Errorf("more than %d texts", maxList)
	}
	for _, text := range list {
		if strings.TrimSpace(text) == "" {
			return errors.New("an empty text")
		}
	}
	*t = list
	return nil
}

// ReadQuestions reads questions. Its error says in which line what is wrong.
func ReadQuestions(r io.Reader) ([]Question, error) {
	var list []Question
	lines := make(map[string]int) // by id
	in := bufio.NewScanner(r)
	in.Buffer(nil, MaxLine)
	n := 0
	for in.Scan() {
		n++
		text := bytes.TrimSpace(bytes.TrimPrefix(in.Bytes(), []byte("\ufeff")))
		if len(text) == 0 {
			continue
		}
		q, err := readQuestion(text, n)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if first := lines[q.ID]; first > 0 {
			return nil, fmt.Errorf("line %d: the id %q is that of line %d", n, q.ID, first)
		}
		lines[q.ID] = n
		if list = append(list, q); len(list) > MaxQuestions {
			return nil, fmt.Errorf("line %d: more than %d questions", n, MaxQuestions)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: more than %d bytes", n+1, MaxLine)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	case len(list) == 0:
		return nil, errors.New("there are no questions")
	}
	return list, nil
}

// readQuestion reads a line.
func readQuestion(text []byte, line int) (Question, error) {
	var s question
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(&s); {
	case !utf8.Valid(text):
		return Question{}, errors.New("not text in UTF-8")
	case err != nil:
		return Question{}, plain(err)
	case d.More():
		return Question{}, errors.New("more than one object")
	}
	q := Question{ID: strings.TrimSpace(s.ID), Line: line, Text: strings.TrimSpace(s.Question), Context: strings.TrimSpace(s.Context),
		Documents: s.Documents, Reference: s.Reference, Checks: s.Checks}
	q.ID = cmp.Or(q.ID, strconv.Itoa(line))
	return q, q.check()
}

// check returns what is wrong with a question.
func (q Question) check() error {
	switch {
	case q.Text == "":
		return errors.New("no question")
	case len(q.ID) > maxID:
		return fmt.Errorf("the id has more than %d bytes", maxID)
	case len(q.Text)+len(q.Context) > MaxAsked:
		return fmt.Errorf("question and context have more than %d bytes", MaxAsked)
	case len(q.Checks) > maxList:
		return fmt.Errorf("more than %d checks", maxList)
	}
	for _, path := range q.Documents {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("document %q is not below the folder of the questions", path)
		}
	}
	return nil
}

// plain returns an error of encoding/json without the names of types.
func plain(err error) error {
	var slip *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &slip) && slip.Field != "":
		return fmt.Errorf("%s: not a %s", slip.Field, slip.Value)
	case errors.As(err, &slip):
		return errors.New("not a JSON object")
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("not JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// Asked returns what a model is asked: what there is to read, and then the question.
func (q Question) Asked(documents string) string {
	var parts []string
	for _, text := range []string{q.Context, strings.TrimSpace(documents), q.Text} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}
