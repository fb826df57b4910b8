package subconscious

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/llm"
)

// Prompts go from constant to variable parts, so that providers can cache the prefix. The frame is
// constant for each role.
var (
	//go:embed prompts/frame.md
	frameText string
	//go:embed prompts/tick.md
	tickText string
	//go:embed prompts/pressure.md
	pressureText string

	tickSections = sections(tickText)
	wishes       = sections(pressureText)
)

// MaxPrompt is the approximate maximum of tokens in a prompt, including its schema.
const MaxPrompt = 3500

const answerTokens = 700

// Limits of prompt parts, in bytes. They leave room for [maxShownSize].
const (
	maxMind      = 2120
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

// Prompt returns the request to a role about observations new to it, oldest first, of about
// [MaxPrompt] tokens at most. It counts the older observations of low level that it omits.
func Prompt(role Role, s State, seen []Seen, now time.Time) llm.Request {
	s = s.At(now)
	return llm.Request{
		System:   system(role),
		Messages: []llm.Message{llm.Say(llm.User, prompted(role, s, seen, now))},
		Schema:   schemaOf(role), MaxTokens: answerTokens, Background: true,
	}
}

func system(role Role) string {
	prompt := strings.TrimSpace(textkit.TruncateBytes(role.Prompt, maxRolePrompt))
	lookUp, line := lookUpTexts[role.Looks], ""
	if lookUp != "" {
		line = lookUpLine
	}
	return strings.NewReplacer("{{name}}", role.Name, "{{prompt}}", prompt, "{{types}}", oneOf(role.types()), "{{look_up}}\n", lookUp, "{{LOOK UP}}\n", line).Replace(frameText)
}

var (
	//go:embed prompts/lookup.md
	lookUpText string

	lookUpTexts = lookUpsOf(lookUpText)
)

const lookUpLine = "LOOK UP: [words]\n"

func lookUpsOf(md string) map[Looks]string {
	texts := make(map[Looks]string)
	for _, p := range sections(md) {
		texts[Looks(p.head)] = p.text + "\n"
	}
	return texts
}

func oneOf(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

func prompted(role Role, s State, seen []Seen, now time.Time) string {
	rs := s.ThreadState[role.Name]
	shown, left := label(seen)
	var frames []string
	for _, l := range shown {
		frames = append(frames, l.frame)
	}
	topics := "had"
	if role.Category == Hunches {
		topics = "leave"
	}
	there := map[string]string{
		"settled": listed(s.settled()), topics: listed(s.topics(role.Name)), "escalated": listed(s.escalated(now)),
		"journal": listed(bullets(s.Aside.Journal[role.Name], maxNotes)), "findings": listed(bullets(rs.LastFindings, maxLast)),
		"mind": s.onMind(now), "others": strings.Join(others(role.Name, s), ", "), "hint": quoted(rs.FocusHint, maxPartLine),
		"now": clock(now), "pressure": fmt.Sprint(within(rs.NoveltyPressure, 0, MaxPressure)), "wish": wish(rs.NoveltyPressure),
		"seen": strings.Join(frames, "\n"), "left": leftOut(left), "ask": " ",
	}
	if len(shown) == 0 {
		there["quiet"] = " "
	}
	var parts []string
	for _, p := range tickSections {
		if text := there[p.head]; text != "" {
			parts = append(parts, strings.Replace(p.text, "{{}}", text, 1))
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func listed(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ")
}

// clock formats now with its weekday, and in local time if that is not UTC.
func clock(now time.Time) string {
	c := stamp(now) + ", " + now.UTC().Weekday().String()
	if _, offset := now.Zone(); offset != 0 {
		c += " (for the person: " + now.Format("Monday 15:04") + ")"
	}
	return c
}

func (s State) onMind(now time.Time) string {
	var list []string
	size := 0
	for _, c := range categories {
		entries := slices.Clone(*s.list(c))
		slices.SortStableFunc(entries, func(a, b Entry) int { return s.weaker(b, a) })
		for i, e := range entries {
			line := s.mindLine(e, now)
			if size += len(line); size > maxMind {
				return strings.Join(append(list, "(some weaker entries are left out)"), "\n")
			}
			if i == 0 {
				list = append(list, strings.ReplaceAll(string(c), "_", " ")+":")
			}
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return "(nothing)"
	}
	return strings.Join(list, "\n")
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

func (s State) settled() []string {
	var list []string
	for _, t := range last(s.Aside.Settled, settledShown) {
		list = append(list, t.Text)
	}
	return bullets(list, maxSettling)
}

func (s State) topics(role string) []string {
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

func (s State) escalated(now time.Time) []string {
	var list []string
	for _, e := range last(s.EscalationHistory, toldShown) {
		outcome := e.Outcome
		if outcome == "" {
			outcome = "undecided"
		}
		list = append(list, textkit.TruncateBytes(textkit.OneLine(outcome), 20)+" "+ago(now.Sub(e.Created))+": "+e.Summary)
	}
	return bullets(list, maxTold)
}

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

// others returns the names of all other roles: those that have run and the defaults.
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

type part struct{ head, text string }

func sections(md string) (list []part) {
	for section := range strings.SplitSeq("\n"+md, "\n## ") {
		if head, text, ok := strings.Cut(section, "\n"); ok && head != "" {
			list = append(list, part{strings.TrimSpace(head), strings.TrimSpace(text)})
		}
	}
	return list
}

// wish returns the section of [pressureText] with the highest threshold at or below pressure.
func wish(pressure int) (text string) {
	for _, p := range wishes {
		if from, err := strconv.Atoi(p.head); err == nil && pressure >= from {
			text = p.text
		}
	}
	return text
}
