package eval

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/textkit"
	"ponder/llm"
)

// maxFailures is the number of failures before a strategy's first answer that ends the
// evaluation.
const maxFailures = 3

func (p *Plan) databaseFile() string {
	return strings.TrimSuffix(p.File, filepath.Ext(p.File)) + ".eval.db"
}

func (p *Plan) titlePrefix() string {
	return "eval " + textkit.Truncate(textkit.OneLine(filepath.Base(p.File)), 40) + ": "
}

func (p *Plan) answerID(q Question, v *Strategy, sample int) ponder.ThreadID {
	return threadID("answer", p.prompts[q.ID], v.fingerprint, fmt.Sprint(sample))
}

func (e *Runner) loadAnswers(ctx context.Context, q Question, sample int) error {
	for i := range e.Plan.Strategies {
		v := &e.Plan.Strategies[i]
		id := e.Plan.answerID(q, v, sample)
		r, err := e.answerRecord(ctx, id)
		if err != nil {
			return err
		}
		if r.ended && r.failureText() == "" {
			if err := e.recordAnswer(q, v, sample, id, r); err != nil {
				return err
			}
		}
	}
	for i := range e.Plan.Strategies[1:] {
		if err := e.judgePair(ctx, q, &e.Plan.Strategies[i+1], sample, false); err != nil {
			return err
		}
	}
	return nil
}

// runUnit lets all variants answer a question and the judge compare them. It starts nothing after
// the budget is spent.
func (e *Runner) runUnit(ctx context.Context, q Question, sample int) error {
	for i := range e.Plan.Strategies {
		if err := e.runAnswer(ctx, q, &e.Plan.Strategies[i], sample); err != nil {
			return err
		}
	}
	for i := range e.Plan.Strategies[1:] {
		if err := e.judgePair(ctx, q, &e.Plan.Strategies[i+1], sample, true); err != nil {
			return err
		}
	}
	return nil
}

func (e *Runner) runAnswer(ctx context.Context, q Question, v *Strategy, sample int) error {
	if _, there := e.findAnswer(q, v, sample); there || e.budget.Err() != nil {
		return nil //nolint:nilerr // the evaluation reports that its budget is spent
	}
	id := e.Plan.answerID(q, v, sample)
	r, err := e.answerRecord(ctx, id)
	if err != nil {
		return err
	}
	if r.ended { // it failed; try once more
		if err := e.store.Remove(ctx, id); err != nil {
			return fmt.Errorf("remove %s: %w", id, err)
		}
		r = answerRecord{}
	}
	asked := e.Plan.prompts[q.ID]
	if !r.exists {
		title := e.Plan.titlePrefix() + textkit.Truncate(textkit.OneLine(q.ID), 40) + " · " + v.Name + " · " + fmt.Sprint(sample)
		if err := e.startThread(ctx, id, v, asked, title); err != nil {
			return err
		}
	}
	later := ""
	if v.Kind == KindDeep {
		later = asked
	}
	if r, err = e.finishAnswer(ctx, v.engine, id, r, later); err != nil {
		return err
	}
	return e.recordAnswer(q, v, sample, id, r)
}

func (e *Runner) findAnswer(q Question, v *Strategy, sample int) (Answer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, ok := e.answers[cell{q.ID, v.Name, sample}]
	return a, ok
}

