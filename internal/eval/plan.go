package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

// Bounds of an evaluation.
const (
	maxStrategies = 10
	maxAnswers    = 100_000
	maxFile       = 64 << 20 // bytes of the file, or of a document
	maxRubric     = 32 << 10 // bytes
)

// ErrUnscored is the cause if a plan has neither checks nor a judge.
var ErrUnscored = errors.New("no answer can be scored")

// A Plan says what to measure.
type Plan struct {
	File       string // of questions
	Strategies []Strategy
	Samples    int    // answers to a question by a strategy
	Parallel   int    // questions at a time
	Model      string // answers where a strategy names no other; empty: that of the configuration
	Judge      string // model that compares answers; empty: none
	Rubric     string // of the judge
	Seed       uint64
	Limits     ponder.Budget
	Fresh      bool // forget the answers of earlier evaluations

	Answered func(Answer) error  // takes an answer; one call at a time, as of the others
	Compared func(Verdict) error // takes a verdict
	Progress func(Progress)

	Questions []Question // of the file, after Read

	asked map[string]string // by id: the question with what there is to read
}

// A Progress is how far an evaluation is.
type Progress struct {
	Answers, Verdicts int
	Spent             ponder.Cost
}

// Read reads the questions and their documents.
func (p *Plan) Read(ctx context.Context) error {
	if p.Rubric == "" {
		p.Rubric = Rubric()
	}
	if err := p.read(ctx); err != nil {
		return err
	}
	if n := p.Answers(); n > maxAnswers {
		return app.Invalidf("", "that is %s answers, more than %s: ask fewer samples or fewer variants", textkit.Number(n), textkit.Number(maxAnswers))
	}
	return nil
}

// Answers returns the number of answers that p asks for.
func (p *Plan) Answers() int { return len(p.Questions) * len(p.Strategies) * p.Samples }

// ReadRubric reads what a file tells a judge.
func ReadRubric(file string) (string, error) {
	text, err := os.ReadFile(file)
	switch {
	case err != nil:
		return "", app.Invalidf("rubric", "%s: %w", file, plainPath(err))
	case len(text) > maxRubric:
		return "", app.Invalidf("rubric", "%s: more than %s bytes", file, textkit.Number(maxRubric))
	case strings.TrimSpace(string(text)) == "":
		return "", app.Invalidf("rubric", "%s: it is empty", file)
	}
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "�"), nil
}

// plainPath returns what is wrong with a path, without the path.
func plainPath(err error) error {
	if slip := (*fs.PathError)(nil); errors.As(err, &slip) {
		return slip.Err
	}
	return err
}

// read reads the questions and their documents.
func (p *Plan) read(ctx context.Context) error {
	f, err := os.Open(p.File)
	if err != nil {
		return app.Invalidf("", "%s: %w", p.File, plainPath(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && (info.IsDir() || info.Size() > maxFile) {
		return app.Invalidf("", "%s: want a file of at most %s", p.File, textkit.Bytes(maxFile))
	}
	if p.Questions, err = ReadQuestions(f); err != nil {
		return app.Invalidf("", "%s: %w", p.File, err)
	}
	p.asked = make(map[string]string)
	scored := false
	for _, q := range p.Questions {
		text, err := documentsOf(ctx, filepath.Dir(p.File), q.Documents)
		if err != nil {
			return app.Invalidf("", "%s: line %d: %w", p.File, q.Line, err)
		}
		p.asked[q.ID] = q.Asked(text)
		if len(p.asked[q.ID]) > MaxAsked {
			return app.Invalidf("", "%s: line %d: the question with its context and documents has more than %s bytes", p.File, q.Line, textkit.Number(MaxAsked))
		}
		scored = scored || q.Scored()
	}
	if !scored && p.Judge == "" {
		return &app.Error{Code: app.Invalid, Message: p.File + ": nothing says which answers are good: add checks or references to the questions", Err: ErrUnscored}
	}
	return nil
}

// documentsOf returns the text of documents below a folder.
func documentsOf(ctx context.Context, dir string, paths []string) (string, error) {
	var b strings.Builder
	for _, path := range paths {
		full, err := below(dir, path)
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

// below returns the path of a file in a folder. Links do not lead out of it.
func below(dir, path string) (string, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	full, err := filepath.EvalSymlinks(filepath.Join(dir, path))
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(dir, full); err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("it is not below the folder of the questions")
	}
	return full, nil
}
