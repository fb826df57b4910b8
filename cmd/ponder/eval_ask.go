package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/eval"
	"ponder/llm"
)

// mostFailures is how often a variant may fail before its first answer.
const mostFailures = 3

// beside returns where answers are kept: questions.eval.db for questions.jsonl.
func (p *plan) beside() string {
	return strings.TrimSuffix(p.file, filepath.Ext(p.file)) + ".eval.db"
}

// title returns how the titles of all threads of an evaluation begin.
func (p *plan) title() string { return "eval " + clip(oneLine(filepath.Base(p.file)), 40) + ": " }

// id returns the thread of an answer.
func (p *plan) id(q eval.Question, v *variant, sample int) ponder.ThreadID {
	return idOf("answer", p.asked[q.ID], v.print, fmt.Sprint(sample))
}

// find takes in the answers and verdicts to a question that are there already.
func (e *evaluation) find(ctx context.Context, q eval.Question, sample int) error {
	for i := range e.plan.variants {
		v := &e.plan.variants[i]
		id := e.plan.id(q, v, sample)
		r, err := e.record(ctx, id)
		if err != nil {
			return err
		}
		if r.ended && r.failed() == "" {
			if err := e.keep(q, v, sample, id, r); err != nil {
				return err
			}
		}
	}
	for i := range e.plan.variants[1:] {
		if err := e.compare(ctx, q, &e.plan.variants[i+1], sample, false); err != nil {
			return err
		}
	}
	return nil
}

// unit has a question answered by all variants, and the answers judged. Nothing is
// begun once the budget is spent.
func (e *evaluation) unit(ctx context.Context, q eval.Question, sample int) error {
	for i := range e.plan.variants {
		if err := e.answer(ctx, q, &e.plan.variants[i], sample); err != nil {
			return err
		}
	}
	for i := range e.plan.variants[1:] {
		if err := e.compare(ctx, q, &e.plan.variants[i+1], sample, true); err != nil {
			return err
		}
	}
	return nil
}

// answer has a question answered, unless it is.
func (e *evaluation) answer(ctx context.Context, q eval.Question, v *variant, sample int) error {
	if _, there := e.at(q, v, sample); there || e.purse.isEmpty() {
		return nil
	}
	id := e.plan.id(q, v, sample)
	r, err := e.record(ctx, id)
	if err != nil {
		return err
	}
	if r.ended { // in failure; it is tried once more
		if err := e.store.Remove(ctx, id); err != nil {
			return fmt.Errorf("forget %s: %w", id, err)
		}
		r = record{}
	}
	asked := e.plan.asked[q.ID]
	if !r.there {
		title := e.plan.title() + clip(oneLine(q.ID), 40) + " · " + v.name + " · " + fmt.Sprint(sample)
		if err := e.start(ctx, id, v, asked, title); err != nil {
			return err
		}
	}
	later := ""
	if v.kind == deepKind {
		later = asked
	}
	if r, err = e.work(ctx, v.mind, id, r, later); err != nil {
		return err
	}
	return e.keep(q, v, sample, id, r)
}

func (e *evaluation) at(q eval.Question, v *variant, sample int) (eval.Answer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, ok := e.answers[cell{q.ID, v.name, sample}]
	return a, ok
}

