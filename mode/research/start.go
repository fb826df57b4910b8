package research

import (
	"cmp"
	"fmt"
	"strings"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/textkit"
)

func (s *state) initialEffort() string {
	if s.opts.Effort == "" && s.opts.WithoutModel {
		return normal
	}
	return cmp.Or(s.opts.Effort, classifyEffort(s.run.Input))
}

// questionPlan returns the plan that needs no model.
func (s *state) questionPlan() plan {
	web, memory := heuristicQueries(s.run.Input)
	p := plan{Terms: keyTerms(s.run.Input), Web: defaultQueries(web, s.run.Input), Memory: defaultQueries(memory, s.run.Input)}
	if itself := taint.SanitizeQuery(textkit.OneLine(s.run.Input)); s.opts.ForceWebSearch && itself != "" {
		p.Web = append([]string{itself}, p.Web...)
	}
	if s.Effort == trivial {
		p.Web, p.Memory = p.Web[:min(1, len(p.Web))], p.Memory[:min(1, len(p.Memory))]
	}
	return p
}

func (s *state) startGathering() {
	s.Step, s.Round = gathering, 1
	s.Planning = !s.opts.WithoutModel && s.Effort != trivial && s.canGather()
	s.adoptPlan(s.questionPlan(), ponder.Plan{Content: questionPlanText, WithoutModel: true})
	if q := taint.SanitizeQuery(textkit.OneLine(s.run.Input)); s.opts.MemoryContext && s.opts.Memory && !s.canSearchPersona() && q != "" {
		s.addLookup(lookupCall{Kind: personaLookup, Query: q})
	}
	s.advance()
}

func defaultQueries(queries []string, question string) []string {
	if len(queries) == 0 {
		return []string{question}
	}
	return queries
}

// adoptPlan enqueues a plan's queries and writes the plan.
func (s *state) adoptPlan(p plan, b ponder.Plan) {
	b.Steps, b.Terms, b.Round, b.Effort = p.Steps, p.Terms, s.Round, s.Effort
	if s.canSearch() {
		b.Memory = s.enqueueQueries(memoryLookup, p.Memory, "")
	}
	if s.opts.Web {
		b.Web = s.enqueueQueries(webLookup, p.Web, "")
	}
	add := []ponder.Body{b}
	for _, step := range p.Steps {
		if q, ok := s.appendQuestion(step, 5, false); ok {
			add = append(add, q)
		}
	}
	label := "Research plan generated"
	if b.WithoutModel {
		label = "Research started"
	}
	content := fmt.Sprintf("Searching with %s.", formatCount(len(b.Memory)+len(b.Web), "query", "queries"))
	if len(b.Steps) > 0 {
		content = fmt.Sprintf("Created a plan of %s with %s.", formatCount(len(b.Steps), "step", "steps"), formatCount(len(b.Memory)+len(b.Web), "query", "queries"))
	}
	add = append(add, ponder.Progress{Content: content, Stage: stagePlanning, Label: label, Total: len(b.Steps), Iteration: s.Counts.Iteration})
	s.Plan = plan{Steps: append(s.Plan.Steps[:len(s.Plan.Steps):len(s.Plan.Steps)], p.Steps...), Terms: append(s.Plan.Terms[:len(s.Plan.Terms):len(s.Plan.Terms)], p.Terms...),
		Web: append(s.Plan.Web[:len(s.Plan.Web):len(s.Plan.Web)], b.Web...), Memory: append(s.Plan.Memory[:len(s.Plan.Memory):len(s.Plan.Memory)], b.Memory...)}
	s.queueWrite("plan", &s.Counts.Plans, add...)
}

func formatCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

const planKey = "planned"

func (s *state) applyPlan(b ponder.CallFinished) {
	if b.Error != "" {
		s.skipPlan("no plan: " + textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault))
		return
	}
	p, err := readPlan(answerText(&b))
	if err != nil {
		if !s.retryAnswer(planKey, s.PlanSince, b, err) {
			s.skipPlan(unreadablePlan)
		}
		return
	}
	s.Planning = false
	made := ponder.Plan{Content: strings.Join(p.Steps, "\n"), Model: b.Model}
	if s.Step == proposing {
		s.proposePlan(p, made)
		return
	}
	s.adoptPlan(p, made)
}

const unreadablePlan = "the plan is not valid"

// skipPlan continues with queries from the question alone.
func (s *state) skipPlan(why string) {
	s.Planning = false
	s.notifyUser(stageNote, "Without a plan", "Continuing with the words of the question: "+why+".")
	if s.Step == proposing {
		s.proposePlan(s.questionPlan(), ponder.Plan{Content: questionPlanText, WithoutModel: true})
	}
}
