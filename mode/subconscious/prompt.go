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

	tickSections     = splitSections(tickText)
	pressureSections = splitSections(pressureText)
)

// MaxPrompt is the approximate maximum of tokens in a prompt, including its schema.
const MaxPrompt = 5000

const answerTokens = 700

// Limits of prompt parts, in bytes. They leave room for [maxShownSize].
const (
	maxMind         = MaxTokens*bytesPerToken - maxHistoryBytes - maxOthersBytes // of entries
	maxMindLine     = maxSummary
	maxSettledBytes = 400
	maxTopicBytes   = 400
	maxHistoryBytes = 1200
	maxOthersBytes  = 1200
	maxNoteBytes    = 400
	maxLastBytes    = 500
	maxPartLine     = 160
	maxOtherLine    = 80
	maxOthers       = 200
	topicsShown     = 10
	settledShown    = 12
)

// Prompt returns the request to a role about observations new to it, oldest first, of about
// [MaxPrompt] tokens at most. It counts the older observations of low level that it omits.
func Prompt(role Role, s State, seen []SeenObservation, now time.Time) llm.Request {
	s = s.DecayTo(now)
	return llm.Request{
		System:   systemPrompt(role),
		Messages: []llm.Message{llm.Say(llm.User, tickPrompt(role, s, seen, now))},
		Schema:   schemaForRole(role), MaxTokens: answerTokens, Background: true,
	}
}

func systemPrompt(role Role) string {
	prompt := strings.TrimSpace(textkit.TruncateBytes(role.Prompt, maxRolePrompt))
	lookUp, line := lookUpTexts[role.Looks], ""
	if lookUp != "" {
		line = lookUpLine
	}
	return strings.NewReplacer("{{name}}", role.Name, "{{prompt}}", prompt, "{{types}}", joinWithOr(role.sortedTypes()), "{{look_up}}\n", lookUp, "{{LOOK UP}}\n", line).Replace(frameText)
}

var (
	//go:embed prompts/lookup.md
	lookUpText string

	lookUpTexts = readLookUpTexts(lookUpText)
)

const lookUpLine = "LOOK UP: [words]\n"

func readLookUpTexts(md string) map[LookUpSource]string {
	texts := make(map[LookUpSource]string)
	for _, p := range splitSections(md) {
		texts[LookUpSource(p.head)] = p.text + "\n"
	}
	return texts
}

