package report

import (
	"context"
	"fmt"
	"iter"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
	"ponder/mode/session"
)

type Comparison struct {
	Common comparedStart `json:"common"`
	A      comparedSide  `json:"a"`
	B      comparedSide  `json:"b"`
	Both   comparedTexts `json:"both"` // found by both after the fork

	Opposed [][2]string `json:"opposed"`
}

type comparedStart struct {
	Events   ponder.Seq `json:"events"`
	Thoughts int        `json:"thoughts"`
	Seconds  float64    `json:"elapsed_seconds"`
}

type comparedTexts struct {
	Insights []string `json:"insights"`
	Thoughts []string `json:"thoughts"`
	Explored []string `json:"explored_questions"`
}

type comparedSide struct {
	SessionObject
	ForkedFrom ponder.ThreadID        `json:"forked_from,omitempty"`
	ForkedAt   ponder.Seq             `json:"forked_at,omitempty"`
	Since      comparedSince          `json:"since_they_part"`
	Only       comparedTexts          `json:"only_here"`
	Steering   []session.SteerCommand `json:"steering"`

	atFork, atEnd session.View
}

type comparedSince struct {
	Thoughts int     `json:"thoughts"`
	Seconds  float64 `json:"elapsed_seconds"`
	Calls    int     `json:"calls"`
	Tokens   int     `json:"tokens"`
	USD      float64 `json:"cost_usd"`
}

// Compare compares two sessions of a log. worth calibrates their claims.
func Compare(ctx context.Context, log ponder.Log, worth session.Calibration, a, b ponder.Info) (*Comparison, error) {
	c := &Comparison{}
	var err error
	if c.Common.Events, err = commonEvents(ctx, log, a.ID, b.ID); err != nil {
		return nil, err
	}
	for s, info := range map[*comparedSide]ponder.Info{&c.A: a, &c.B: b} {
		if err := s.readSession(ctx, log, worth, info, c.Common.Events); err != nil {
			return nil, err
		}
	}
	c.Common.Thoughts, c.Common.Seconds = len(c.A.atFork.Thoughts), c.A.atFork.Session.Progress.Elapsed
	var opposed [][2]string
	c.A.Only.Insights, c.B.Only.Insights, c.Both.Insights, opposed = compareTexts(lastInsights(c.A.atEnd), lastInsights(c.B.atEnd))
	c.A.Only.Thoughts, c.B.Only.Thoughts, c.Both.Thoughts, _ = compareTexts(c.A.newThoughts(), c.B.newThoughts())
	c.A.Only.Explored, c.B.Only.Explored, c.Both.Explored, _ = compareTexts(exploredQuestions(c.A.atEnd), exploredQuestions(c.B.atEnd))
	c.Opposed = append([][2]string{}, opposed...)
	return c, nil
}

func commonEvents(ctx context.Context, log ponder.Log, a, b ponder.ThreadID) (ponder.Seq, error) {
	next, stop := iter.Pull2(log.Events(ctx, b, 0))
	defer stop()
	var n ponder.Seq
	for ev, err := range log.Events(ctx, a, 0) {
		if err != nil {
			return n, fmt.Errorf("read %s: %w", a, err)
		}
		other, err, ok := next()
		if err != nil {
			return n, fmt.Errorf("read %s: %w", b, err)
		}
		if !ok || ev.ID == "" || ev.ID != other.ID {
			break
		}
		n = ev.Seq
	}
	return n, nil
}

// readSession reads a session at the fork and at its end.
func (s *comparedSide) readSession(ctx context.Context, log ponder.Log, worth session.Calibration, info ponder.Info, common ponder.Seq) error {
	s.atFork, s.Steering = session.NewView(), []session.SteerCommand{}
	v := session.NewView().Calibrate(worth)
	for ev, err := range log.Events(ctx, info.ID, 0) {
		if err != nil {
			return fmt.Errorf("read %s: %w", info.ID, err)
		}
		if v = v.Apply(ev); ev.Seq == common {
			s.atFork = v
		}
		if b, ok := ev.Body.(ponder.SystemNote); ok && b.From != "" {
			s.ForkedFrom, s.ForkedAt = b.From, b.At
		}
	}
	s.atEnd, s.SessionObject = v, NewSessionObject(info, v, info.Status == ponder.Thinking && !info.Held)
	was, is := s.atFork.Session, v.Session
	s.Since = comparedSince{
		Thoughts: len(v.Thoughts) - len(s.atFork.Thoughts), Seconds: is.Progress.Elapsed - was.Progress.Elapsed,
		Calls: is.Usage.Calls - was.Usage.Calls, Tokens: is.Usage.Total - was.Usage.Total, USD: is.Usage.USD - was.Usage.USD,
	}
	if n := len(s.atFork.Steering); n < len(v.Steering) {
		s.Steering = v.Steering[n:]
	}
	return nil
}

const maxSides = 500

func lastInsights(v session.View) []string {
	if last := LastSynthesis(v); last != nil {
		return oneLines(last.Insights)
	}
	return nil
}

func (s *comparedSide) newThoughts() (list []string) {
	for _, t := range s.atEnd.Thoughts[len(s.atFork.Thoughts):] {
		list = append(list, textkit.OneLine(t.Text))
	}
	return list
}

func exploredQuestions(v session.View) (list []string) {
	for _, q := range v.Questions {
		if q.Explored {
			list = append(list, textkit.OneLine(q.Text))
		}
	}
	return list
}

// compareTexts sorts texts: only in a, only in b, in both by meaning, and contradicting pairs.
func compareTexts(a, b []string) (onlyA, onlyB, both []string, opposed [][2]string) {
	onlyA, onlyB, both = []string{}, []string{}, []string{}
	a, b = a[max(0, len(a)-maxSides):], b[max(0, len(b)-maxSides):]
	as, bs := similarityTexts(a), similarityTexts(b)
	for i, text := range a {
		at, verdict := similarity.Nearest(bs, as[i])
		switch verdict {
		case similarity.Same:
			both = append(both, text)
			continue
		case similarity.Opposite:
			opposed = append(opposed, [2]string{text, b[at]})
		}
		onlyA = append(onlyA, text)
	}
	for i, text := range b {
		if _, verdict := similarity.Nearest(as, bs[i]); verdict != similarity.Same {
			onlyB = append(onlyB, text)
		}
	}
	return onlyA, onlyB, both, opposed
}

func similarityTexts(list []string) []similarity.Text {
	out := make([]similarity.Text, len(list))
	for i, text := range list {
		out[i] = similarity.Parse(text)
	}
	return out
}
