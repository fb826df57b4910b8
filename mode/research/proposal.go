package research

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/steerstate"
)

// proposing is the step in which a plan is made for the user or waits for approval.
const proposing = "propose"

// PlanWaits is the reason of a pause for the approval of a plan.
const PlanWaits = "the plan waits for approval"

// Limits of a plan from a user.
const (
	MaxPlanQueries = 20 // each, of the web and the memory
	MaxPlanSteps   = 20
	maxPlanText    = maxItem // bytes
)

// CheckPlan reports why research could not run exactly the plan p.
func CheckPlan(p ponder.Plan, web, memory bool) error {
	for _, list := range []struct {
		name  string
		texts []string
		most  int
		use   bool
	}{{"web queries", p.Web, MaxPlanQueries, web}, {"memory queries", p.Memory, MaxPlanQueries, memory}, {"questions", p.Steps, MaxPlanSteps, true}, {"terms", p.Terms, MaxPlanSteps, true}} {
		switch i := slices.IndexFunc(list.texts, isInvalidPlanText); {
		case !list.use && len(list.texts) > 0:
			return fmt.Errorf("the plan has %s, but this research does not search there: remove them", list.name)
		case len(list.texts) > list.most:
			return fmt.Errorf("the plan has %d %s; the limit is %d", len(list.texts), list.name, list.most)
		case i >= 0:
			return fmt.Errorf("the plan has an invalid text in the %s: %q: use 1 to %d bytes with letters or digits", list.name, cleanLabel(list.texts[i]), maxPlanText)
		}
	}
	if len(p.Web)+len(p.Memory) == 0 {
		return errors.New("the plan has no queries: add one, or cancel the research")
	}
	return nil
}

func isInvalidPlanText(text string) bool {
	return len(text) > maxPlanText || !hasText(text) || !utf8.ValidString(text)
}

// startResearch starts with the given plan, with a plan for approval, or at once.
func (s *state) startResearch() {
	s.Effort = s.initialEffort()
	switch p := s.opts.Plan; {
	case p != nil:
		if err := CheckPlan(*p, s.opts.Web, s.canSearch()); err != nil {
			s.failRun(err.Error())
			return
		}
		s.runPlan(planOf(*p))
		s.advance()
	case s.opts.PlanFirst && s.canGather():
		s.startProposal()
	default:
		s.startGathering()
	}
}

func (s *state) startProposal() {
	s.Step, s.Planning = proposing, !s.opts.WithoutModel
	if !s.Planning {
		s.proposePlan(s.questionPlan(), ponder.Plan{Content: questionPlanText, WithoutModel: true})
		return
	}
	s.queueWrite("plan", &s.Counts.Plans, ponder.Progress{Content: "Making a plan for your approval.", Stage: stagePlanning, Label: "Planning"})
}

const questionPlanText = "Queries from the question alone"

// planLimit is the time limit of the call for a plan. Only a plan for approval is worth a wait.
func (s *state) planLimit() time.Duration {
	if s.Step != proposing {
		return s.askLimit()
	}
	if limit := s.timeLimit(); limit > 0 {
		return min(limit/2, writeTimeout)
	}
	return writeTimeout
}

// proposePlan writes a plan for approval and pauses the run.
func (s *state) proposePlan(p plan, b ponder.Plan) {
	p = s.searchablePlan(p)
	for _, q := range s.Questions {
		if q.User {
			p = s.withQuestion(p, q.Text)
		}
	}
	s.Planning, s.Proposal = false, &p
	s.queueWrite("plan", &s.Counts.Plans, s.proposalBody(b), ponder.RunPaused{Reason: PlanWaits})
}

// searchablePlan returns p with the queries of searched places only, and with those of the question if
// none is left.
func (s *state) searchablePlan(p plan) plan {
	limit := func(p plan) plan {
		if !s.opts.Web {
			p.Web = nil
		}
		if !s.canSearch() {
			p.Memory = nil
		}
		return p
	}
	if p = limit(p); len(p.Web)+len(p.Memory) == 0 {
		own := limit(s.questionPlan())
		p.Web, p.Memory = own.Web, own.Memory
	}
	return p
}

