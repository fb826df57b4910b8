package subconscious

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"ponder/llm"
	"ponder/mode/internal/text"
)

// What every prompt has: the frame is the same at each tick of a role, what is asked at a
// tick comes after it, and what changes most comes last.
var (
	//go:embed prompts/frame.md
	frameText string
	//go:embed prompts/tick.md
	tickText string
	//go:embed prompts/pressure.md
	pressureText string

	frameTemplate = template.Must(template.New("frame").Parse(frameText))
	tickTemplate  = template.Must(template.New("tick").Parse(tickText))
	wishes        = readWishes(pressureText)
)

// MaxPrompt is about how many tokens a prompt may have, with the schema of the answer.
const MaxPrompt = 3500

// answerTokens is how much a role may write.
const answerTokens = 700

// Bounds of the parts of a prompt, in bytes. They leave room for [maxShownSize].
const (
	maxMind      = 2200
	maxMindLine  = 150
	maxSettling  = 400
	maxHad       = 400
	maxTold      = 400
	maxNotes     = 400
	maxLast      = 500
	maxPartLine  = 160
	maxOthers    = 200
	topicsShown  = 10
	settledShown = 12
	toldShown    = 5
)

// A tick is what [tickText] is filled with.
type tick struct {
	Settled   []string
	Topics    []string
	Wonders   bool // the role is to leave its topics
	Escalated []string
	Journal   []string
	Findings  []string
	Mind      []string
	Others    string
	Hint      string
	Now       string
	Pressure  int
	Wish      string
	Seen      []string
	Left      string
}

// Prompt returns what a role is asked about what it has not seen yet, the oldest first.
// It has at most about [MaxPrompt] tokens: of too many observations the older ones and
// those of low level are left out, and counted.
func Prompt(role Role, s State, seen []Seen, now time.Time) llm.Request {
	s = s.At(now)
	return llm.Request{
		System:   system(role),
		Messages: []llm.Message{llm.Say(llm.User, fill(tickTemplate, prompted(role, s, seen, now)))},
		Schema:   answerSchema, MaxTokens: answerTokens, Background: true,
	}
}

// Size returns about how many tokens a request is.
func Size(req llm.Request) int { return new(llm.Estimator).Tokens("", req.Size()) }

// Describe returns a request as text, for those who want to see what would be asked.
func Describe(req llm.Request) string {
	var b strings.Builder
	b.WriteString("# System\n\n" + strings.TrimSpace(req.System) + "\n")
	for _, m := range req.Messages {
		b.WriteString("\n# " + strings.ToUpper(string(m.Role[:1])) + string(m.Role[1:]) + "\n\n" + strings.TrimSpace(m.Text()) + "\n")
	}
	return b.String()
}

// system returns what a role is told at each tick.
func system(role Role) string {
	return fill(frameTemplate, struct{ Name, Prompt, Types string }{
		role.Name, strings.TrimSpace(text.Clip(role.Prompt, maxRolePrompt)), oneOf(role.types()),
	})
}

