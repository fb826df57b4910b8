package research

import (
	"cmp"
	"fmt"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
	"strings"

	"ponder"
)

func (s *state) begin() {
	s.Step, s.Effort = gathering, cmp.Or(s.opts.Effort, effortOf(s.run.Input))
	if s.opts.Effort == "" && s.opts.WithoutModel {
		s.Effort = normal
	}
	web, memory := queriesOf(s.run.Input)
	p := plan{Terms: termsOf(s.run.Input), Web: orItself(web, s.run.Input), Memory: orItself(memory, s.run.Input)}
	if itself := lookup.Outgoing(textkit.OneLine(s.run.Input)); s.opts.ForceWebSearch && itself != "" {
		p.Web = append([]string{itself}, p.Web...)
	}
	if s.Effort == trivial {
		p.Web, p.Memory = p.Web[:min(1, len(p.Web))], p.Memory[:min(1, len(p.Memory))]
	}
	s.Round = 1
	s.Planning = !s.opts.WithoutModel && s.Effort != trivial && s.gathers()
	s.adopt(p, ponder.Plan{Content: "What the question itself asks for", Unaided: true})
	s.wind()
}

func orItself(queries []string, question string) []string {
	if len(queries) == 0 {
		return []string{question}
	}
	return queries
}

// adopt enqueues a plan's queries and writes the plan.
func (s *state) adopt(p plan, b ponder.Plan) {
	b.Steps, b.Terms, b.Round, b.Effort = p.Steps, p.Terms, s.Round, s.Effort
	if s.searches() {
		b.Memory = s.enqueue(inMemory, p.Memory, "")
	}
	if s.opts.Web {
		b.Web = s.enqueue(onWeb, p.Web, "")
	}
	add := []ponder.Body{b}
	for _, step := range p.Steps {
		if q, ok := s.pose(step, 5, false); ok {
			add = append(add, q)
		}
	}
	label := "Research plan generated"
	if b.Unaided {
		label = "Research begins"
	}
	content := fmt.Sprintf("Looking up %s.", counted(len(b.Memory)+len(b.Web), "query", "queries"))
	if len(b.Steps) > 0 {
		content = fmt.Sprintf("Created a plan of %s, with %s to look up.", counted(len(b.Steps), "step", "steps"), counted(len(b.Memory)+len(b.Web), "query", "queries"))
	}
	add = append(add, ponder.Progress{Content: content, Stage: stagePlanning, Label: label, Total: len(b.Steps), Iteration: s.Counts.Iteration})
	s.Plan = plan{Steps: append(s.Plan.Steps[:len(s.Plan.Steps):len(s.Plan.Steps)], p.Steps...), Terms: append(s.Plan.Terms[:len(s.Plan.Terms):len(s.Plan.Terms)], p.Terms...),
		Web: append(s.Plan.Web[:len(s.Plan.Web):len(s.Plan.Web)], b.Web...), Memory: append(s.Plan.Memory[:len(s.Plan.Memory):len(s.Plan.Memory)], b.Memory...)}
	s.note("plan", &s.Counts.Plans, add...)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

const planKey = "planned"

func (s *state) planned(b ponder.CallFinished) {
	if b.Error != "" {
		s.unplanned("no plan: " + textkit.TruncateBytes(textkit.OneLine(b.Error), maxFault))
		return
	}
	p, err := readPlan(b.Message.Text())
	if err != nil {
		if !s.again(planKey, s.PlanSince, b, err) {
			s.unplanned(unreadable)
		}
		return
	}
	s.Planning = false
	s.adopt(p, ponder.Plan{Content: strings.Join(p.Steps, "\n"), Model: b.Model})
}

const unreadable = "the plan could not be read"

// unplanned continues with queries from the question alone.
func (s *state) unplanned(why string) {
	s.Planning = false
	s.tell(stageNote, "Without a plan", "It goes on with the words of the question: "+why+".")
}
