// Package eval measures whether thinking helps. A [Runner] asks; questions, scores and
// statistics are pure.
//
// [ReadQuestions] reads questions with their checks; [Question.Right] scores an answer.
// [JudgeRequest] lets a model compare two answers; a [Verdict] joins its judgements of both
// orders, which cancels a position bias.
//
// [Report] compares each variant with the first, by question. A difference is that of the
// means over a question's samples, so each question counts once. Intervals are from a bootstrap
// over questions ([Bootstrap]), p-values from sign flips ([SignFlip]). Without a significant
// difference, [Comparison.Summary] names the number of questions that could show one.
//
// # The form of questions
//
// JSON Lines: one object a line; blank lines are ignored.
//
//	{"id":"q1", "question":"...", "context":"...", "documents":["a.md"],
//	 "reference":"..." or ["...", "..."], "checks":[CHECK, ...]}
//
// Only question is required; the id defaults to the line number. A CHECK is one of
//
//	{"contains": TEXT or [TEXT, ...]}      all are in the answer, in any case
//	{"not_contains": TEXT or [TEXT, ...]}  none is
//	{"regex": TEXT}                        it matches somewhere (RE2; (?i) folds case)
//	{"number": N, "tolerance": N or "1%"}  the number that the answer states as its result, or a range within the tolerance
//	{"one_of": [TEXT, ...]}                one of them is there, as whole words
//	{"json_schema": {...}}                 the answer has JSON that fits
//
// An answer is right if all checks hold. Without checks, short references act as one_of.
//
// Everything is deterministic, given a seed, and safe for concurrent use.
package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

const (
	maxStrategies = 10
	maxAnswers    = 100_000
	maxFile       = 64 << 20
	maxRubric     = 32 << 10
)

// ErrUnscored is the cause for a plan without checks and judge.
var ErrUnscored = errors.New("no answer can be scored")

type Plan struct {
	File       string
	Strategies []Strategy
	Samples    int // per question and strategy
	Parallel   int
	Model      string
	Judge      string
	Rubric     string
	Seed       uint64
	Limits     ponder.Budget
	Fresh      bool

	OnAnswer   func(Answer) error // receives answers; calls are sequential
	OnVerdict  func(Verdict) error
	OnProgress func(Progress)

	Questions []Question // set by Read

	prompts map[string]string // by id: the question with its documents
}

type Progress struct {
	Answers, Verdicts int
	Spent             ponder.Cost
}

func (p *Plan) Read(ctx context.Context) error {
	if p.Rubric == "" {
		p.Rubric = Rubric()
	}
	if err := p.readFile(ctx); err != nil {
		return err
	}
	if n := p.Answers(); n > maxAnswers {
		return app.Invalidf("", "too many answers: %s, the maximum is %s; use fewer samples or variants", textkit.Number(n), textkit.Number(maxAnswers))
	}
	return nil
}

func (p *Plan) Answers() int { return len(p.Questions) * len(p.Strategies) * p.Samples }

func ReadRubric(file string) (string, error) {
	text, err := fileio.ReadFile(file, maxRubric)
	switch {
	case errors.Is(err, limitio.ErrTooLarge):
		return "", app.Invalidf("rubric", "%s: more than %s bytes", file, textkit.Number(maxRubric))
	case err != nil:
		return "", app.Invalidf("rubric", "%s: %w", file, plainPath(err))
	case strings.TrimSpace(string(text)) == "":
		return "", app.Invalidf("rubric", "%s: empty file", file)
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "�"), nil
}

func plainPath(err error) error {
	if slip := (*fs.PathError)(nil); errors.As(err, &slip) {
		return slip.Err
	}
	return err
}