// fill returns a template with data, which are of types that it is made for.
func fill(t *template.Template, data any) string {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		panic(fmt.Sprintf("subconscious: prompt %s: %v", t.Name(), err))
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// oneOf returns "a, b or c".
func oneOf(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// prompted returns what a role is told at one tick.
func prompted(role Role, s State, seen []Seen, now time.Time) tick {
	rs := s.ThreadState[role.Name]
	t := tick{
		Settled: s.settledLines(), Topics: s.topicLines(role.Name), Wonders: role.Category == Hunches,
		Escalated: s.escalatedLines(now), Mind: s.mindLines(now), Others: strings.Join(others(role.Name, s), ", "),
		Journal:  bullets(s.Aside.Journal[role.Name], maxNotes),
		Findings: bullets(rs.LastFindings, maxLast),
		Hint:     quoted(rs.FocusHint, maxPartLine), Now: clock(now),
		Pressure: within(rs.NoveltyPressure, 0, MaxPressure), Wish: wish(rs.NoveltyPressure),
	}
	shown, left := label(seen)
	for _, l := range shown {
		t.Seen = append(t.Seen, l.frame)
	}
	t.Left = leftOut(left)
	return t
}

// clock returns a time for people: with the weekday, and as it is where they are.
func clock(now time.Time) string {
	c := stamp(now) + ", " + now.UTC().Weekday().String()
	if _, offset := now.Zone(); offset != 0 {
		c += " (for the person: " + now.Format("Monday 15:04") + ")"
	}
	return c
}

// mindLines lists the entries, the strongest of each list first.
func (s State) mindLines(now time.Time) (list []string) {
	size := 0
	for _, c := range categories {
		entries := slices.Clone(*s.list(c))
		slices.SortStableFunc(entries, func(a, b Entry) int { return weaker(b, a) })
		for i, e := range entries {
			line := s.mindLine(e, now)
			if size += len(line); size > maxMind {
				return append(list, "(some weaker entries are left out)")
			}
			if i == 0 {
				list = append(list, strings.ReplaceAll(string(c), "_", " ")+":")
			}
			list = append(list, line)
		}
	}
	return list
}

func (s State) mindLine(e Entry, now time.Time) string {
	about := s.Aside.About[e.ID]
	line := fmt.Sprintf("- [%s] strength %d, seen %s", quoted(e.ID, maxName), e.Strength, ago(now.Sub(e.LastSeen)))
	if !about.Due.IsZero() {
		line += ", due " + stamp(about.Due)
	}
	if about.Untrusted {
		line += ", from strangers"
	}
	return line + ": " + quoted(e.Summary, maxMindLine)
}

// ago says in words how long ago something was.
func ago(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return "now"
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min ago", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Round(time.Hour).Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// settledLines lists what was settled last.
func (s State) settledLines() []string {
	var list []string
	for _, t := range last(s.Aside.Settled, settledShown) {
		list = append(list, t.Text)
	}
	return bullets(list, maxSettling)
}

// topicLines lists the topics that a role has had last.
func (s State) topicLines(role string) []string {
	var list []Topic
	for _, t := range s.Aside.Topics {
		if t.Role == role {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Topic) int { return a.Last.Compare(b.Last) })
	var lines []string
	for _, t := range last(list, topicsShown) {
		lines = append(lines, t.Text)
	}
	return bullets(lines, maxHad)
}

// escalatedLines lists what was escalated last.
func (s State) escalatedLines(now time.Time) []string {
	var list []string
	for _, e := range last(s.EscalationHistory, toldShown) {
		outcome := e.Outcome
		if outcome == "" {
			outcome = "undecided"
		}
		list = append(list, text.Clip(text.Line(outcome), 20)+" "+ago(now.Sub(e.Created))+": "+e.Summary)
	}
	return bullets(list, maxTold)
}

// bullets returns those of a list that fit, the last first to be chosen.
func bullets(list []string, size int) (kept []string) {
	for _, line := range slices.Backward(list) {
		if line = quoted(line, maxPartLine); line == "" || slices.Contains(kept, line) {
			continue
		}
		if size -= len(line) + 3; size < 0 {
			break
		}
		kept = append(kept, line)
	}
	slices.Reverse(kept)
	return kept
}

// others returns the names of the other roles: those that have run, and the four.
func others(role string, s State) []string {
	all := make(map[string]bool)
	for _, name := range names(s.ThreadState) {
		all[name] = true
	}
	for _, r := range DefaultRoles() {
		all[r.Name] = true
	}
	delete(all, role)
	list, size := slices.Sorted(maps.Keys(all)), 0
	for i, name := range list {
		if size += len(name) + 2; size > maxOthers {
			return list[:i]
		}
	}
	return list
}

// A pressed is what a prompt asks for from a novelty pressure on.
type pressed struct {
	from int
	text string
}

// readWishes reads sections that are named by the pressure that they begin at.
func readWishes(md string) (list []pressed) {
	for section := range strings.SplitSeq("\n"+md, "\n## ") {
		var p pressed
		head, body, _ := strings.Cut(section, "\n")
		if n, _ := fmt.Sscanf(head, "%d", &p.from); n == 1 {
			p.text = strings.TrimSpace(body)
			list = append(list, p)
		}
	}
	return list
}

// wish returns what a prompt asks for at a pressure.
func wish(pressure int) (text string) {
	for _, p := range wishes {
		if pressure >= p.from {
			text = p.text
		}
	}
	return text
}
