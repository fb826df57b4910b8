package subconscious

import (
	"encoding/json"
	"fmt"
	"maps"
	"ponder/internal/textkit"
	"strings"
	"time"

	"ponder"
)

const (
	tickLimit = 120 * time.Second // thinking time
	lateAfter = 100 * time.Second // after which unfinished roles are left out
	cutWait   = 3 * time.Second   // for the report of a look whose answer was cut
)

const mergeKey = "merge"

func tickMode(o Options) ponder.Mode {
	return threadMode(o, Name, "Run the roles of the subconscious on new observations and merge their findings.", tickLimit,
		func(r ponder.Run, k knowledge) *tickRun { return newTick(o, r, k) })
}

func (t *tickRun) foldedKnowledge() knowledge { return t.Known }

type tickRun struct {
	run ponder.Run
	o   Options
	in  TickInput

	Known knowledge             `json:"known"`
	Base  *knowledge            `json:"base,omitempty"`  // the merge's input, once writing began
	Looks map[string]lookResult `json:"looks,omitempty"` // by role: finished looks
	Stop  string                `json:"stop,omitempty"`  // why the tick ends early

	Done   bool `json:"done,omitempty"` // the merge is written
	Found  int  `json:"found,omitempty"`
	Raised int  `json:"raised,omitempty"`
	Record Tick `json:"record,omitzero"`
}

type lookResult struct {
	Report  Report      `json:"report"`
	Given   int64       `json:"given,omitempty"`  // seq of the newest observation shown
	Failed  string      `json:"failed,omitempty"` // why there is no report
	NoModel bool        `json:"no_one,omitempty"` // no model is available
	Spent   ponder.Cost `json:"spent,omitzero"`
}

func newTick(o Options, r ponder.Run, k knowledge) *tickRun {
	t := &tickRun{run: r, o: o, Known: k}
	_ = json.Unmarshal(r.Options, &t.in) // invalid options count as empty
	return t
}

func (t *tickRun) Apply(ev ponder.Event) ponder.State {
	c := *t
	c.applyOwnWrite(ev)
	c.Known = c.Known.applyEvent(ev, c.o.Roles)
	switch b := ev.Body.(type) {
	case ponder.RunFinished:
		c.applyLook(ev.Run, b)
	case ponder.BudgetSpent:
		c.Stop = b.String()
	case ponder.Steer:
		if b.Do == ponder.AnswerNow {
			c.Stop = "the user ended the wait"
		}
	}
	return &c
}

// applyOwnWrite folds the tick's own writes. It keeps the state from before them, so that a partly written
// merge is completed identically.
func (t *tickRun) applyOwnWrite(ev ponder.Event) {
	part, ok := strings.CutPrefix(ev.Cause, mergeKey+"/")
	if !ok || ev.Run != t.run.ID {
		return
	}
	if t.Base == nil {
		base := t.Known
		t.Base = &base
	}
	switch b := ev.Body.(type) {
	case ponder.Finding:
		t.Found++
	case ponder.Escalation:
		t.Raised++
	case ponder.Subconscious:
		t.Record, _ = decodeTick(b)
		t.Record.Changes = nil
	}
	i, n, _ := strings.Cut(part, ".")
	t.Done = t.Done || i == n
}

func (t *tickRun) applyLook(run ponder.RunID, b ponder.RunFinished) {
	role, ok := strings.CutPrefix(string(run), string(t.run.ID)+"/"+roleKey)
	if !ok || t.Base != nil {
		return
	}
	l := lookResult{Spent: b.Spent}
	switch err := json.Unmarshal([]byte(b.Answer), &l); {
	case b.Status != ponder.Completed:
		l.NoModel = strings.HasPrefix(b.Reason, noAnswer)
		l.Failed = textkit.Line(b.Reason, maxLine)
	case err != nil:
		l.Failed = "its report is invalid"
	}
	l.Spent = b.Spent
	if t.Looks = maps.Clone(t.Looks); t.Looks == nil {
		t.Looks = make(map[string]lookResult)
	}
	t.Looks[role] = l
}

func (t *tickRun) Next(now ponder.Moment) []ponder.Action {
	if t.Done {
		return []ponder.Action{ponder.Finish{Answer: t.buildAnswer(), Reason: t.Stop}}
	}
	base := t.mergeBase()
	steps := planTick(t.o, base, t.run.Started, t.in)
	left := t.lookTimeout() - now.Spent
	late := left <= 0 || t.Stop != "" || t.Base != nil
	if asks := t.spawnLooks(steps); len(asks) > 0 && !late {
		return append(asks, ponder.Wait{Until: now.Wall.Add(left.Round(time.Millisecond) + time.Millisecond)})
	}
	if !hasWork(steps) && !canRaise(t.o, base, t.run.Started) && len(base.dueDeadlines(t.run.Started)) == 0 {
		return []ponder.Action{ponder.Finish{Answer: "Nothing is new.", Reason: t.Stop}}
	}
	return []ponder.Action{ponder.Write{Key: mergeKey, Bodies: t.buildMerge(base, steps)}}
}

func (t *tickRun) mergeBase() knowledge {
	if t.Base != nil {
		return *t.Base
	}
	return t.Known
}

func (t *tickRun) lookTimeout() time.Duration {
	if limit := t.run.Budget.Time; limit > 0 && limit < tickLimit {
		return limit / 6 * 5
	}
	return lateAfter
}

func (t *tickRun) spawnLooks(steps []roleStep) (list []ponder.Action) {
	for _, s := range steps {
		if _, ended := t.Looks[s.role.Name]; ended || s.skip != "" || s.unaided {
			continue
		}
		list = append(list, ponder.Spawn{Key: roleKey + s.role.Name, Mode: RoleMode, Options: s.lookOptions(t.mergeBase().State, t.run.Started, t.lookTimeout()-cutWait)})
	}
	return list
}

func (t *tickRun) buildAnswer() string {
	var looked, out []string
	for _, r := range t.Record.Roles {
		switch {
		case r.Skipped != "":
		case r.Failed != "" && !r.WithoutModel:
			out = append(out, r.Role)
		default:
			looked = append(looked, r.Role)
		}
	}
	text := fmt.Sprintf("Tick %d", t.Record.Number)
	if len(looked) > 0 {
		text += ": " + strings.Join(looked, ", ") + " looked"
	}
	if len(out) > 0 {
		text += "; failed: " + strings.Join(out, ", ")
	}
	text += "; " + formatCount(t.Found, "finding")
	if t.Raised > 0 {
		text += "; " + formatCount(t.Raised, "escalation")
	}
	return text + "."
}

func formatCount(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