// withQuestion returns p with a question of the user and queries for it.
func (s *state) withQuestion(p plan, text string) plan {
	web, memory := heuristicQueries(text)
	add := func(list, more []string, most int) []string {
		for _, one := range more {
			if len(list) < most && !isInvalidPlanText(one) && !isRepeated(list, one) {
				list = append(list[:len(list):len(list)], one)
			}
		}
		return list
	}
	p.Steps = add(p.Steps, []string{text}, MaxPlanSteps)
	if s.opts.Web {
		p.Web = add(p.Web, defaultQueries(web, text), MaxPlanQueries)
	}
	if s.canSearch() {
		p.Memory = add(p.Memory, defaultQueries(memory, text), MaxPlanQueries)
	}
	return p
}

func (s *state) proposalBody(b ponder.Plan) ponder.Plan {
	p := s.Proposal
	b.Steps, b.Terms, b.Web, b.Memory, b.Effort, b.Proposed = p.Steps, p.Terms, p.Web, p.Memory, s.Effort, true
	return b
}

// proposeQuestion adds a question of the user to the waiting plan.
func (s *state) proposeQuestion(q question) {
	if s.Proposal == nil {
		return // the plan will have it
	}
	p := s.withQuestion(*s.Proposal, q.Text)
	s.Proposal = &p
	s.queueWrite("plan", &s.Counts.Plans, s.proposalBody(ponder.Plan{Content: "The plan with your question"}))
}

// applyPlanEdit replaces the waiting plan by that of a command, or refuses.
func (s *state) applyPlanEdit(id string, args json.RawMessage) {
	r := s.setPlan(args)
	ack := ponder.Progress{Content: r.Text, Stage: ponder.StageSteered, Label: string(ponder.SetPlan), Ref: id, Refused: r.Refused}
	s.queueWrite("steered", &s.Counts.Steered, append([]ponder.Body{ack}, r.Add...)...)
}

func (s *state) setPlan(args json.RawMessage) steerstate.Result {
	if s.Proposal == nil || s.Step != proposing {
		return steerstate.Refuse("no plan waits for approval")
	}
	var b ponder.Plan
	if json.Unmarshal(args, &b) != nil {
		return steerstate.Refuse("invalid arguments")
	}
	if err := CheckPlan(b, s.opts.Web, s.canSearch()); err != nil {
		return steerstate.Refuse("%v", err)
	}
	p := planOf(b)
	s.Proposal = &p
	r := steerstate.Done("the plan is changed")
	r.Add = []ponder.Body{s.proposalBody(ponder.Plan{Content: "The plan of the user"})}
	return r
}

func planOf(b ponder.Plan) plan {
	clean := func(list []string) (out []string) {
		for _, text := range list {
			out = append(out, strings.TrimSpace(textkit.OneLine(text)))
		}
		return out
	}
	return plan{Steps: clean(b.Steps), Terms: clean(b.Terms), Web: clean(b.Web), Memory: clean(b.Memory)}
}

// isPlanPause reports whether ev is the pause of the run for the approval of its plan.
func isPlanPause(ev ponder.Event) bool {
	b, ok := ev.Body.(ponder.RunPaused)
	return ok && b.Reason == PlanWaits && strings.HasPrefix(ev.Cause, "plan-")
}

// approvePlan runs the waiting plan after a resumption, if the user could see it.
func (s *state) approvePlan() {
	if s.Step != proposing || !s.Offered || s.Proposal == nil {
		return
	}
	s.runPlan(*s.Proposal)
}

// runPlan searches exactly the queries of p.
func (s *state) runPlan(p plan) {
	s.Step, s.Proposal, s.Offered, s.Approved = gathering, nil, false, true
	s.nextRound()
	s.adoptPlan(p, ponder.Plan{Content: "The approved plan"})
}