// keep scores an answer and keeps it. It returns an error if a variant does nothing
// but fail.
func (e *evaluation) keep(q eval.Question, v *variant, sample int, id ponder.ThreadID, r record) error {
	a := eval.Answer{Question: q.ID, Variant: v.name, Sample: sample, Thread: string(id), Failed: r.failed(), Thoughts: r.thoughts, Mused: r.reflections, Cost: r.cost}
	if a.Failed == "" {
		a.Text = r.fin.Answer
		a.Words = len(strings.Fields(a.Text))
		if q.Scored() {
			right, missed := q.Right(a.Text)
			a.Right, a.Missed = &right, missed
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[cell{q.ID, v.name, sample}] = a
	switch n := e.failures[v.name]; {
	case a.Failed == "":
		e.failures[v.name] = -1
	case n >= 0:
		e.failures[v.name] = n + 1
	}
	if e.failures[v.name] >= mostFailures {
		return fmt.Errorf("%s fails from the start: %s", v.name, a.Failed)
	}
	e.progress()
	return e.line("answer", a)
}

// line prints a result as it comes, if that is wanted. The caller holds the lock.
func (e *evaluation) line(kind string, v any) error {
	if !e.flags.json {
		return nil
	}
	switch v := v.(type) {
	case eval.Answer:
		return e.object(struct {
			Type string `json:"type"`
			eval.Answer
		}{kind, v})
	case eval.Verdict:
		return e.object(struct {
			Type string `json:"type"`
			eval.Verdict
		}{kind, v})
	}
	return nil
}

// compare has the answer of a variant judged beside that of the baseline, in both
// orders, unless it is; or, if nobody is to be asked, sees whether it is.
func (e *evaluation) compare(ctx context.Context, q eval.Question, v *variant, sample int, anew bool) error {
	base := &e.plan.variants[0]
	e.mu.Lock()
	_, there := e.verdicts[cell{q.ID, v.name, sample}]
	e.mu.Unlock()
	if there {
		return nil
	}
	one, has := e.at(q, base, sample)
	other, too := e.at(q, v, sample)
	if e.judge == nil || !has || !too || one.Failed != "" || other.Failed != "" {
		return nil
	}
	verdict := eval.Verdict{Question: q.ID, Variant: v.name, Against: base.name, Sample: sample}
	if strings.TrimSpace(one.Text) == strings.TrimSpace(other.Text) {
		same := eval.Judgement{Why: "They are the same.", Better: eval.Tie}
		verdict.Straight, verdict.Swapped, verdict.Consistent = same, same, true
		return e.keepVerdict(verdict)
	}
	var err error
	var judged [2]bool
	if verdict.Straight, judged[0], err = e.ask(ctx, &verdict, q, one.Text, other.Text, "straight", anew); err != nil {
		return err
	}
	if verdict.Swapped, judged[1], err = e.ask(ctx, &verdict, q, other.Text, one.Text, "swapped", anew); err != nil {
		return err
	}
	if !judged[0] || !judged[1] {
		return nil
	}
	verdict.Outcome, verdict.Consistent = eval.Settle(verdict.Straight.Better, verdict.Swapped.Better)
	return e.keepVerdict(verdict)
}

func (e *evaluation) keepVerdict(v eval.Verdict) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.verdicts[cell{v.Question, v.Variant, v.Sample}] = v
	e.progress()
	return e.line("verdict", v)
}

// ask asks the judge about two answers, unless it has said. It reports false if it
// does not say, or the budget is spent.
func (e *evaluation) ask(ctx context.Context, v *eval.Verdict, q eval.Question, first, second, order string, anew bool) (j eval.Judgement, said bool, err error) {
	req := eval.JudgeRequest(e.plan.rubric, q, e.plan.asked[q.ID], first, second)
	id := idOf("verdict", e.plan.judge, stringOf(req), v.Variant, fmt.Sprint(v.Sample), order)
	r, err := e.record(ctx, id)
	if err != nil {
		return j, false, err
	}
	if !r.ended || r.failed() != "" {
		if !anew || e.purse.isEmpty() {
			return j, false, nil
		}
		if r, err = e.judgement(ctx, id, r, req, e.plan.title()+clip(oneLine(q.ID), 40)+" · "+v.Variant+" · "+fmt.Sprint(v.Sample)+" · judged "+order); err != nil {
			return j, false, err
		}
	}
	v.Cost = v.Cost.Add(r.cost)
	if r.failed() != "" {
		e.note("no verdict on %s of %s: %s", v.Variant, clip(oneLine(q.ID), 40), r.failed())
		return j, false, nil
	}
	j, err = eval.ReadJudgement(r.fin.Answer)
	return j, err == nil, err
}

// judgement has the judge say it.
func (e *evaluation) judgement(ctx context.Context, id ponder.ThreadID, r record, req llm.Request, title string) (record, error) {
	if r.ended { // in failure; it is tried once more
		if err := e.store.Remove(ctx, id); err != nil {
			return r, fmt.Errorf("forget %s: %w", id, err)
		}
		r = record{}
	}
	if !r.there {
		thread := ponder.Thread{ID: id, Kind: ponder.KindConversation, Title: title, Owner: app.LocalOwner, Model: e.plan.judge}
		start := ponder.RunStarted{Input: "Which answer is better?", Mode: judgeMode, Version: 1, Options: []byte(stringOf(req))}
		if err := e.store.Create(ctx, thread, ponder.Event{Run: ponder.RunID(ponder.NewID("run")), Body: start}); err != nil {
			return r, fmt.Errorf("begin to judge: %w", err)
		}
	}
	return e.work(ctx, e.judge, id, r, "")
}