// recordAnswer scores and stores an answer. It returns an error if a strategy only fails.
func (e *Runner) recordAnswer(q Question, v *Strategy, sample int, id ponder.ThreadID, r answerRecord) error {
	a := Answer{Question: q.ID, Variant: v.Name, Sample: sample, Thread: string(id), Failed: r.failureText(), Thoughts: r.thoughts, Reflections: r.reflections, Cost: r.cost}
	if a.Failed == "" {
		a.Text = r.finished.Answer
		a.Words = len(strings.Fields(a.Text))
		if q.Scored() {
			right, missed := q.Right(a.Text)
			a.Right, a.Missed = &right, missed
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[cell{q.ID, v.Name, sample}] = a
	switch n := e.failures[v.Name]; {
	case a.Failed == "":
		e.failures[v.Name] = -1
	case n >= 0:
		e.failures[v.Name] = n + 1
	}
	if e.failures[v.Name] >= maxFailures {
		return fmt.Errorf("%s fails on the first answers: %s", v.Name, a.Failed)
	}
	e.reportProgress()
	return e.Plan.OnAnswer(a)
}

// judgePair lets the judge compare an answer with the baseline's in both orders, unless it has.
// If ask is false, it only loads verdicts.
func (e *Runner) judgePair(ctx context.Context, q Question, v *Strategy, sample int, ask bool) error {
	base := &e.Plan.Strategies[0]
	e.mu.Lock()
	_, there := e.verdicts[cell{q.ID, v.Name, sample}]
	e.mu.Unlock()
	if there {
		return nil
	}
	one, has := e.findAnswer(q, base, sample)
	other, too := e.findAnswer(q, v, sample)
	if e.judge == nil || !has || !too || one.Failed != "" || other.Failed != "" {
		return nil
	}
	verdict := Verdict{Question: q.ID, Variant: v.Name, Against: base.Name, Sample: sample}
	if strings.TrimSpace(one.Text) == strings.TrimSpace(other.Text) {
		same := Judgement{Why: "The answers are equal.", Better: Tie}
		verdict.Straight, verdict.Swapped, verdict.Consistent = same, same, true
		return e.recordVerdict(verdict)
	}
	var err error
	var judged [2]bool
	if verdict.Straight, judged[0], err = e.askJudge(ctx, &verdict, q, one.Text, other.Text, "straight", ask); err != nil {
		return err
	}
	if verdict.Swapped, judged[1], err = e.askJudge(ctx, &verdict, q, other.Text, one.Text, "swapped", ask); err != nil {
		return err
	}
	if !judged[0] || !judged[1] {
		return nil
	}
	verdict.Outcome, verdict.Consistent = Settle(verdict.Straight.Better, verdict.Swapped.Better)
	return e.recordVerdict(verdict)
}

func (e *Runner) recordVerdict(v Verdict) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verdicts[cell{v.Question, v.Variant, v.Sample}] = v
	e.reportProgress()
	return e.Plan.OnVerdict(v)
}

func (e *Runner) askJudge(ctx context.Context, v *Verdict, q Question, first, second, order string, ask bool) (j Judgement, said bool, err error) {
	req := JudgeRequest(e.Plan.Rubric, q, e.Plan.prompts[q.ID], first, second)
	id := threadID("verdict", e.Plan.Judge, encodeJSON(req), v.Variant, fmt.Sprint(v.Sample), order)
	r, err := e.answerRecord(ctx, id)
	if err != nil {
		return j, false, err
	}
	if !r.ended || r.failureText() != "" {
		if !ask || e.budget.Err() != nil {
			return j, false, nil //nolint:nilerr // the evaluation reports that its budget is spent
		}
		if r, err = e.runJudge(ctx, id, r, req, e.Plan.titlePrefix()+textkit.Truncate(textkit.OneLine(q.ID), 40)+" · "+v.Variant+" · "+fmt.Sprint(v.Sample)+" · judged "+order); err != nil {
			return j, false, err
		}
	}
	v.Cost = v.Cost.Add(r.cost)
	if r.failureText() != "" {
		e.app.Notef("no verdict on %s of %s: %s", v.Variant, textkit.Truncate(textkit.OneLine(q.ID), 40), r.failureText())
		return j, false, nil
	}
	j, err = ReadJudgement(r.finished.Answer)
	return j, err == nil, err
}

func (e *Runner) runJudge(ctx context.Context, id ponder.ThreadID, r answerRecord, req llm.Request, title string) (answerRecord, error) {
	if r.ended {
		if err := e.store.Remove(ctx, id); err != nil {
			return r, fmt.Errorf("remove %s: %w", id, err)
		}
		r = answerRecord{}
	}
	if !r.exists {
		thread := ponder.Thread{ID: id, Kind: ponder.KindConversation, Title: title, Owner: app.LocalOwner, Model: e.Plan.Judge}
		start := ponder.RunStarted{Input: "Which answer is better?", Mode: judgeMode, Version: 1, Options: []byte(encodeJSON(req))}
		if err := e.store.Create(ctx, thread, ponder.Event{Run: ponder.RunID(ponder.NewID("run")), Body: start}); err != nil {
			return r, fmt.Errorf("start the judge: %w", err)
		}
	}
	return e.finishAnswer(ctx, e.judge, id, r, "")
}