func joinWithOr(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

func tickPrompt(role Role, s State, seen []SeenObservation, now time.Time) string {
	rs := s.ThreadState[role.Name]
	shown, left := labelObservations(seen)
	var frames []string
	kind := "seen"
	for _, l := range shown {
		frames = append(frames, l.frame)
		if l.Again {
			kind = "again"
		}
	}
	topics := "had"
	if role.Category == Hunches {
		topics = "leave"
	}
	there := map[string]string{
		"settled": formatBullets(s.settledLines()), topics: formatBullets(s.topicLines(role.Name)), "escalated": formatBullets(s.escalationLines(now)),
		"journal": formatBullets(fitLines(s.Internal.Journal[role.Name], maxNoteBytes)), "findings": formatBullets(fitLines(rs.LastFindings, maxLastBytes)),
		"mind": s.formatMind(now, maxMind), "others": formatBullets(s.otherLines(role.Name)), "hint": sanitizeLine(rs.FocusHint, maxPartLine),
		"now": formatClock(now), "pressure": fmt.Sprint(clamp(rs.NoveltyPressure, 0, MaxPressure)), "wish": pressureRequest(rs.NoveltyPressure),
		kind: strings.Join(frames, "\n"), "left": countOmitted(left), "ask": " ",
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

func formatBullets(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "- " + strings.Join(lines, "\n- ")
}

// formatClock formats now with its weekday, and in local time if that is not UTC.
func formatClock(now time.Time) string {
	c := formatStamp(now) + ", " + now.UTC().Weekday().String()
	if _, offset := now.Zone(); offset != 0 {
		c += " (for the person: " + now.Format("Monday 15:04") + ")"
	}
	return c
}

// formatMind returns the entries by category, in at most size bytes. It leaves out the weakest, and says so.
func (s State) formatMind(now time.Time, size int) string {
	var ranked []Entry
	for _, c := range categories {
		ranked = append(ranked, *s.categoryEntries(c)...)
	}
	slices.SortStableFunc(ranked, func(a, b Entry) int { return s.compareStrength(b, a) })
	shown, omitted := 0, ""
	size -= maxMindFrame
	for ; shown < len(ranked); shown++ {
		if size -= len(s.formatEntry(ranked[shown], now)) + 1; size < 0 {
			omitted = fmt.Sprintf("(left out: %s of strength %d or less)", formatEntries(len(ranked)-shown), ranked[shown].Strength)
			break
		}
	}
	var list []string
	for _, c := range categories {
		head := strings.ReplaceAll(string(c), "_", " ") + ":"
		for _, e := range ranked[:shown] {
			if _, in := s.findEntry(e.ID); in != c {
				continue
			}
			if head != "" {
				list, head = append(list, head), ""
			}
			list = append(list, s.formatEntry(e, now))
		}
	}
	if omitted != "" {
		list = append(list, omitted)
	}
	if len(list) == 0 {
		return "(nothing)"
	}
	return strings.Join(list, "\n")
}

// maxMindFrame is the size of the names of the categories, and of the sentence about omitted entries.
const maxMindFrame = 120

func formatEntries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func (s State) formatEntry(e Entry, now time.Time) string {
	about := s.Internal.Metadata[e.ID]
	line := fmt.Sprintf("- [%s] strength %d, seen %s", sanitizeLine(e.ID, maxName), e.Strength, formatAgo(now.Sub(e.LastSeen)))
	if !about.Due.IsZero() {
		line += ", due " + formatStamp(about.Due)
	}
	if about.Untrusted {
		line += ", from strangers"
	}
	return line + ": " + sanitizeLine(e.Summary, maxMindLine)
}

func formatAgo(d time.Duration) string {
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

func (s State) settledLines() []string {
	var list []string
	for _, t := range lastN(s.Internal.Settled, settledShown) {
		list = append(list, t.Text)
	}
	return fitLines(list, maxSettledBytes)
}

func (s State) topicLines(role string) []string {
	var list []Topic
	for _, t := range s.Internal.Topics {
		if t.Role == role {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Topic) int { return a.Last.Compare(b.Last) })
	var lines []string
	for _, t := range lastN(list, topicsShown) {
		lines = append(lines, t.Text)
	}
	return fitLines(lines, maxTopicBytes)
}

func (s State) escalationLines(now time.Time) []string {
	var list []string
	for _, e := range s.EscalationHistory {
		outcome := e.Outcome
		if outcome == "" {
			outcome = "undecided"
		}
		list = append(list, textkit.TruncateBytes(textkit.OneLine(outcome), 20)+" "+formatAgo(now.Sub(e.Created))+": "+e.Summary)
	}
	return fitLines(list, maxHistoryBytes)
}

func fitLines(list []string, size int) (kept []string) {
	for _, line := range slices.Backward(list) {
		if line = sanitizeLine(line, maxPartLine); line == "" || slices.Contains(kept, line) {
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

// otherLines describes the other roles: their novelty pressure, their hint, and their last findings that are
// no entries.
func (s State) otherLines(role string) (lines []string) {
	onMind := make(map[string]bool)
	for _, c := range categories {
		for _, e := range *s.categoryEntries(c) {
			onMind[e.Summary] = true
		}
	}
	names := otherRoles(role, s)
	for _, name := range names {
		r := s.ThreadState[name]
		line := fmt.Sprintf("%s, novelty pressure %d", name, clamp(r.NoveltyPressure, 0, MaxPressure))
		if hint := sanitizeLine(r.FocusHint, maxOtherLine); hint != "" {
			line += ", hint: " + hint
		}
		var found []string
		for _, f := range r.LastFindings {
			if f = sanitizeLine(f, maxOtherLine); !onMind[f] && !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
		if len(found) > 0 {
			line += ", found: " + strings.Join(found, "; ")
		}
		lines = append(lines, textkit.TruncateBytes(line, maxOthersBytes/len(names)-len("\n- ")))
	}
	return lines
}

// otherRoles returns the names of all other roles: those that have run and the defaults.
func otherRoles(role string, s State) []string {
	all := make(map[string]bool)
	for _, name := range sortedNames(s.ThreadState) {
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

type promptSection struct{ head, text string }

func splitSections(md string) (list []promptSection) {
	for section := range strings.SplitSeq("\n"+md, "\n## ") {
		if head, text, ok := strings.Cut(section, "\n"); ok && head != "" {
			list = append(list, promptSection{strings.TrimSpace(head), strings.TrimSpace(text)})
		}
	}
	return list
}

// pressureRequest returns the section of [pressureText] with the highest threshold at or below pressure.
func pressureRequest(pressure int) (text string) {
	for _, p := range pressureSections {
		if from, err := strconv.Atoi(p.head); err == nil && pressure >= from {
			text = p.text
		}
	}
	return text
}