func (p *Plan) readFile(ctx context.Context) error {
	f, err := fileio.OpenRegular(p.File)
	if err != nil {
		return app.Invalidf("", "%s: %w", p.File, plainPath(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && (info.IsDir() || info.Size() > maxFile) {
		return app.Invalidf("", "%s: must be a file of at most %s", p.File, textkit.Bytes(maxFile))
	}
	if p.Questions, err = ReadQuestions(f); err != nil {
		return app.Invalidf("", "%s: %w", p.File, err)
	}
	p.prompts = make(map[string]string)
	scored := false
	for _, q := range p.Questions {
		text, err := readDocuments(ctx, filepath.Dir(p.File), q.Documents)
		if err != nil {
			return app.Invalidf("", "%s: line %d: %w", p.File, q.Line, err)
		}
		p.prompts[q.ID] = q.Prompt(text)
		if len(p.prompts[q.ID]) > MaxAsked {
			return app.Invalidf("", "%s: line %d: the question with its context and documents has more than %s bytes", p.File, q.Line, textkit.Number(MaxAsked))
		}
		scored = scored || q.Scored()
	}
	if !scored && p.Judge == "" {
		return &app.Error{Code: app.Invalid, Message: p.File + ": answers cannot be scored: add checks or references to the questions", Err: ErrUnscored}
	}
	return nil
}

func readDocuments(ctx context.Context, dir string, paths []string) (string, error) {
	var b strings.Builder
	for _, path := range paths {
		full, err := resolveInside(dir, path)
		if err != nil {
			return "", fmt.Errorf("document %s: %w", path, plainPath(err))
		}
		docs, _, err := document.Load(ctx, []string{full}, document.Options{MaxFiles: 1, MaxTotal: maxFile})
		if err != nil {
			return "", fmt.Errorf("document %s: %w", path, err)
		}
		for _, d := range docs.Documents() {
			fmt.Fprintf(&b, "%s\n\n%s\n\n", path, strings.TrimSpace(d.Text))
		}
	}
	return strings.TrimSpace(b.String()), nil
}

// resolveInside returns the path of a file in a folder; links may not leave it.
func resolveInside(dir, path string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	full, err := filepath.EvalSymlinks(filepath.Join(dir, path))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, full); err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("must be below the folder of the questions")
	}
	return full, nil
}

const (
	MaxLine      = 1 << 20
	MaxQuestions = 10_000
	MaxAsked     = 30_000 // bytes, with its context
	maxID        = 100
	maxList      = 100 // of checks, documents, references
)

type Question struct {
	ID        string
	Line      int
	Text      string
	Context   string
	Documents []string // relative to the folder of the file
	Reference []string // alternative right answers
	Checks    []Check
}

type questionJSON struct {
	ID        string          `json:"id"`
	Question  string          `json:"question"`
	Context   string          `json:"context"`
	Documents texts           `json:"documents"`
	Reference texts           `json:"reference"`
	Checks    []Check         `json:"checks"`
	Note      json.RawMessage `json:"note"` // ignored
}

// texts is a text or a list of texts.
type texts []string

func (t *texts) UnmarshalJSON(js []byte) error {
	var list []string
	if one := ""; json.Unmarshal(js, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(js, &list) != nil || list == nil {
		return errors.New("must be a text or a list of texts")
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

// ReadQuestions parses questions. Its error names the line.
func ReadQuestions(r io.Reader) ([]Question, error) {
	var list []Question
	lines := make(map[string]int)
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
			return nil, fmt.Errorf("line %d: duplicate ID %q of line %d", n, q.ID, first)
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
		return nil, errors.New("no questions")
	}
	return list, nil
}

func readQuestion(text []byte, line int) (Question, error) {
	var s questionJSON
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(&s); {
	case !utf8.Valid(text):
		return Question{}, errors.New("not valid UTF-8")
	case err != nil:
		return Question{}, plainJSONError(err)
	case d.More():
		return Question{}, errors.New("more than one object")
	}
	q := Question{ID: strings.TrimSpace(s.ID), Line: line, Text: strings.TrimSpace(s.Question), Context: strings.TrimSpace(s.Context),
		Documents: s.Documents, Reference: s.Reference, Checks: s.Checks}
	q.ID = cmp.Or(q.ID, strconv.Itoa(line))
	return q, q.checkLimits()
}

func (q Question) checkLimits() error {
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
			return fmt.Errorf("document %q must be below the folder of the questions", path)
		}
	}
	return nil
}

func plainJSONError(err error) error {
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

// Prompt returns the prompt: documents, context and question.
func (q Question) Prompt(documents string) string {
	var parts []string
	for _, text := range []string{q.Context, strings.TrimSpace(documents), q.Text} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n\n")
}
