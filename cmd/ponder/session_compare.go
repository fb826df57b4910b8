package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/textkit/similarity"
	"ponder/mode/session"
)

func (a *cli) sessionCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare A B",
		Short: "Show in what two sessions differ",
		Long: `Show where two sessions part, and in what they differ: the answer, how sure it is, what
only one of them found and explored, what they were told, time and cost. They may
be forks of each other or not. What says the same in other words counts as the same, as
far as that can be told without a model.`,
		Example: "ponder session compare 01K7A 01K7B\nponder session compare 01K7A last --json",
		Args:    take(2, 2, "two ids"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionCompare(cmd.Context(), args[0], args[1])
		},
	}
}

func (a *cli) sessionCompare(ctx context.Context, first, second string) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	c := comparison{}
	var infos [2]ponder.Info
	for i, name := range []string{first, second} {
		if infos[i], err = a.FindThread(ctx, store, name, ponder.KindSession); err != nil {
			return err
		}
		if infos[i].Kind != ponder.KindSession {
			return usagef("%s is a %s: only sessions can be compared", infos[i].ID, infos[i].Kind)
		}
	}
	if infos[0].ID == infos[1].ID {
		return usagef("both are %s: name two sessions", infos[0].ID)
	}
	if c.Common.Events, err = inCommon(ctx, store, infos[0].ID, infos[1].ID); err != nil {
		return err
	}
	for i, s := range []*side{&c.A, &c.B} {
		if *s, err = a.side(ctx, store, infos[i], c.Common.Events); err != nil {
			return err
		}
	}
	c.Common.Thoughts, c.Common.Seconds = len(c.A.before.Thoughts), c.A.before.Session.Progress.Elapsed
	c.compare()
	if a.flags.json {
		return a.object(c)
	}
	a.printf("%s", c.text(a.width()))
	return nil
}

// A comparison is in what two sessions differ.
type comparison struct {
	Common common `json:"common"`
	A      side   `json:"a"`
	B      side   `json:"b"`
	Both   found  `json:"both"` // what both found after they had parted

	// Opposed are pairs of insights, of A and of B, that cannot both be right.
	Opposed [][2]string `json:"opposed"`
}

// common is what two sessions begin with: the same events.
type common struct {
	Events   ponder.Seq `json:"events"`
	Thoughts int        `json:"thoughts"`
	Seconds  float64    `json:"elapsed_seconds"`
}

// found is what was found in a session.
type found struct {
	Insights []string `json:"insights"`
	Thoughts []string `json:"thoughts"`
	Explored []string `json:"explored_questions"`
}

// A side is one of two sessions that are compared.
type side struct {
	sessionObject
	ForkedFrom ponder.ThreadID    `json:"forked_from,omitempty"`
	ForkedAt   ponder.Seq         `json:"forked_at,omitempty"`
	Since      since              `json:"since_they_part"`
	Only       found              `json:"only_here"`
	Steering   []session.Steering `json:"steering"` // since they part

	before, after session.View
}

// since is what a session has done since it parted from another.
type since struct {
	Thoughts int     `json:"thoughts"`
	Seconds  float64 `json:"elapsed_seconds"`
	Calls    int     `json:"calls"`
	Tokens   int     `json:"tokens"`
	USD      float64 `json:"cost_usd"`
}

// inCommon returns how many events two threads begin with that are the same.
func inCommon(ctx context.Context, log ponder.Log, a, b ponder.ThreadID) (ponder.Seq, error) {
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

// side reads a session, as it was when it parted from the other and as it is.
func (a *cli) side(ctx context.Context, store ponder.Store, info ponder.Info, common ponder.Seq) (side, error) {
	s := side{before: session.NewView(), Steering: []session.Steering{}}
	v := session.NewView().Calibrate(a.Calibration(ctx, store))
	for ev, err := range store.Events(ctx, info.ID, 0) {
		if err != nil {
			return s, fmt.Errorf("read %s: %w", info.ID, err)
		}
		if v = v.Apply(ev); ev.Seq == common {
			s.before = v
		}
		if b, ok := ev.Body.(ponder.SystemNote); ok && b.From != "" {
			s.ForkedFrom, s.ForkedAt = b.From, b.At
		}
	}
	s.after, s.sessionObject = v, objectOf(info, v)
	was, is := s.before.Session, v.Session
	s.Since = since{
		Thoughts: len(v.Thoughts) - len(s.before.Thoughts), Seconds: is.Progress.Elapsed - was.Progress.Elapsed,
		Calls: is.Usage.Calls - was.Usage.Calls, Tokens: is.Usage.Total - was.Usage.Total, USD: is.Usage.USD - was.Usage.USD,
	}
	if n := len(s.before.Steering); n < len(v.Steering) {
		s.Steering = v.Steering[n:]
	}
	return s, nil
}

// maxCompared is how many texts of a kind, the newest, are compared. It is the
// square of it that takes time.
const maxCompared = 500

// compare finds out what only one of them has.
func (c *comparison) compare() {
	var opposed [][2]string
	c.A.Only.Insights, c.B.Only.Insights, c.Both.Insights, opposed = differ(insights(c.A.after), insights(c.B.after))
	c.A.Only.Thoughts, c.B.Only.Thoughts, c.Both.Thoughts, _ = differ(c.A.thoughts(), c.B.thoughts())
	c.A.Only.Explored, c.B.Only.Explored, c.Both.Explored, _ = differ(explored(c.A.after), explored(c.B.after))
	c.Opposed = append([][2]string{}, opposed...)
}

// insights returns those of the newest synthesis.
func insights(v session.View) []string {
	if last := lastSynthesis(v); last != nil {
		return lines(last.Insights)
	}
	return nil
}

// thoughts returns what was thought since they part.
func (s *side) thoughts() (list []string) {
	for _, t := range s.after.Thoughts[len(s.before.Thoughts):] {
		list = append(list, oneLine(t.Text))
	}
	return list
}

func explored(v session.View) (list []string) {
	for _, q := range v.Questions {
		if q.Explored {
			list = append(list, oneLine(q.Text))
		}
	}
	return list
}

// differ sorts texts into those that only a has, those that only b has, those of a
// that b has as well, in these or other words, and pairs that say opposite things.
func differ(a, b []string) (onlyA, onlyB, both []string, opposed [][2]string) {
	onlyA, onlyB, both = []string{}, []string{}, []string{}
	a, b = a[max(0, len(a)-maxCompared):], b[max(0, len(b)-maxCompared):]
	as, bs := texts(a), texts(b)
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

func texts(list []string) []similarity.Text {
	out := make([]similarity.Text, len(list))
	for i, text := range list {
		out[i] = similarity.Of(text)
	}
	return out
}
