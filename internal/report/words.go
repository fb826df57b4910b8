package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

func leadText(v session.View) string {
	s := v.Session
	text := cmp.Or(statusTexts[s.Status], string(s.Status))
	if s.Progress.Elapsed > 0 {
		text += " after " + durationText(s.Progress.Elapsed)
		if s.Status == ponder.Thinking && s.Budget.Seconds > 0 {
			text += " of " + durationText(s.Budget.Seconds)
		}
	}
	text += reasonSuffix(s.Status, s.StopReason) + "."
	if sure := leadConfidence(s); sure != "" {
		text += " Confidence " + sure + "."
	}
	return text + resolutionText(s.Resolution)
}

func reasonSuffix(status ponder.Status, reason string) string {
	if reason == "" || reason == string(status) || status == ponder.Failed {
		return ""
	}
	return ": " + strings.TrimRight(textkit.OneLine(reason), ".")
}

// endTexts are short forms of the reasons that [session.Session] has in full, for a column of a list.
var endTexts = map[ponder.EndReason]string{
	ponder.EndComplete: "done", ponder.EndSettled: "settled", ponder.EndLoop: "nothing new", ponder.EndPlateau: "plateau", ponder.EndLowValue: "low value",
	ponder.EndTime: "time limit", ponder.EndCalls: "call limit", ponder.EndTokens: "token limit", ponder.EndMoney: "budget", ponder.EndUser: "user",
	ponder.EndSources: "sources", ponder.EndNoModel: "no model", ponder.EndModelFailed: "model failed", ponder.EndEarlier: "earlier version",
}

// EndText returns a reason in at most 15 characters, or "" if the status says the same.
func EndText(r ponder.EndReason) string { return endTexts[r] }

// leadConfidence describes the confidence and its trend.
func leadConfidence(s session.Session) string {
	text := s.Certainty.String()
	switch s.Trend {
	case "":
	case "plateau":
		text += ", on a plateau"
	default:
		text += ", " + textkit.OneLine(s.Trend)
	}
	if s.Claimed == nil {
		return ""
	}
	return text
}

func resolutionText(r *session.Resolution) string {
	if r == nil {
		return ""
	}
	text := " Its outcome was recorded"
	switch {
	case r.Outcome == nil:
	case *r.Outcome >= 1:
		text = " Recorded outcome: right"
	case *r.Outcome <= 0:
		text = " Recorded outcome: wrong"
	default:
		text = fmt.Sprintf(" Recorded outcome: %.2f", *r.Outcome)
	}
	if r.Note != "" {
		text += ": " + strings.TrimRight(textkit.OneLine(r.Note), ".")
	}
	return text + "."
}

// refusedRemark is the remark on an answer that the budget did not let the model write.
const refusedRemark = "The budget ended before the model could write the answer."

func remarkText(v session.View) string {
	s := v.Session
	switch {
	case v.Refused:
		return refusedRemark
	case s.Metadata.WithoutModel && s.Usage.Calls == s.Usage.Failed:
		return "Made without a model, from quotations."
	case s.Metadata.WithoutModel:
		return "Parts were made without a model; they are marked."
	}
	return ""
}

func accountText(v session.View, cited int) string {
	s, p := v.Session, v.Session.Progress
	var b strings.Builder
	fmt.Fprintf(&b, "Thinking time: %s", durationText(p.Elapsed))
	switch u := s.Usage; {
	case u.Calls > 0 && len(u.Models) > 1:
		fmt.Fprintf(&b, ", in %s to %s", textkit.Count(u.Calls, "call", "calls"), textkit.Count(len(u.Models), "model", "models"))
	case u.Calls > 0:
		fmt.Fprintf(&b, ", in %s", textkit.Count(u.Calls, "call", "calls"))
	}
	if n := s.Metadata.Parallel; n > 1 {
		fmt.Fprintf(&b, ", with up to %d parallel foci", n)
	}
	fmt.Fprintf(&b, ". The session wrote %s", textkit.Count(p.Thoughts, "thought", "thoughts"))
	if p.Questions > 0 {
		fmt.Fprintf(&b, " and %s, of which %s explored", textkit.Count(p.Questions, "question", "questions"), wereText(p.Explored))
		if p.Dropped > 0 {
			fmt.Fprintf(&b, " and %s dropped", wereText(p.Dropped))
		}
	}
	b.WriteString(".")
	if p.Merged > 0 {
		fmt.Fprintf(&b, " %s counted and not stored again.", spellZero(textkit.Count(p.Merged, "repetition was", "repetitions were")))
	}
	if p.Syntheses > 0 {
		fmt.Fprintf(&b, " Syntheses: %s.", textkit.Number(p.Syntheses))
	}
	if n := len(v.Sources); n > 0 {
		fmt.Fprintf(&b, " %s found, and %s cited.", spellZero(textkit.Count(n, "passage was", "passages were")), wereText(cited))
	}
	earlier := make(map[string]bool)
	for _, src := range v.Sources {
		if id, ok := src.Earlier(); ok {
			earlier[string(id)] = true
		}
	}
	if n := len(earlier); n > 0 {
		fmt.Fprintf(&b, " %s consulted.", spellZero(textkit.Count(n, "earlier session was", "earlier sessions were")))
	}
	return b.String() + steeringText(v)
}

func steeringText(v session.View) string {
	done, refused := 0, 0
	for _, w := range v.Steering {
		switch {
		case w.Refused:
			refused++
		case w.Seq > 0:
			done++
		}
	}
	switch {
	case done+refused == 0:
		return ""
	case refused == 0:
		return fmt.Sprintf(" Steered %s.", timesText(done))
	}
	return fmt.Sprintf(" Steered %s; %s refused.", timesText(done), textkit.Count(refused, "more command was", "more commands were"))
}

type costRow struct {
	Model                        string
	Calls, Failed, Input, Output string
	Cost                         string
	All                          bool
}

func costRows(u session.Usage) (rows []costRow) {
	if u.Calls == 0 {
		return nil
	}
	row := func(m session.ModelUsage) costRow {
		return costRow{
			Model: textkit.OneLine(m.Model), Calls: textkit.Number(m.Calls), Failed: textkit.Number(m.Failed), Input: textkit.Number(m.Input), Output: textkit.Number(m.Output),
			Cost: formatMoney(m.USD, m.Unpriced, m.Calls),
		}
	}
	for _, m := range u.Models {
		rows = append(rows, row(m))
	}
	if len(u.Models) != 1 {
		all := row(session.ModelUsage{Model: "all", Calls: u.Calls, Failed: u.Failed, Input: u.Input, Output: u.Output, USD: u.USD, Unpriced: u.Unpriced})
		all.All = true
		rows = append(rows, all)
	}
	return rows
}

// formatMoney formats an amount. An unknown price is not zero.
func formatMoney(usd float64, unpriced, calls int) string {
	switch {
	case unpriced > 0 && unpriced >= calls:
		return "unknown"
	case unpriced > 0:
		return fmt.Sprintf("$%.4f + unknown", usd)
	}
	return fmt.Sprintf("$%.4f", usd)
}

func colophonText(s session.Session) string {
	var parts []string
	if s.ID != "" {
		parts = append(parts, "Session "+string(s.ID))
	}
	switch {
	case s.Started != nil:
		parts = append(parts, "started "+formatDay(s.Started))
	case s.Created != nil:
		parts = append(parts, "created "+formatDay(s.Created))
	}
	if s.Completed != nil {
		parts = append(parts, "ended "+formatDay(s.Completed))
	}
	if s.Model != "" {
		parts = append(parts, "model "+textkit.OneLine(s.Model))
	}
	return strings.Join(parts, " · ")
}

func steerLine(w session.SteerCommand) (request, outcome string) {
	request = steerOpTexts[w.Order]
	if request == "" {
		request = cmp.Or(textkit.OneLine(string(w.Order)), "command")
	}
	switch {
	case w.Content != "" && w.Target != "":
		request += " (" + textkit.OneLine(w.Target) + "): " + textkit.OneLine(w.Content)
	case w.Content+w.Target != "":
		request += ": " + textkit.OneLine(w.Content+w.Target)
	}
	if w.Sentence != "" {
		request = fmt.Sprintf("“%s”: %s", textkit.OneLine(w.Sentence), request)
	}
	switch {
	case w.Seq == 0:
		outcome = "not acknowledged"
	case w.Refused:
		outcome = "refused: " + textkit.OneLine(w.Effect)
	default:
		outcome = fmt.Sprintf("in effect at %s: %s", textkit.Clock(toDuration(w.At)), textkit.OneLine(w.Effect))
	}
	if n := len(w.Cancelled); n > 0 {
		outcome += fmt.Sprintf(" (%s)", textkit.Count(n, "call was cancelled", "calls were cancelled"))
	}
	if w.Undone {
		outcome += "; undone later"
	}
	return request, outcome
}

var steerOpTexts = map[ponder.SteerOp]string{
	ponder.AddQuestion: "add a question", ponder.DropQuestion: "drop a question", ponder.RankQuestion: "rank a question", ponder.Correct: "correct a fact",
	ponder.PinSource: "pin a source", ponder.BanSource: "ban a source", ponder.SetBudget: "change the budget",
	ponder.RestoreQuestion: "restore a question", ponder.Withdraw: "withdraw a correction", ponder.ReleaseSource: "release a source",
	ponder.AnswerNow: "answer now", ponder.Cancel: "cancel",
}

func thoughtMarks(t session.Thought) (marks []string) {
	if t.Repeats > 0 {
		marks = append(marks, "repeated "+timesText(t.Repeats))
	}
	if t.WithoutModel {
		marks = append(marks, "without a model")
	}
	if len(t.Against) > 0 {
		marks = append(marks, "contradicts "+textkit.OneLine(strings.Join(t.Against, ", ")))
	}
	return marks
}

func synthesisMarks(s session.Synthesis, more ...string) (marks []string) {
	if !s.Assumed {
		marks = append(marks, "confidence "+twoDecimals(s.Confidence))
	}
	marks = append(marks, dropEmpty(more...)...)
	switch {
	case s.Refused:
		marks = append(marks, "put together by the program")
	case s.WithoutModel:
		marks = append(marks, "without a model")
	}
	return marks
}

func nodeMarks(n session.Node) []string {
	return append([]string{string(n.State)}, questionMarks(n.Question)...)
}

func sureMarks(t session.Thought) []string {
	if t.Assumed {
		return thoughtMarks(t)
	}
	return append([]string{twoDecimals(t.Confidence)}, thoughtMarks(t)...)
}

func questionMarks(q session.Question) (marks []string) {
	if q.Priority > 0 {
		marks = append(marks, fmt.Sprintf("priority %d", q.Priority))
	}
	if q.By != "" {
		marks = append(marks, "asked by the "+textkit.OneLine(q.By))
	}
	if q.Repeats > 0 {
		marks = append(marks, "asked "+timesText(q.Repeats+1))
	}
	return marks
}

// basisText describes the support of a synthesis besides its claim.
func basisText(b ponder.Basis) string {
	var parts []string
	for _, p := range []struct {
		share float64
		what  string
	}{{b.Agreement, "agreement"}, {b.Support, "support"}, {b.Contradiction, "contradiction"}, {b.Stability, "stability"}} {
		if p.share > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", p.what, p.share))
		}
	}
	return strings.Join(parts, ", ")
}

func dropEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func spellZero(s string) string {
	if rest, ok := strings.CutPrefix(s, "0 "); ok {
		return "No " + rest
	}
	return s
}

func wereText(n int) string {
	switch n {
	case 0:
		return "none was"
	case 1:
		return "1 was"
	}
	return textkit.Number(n) + " were"
}

func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return textkit.Number(n) + " times"
}

func durationText(seconds float64) string {
	d := toDuration(seconds)
	h, m, s := int(d/time.Hour), int(d/time.Minute)%60, int(d/time.Second)%60
	switch {
	case h > 0 && m > 0:
		return textkit.Count(h, "hour", "hours") + " " + textkit.Count(m, "minute", "minutes")
	case h > 0:
		return textkit.Count(h, "hour", "hours")
	case m > 0 && s > 0 && m < 10:
		return textkit.Count(m, "minute", "minutes") + " " + textkit.Count(s, "second", "seconds")
	case m > 0:
		return textkit.Count(m, "minute", "minutes")
	}
	return textkit.Count(s, "second", "seconds")
}

// formatClock formats a time as 0:07, 12:30 or 1:02:03.
func formatClock(seconds float64) string {
	d := toDuration(seconds)
	if d >= time.Hour {
		return fmt.Sprintf("%d:%02d:%02d", int(d/time.Hour), int(d/time.Minute)%60, int(d/time.Second)%60)
	}
	return fmt.Sprintf("%d:%02d", int(d/time.Minute), int(d/time.Second)%60)
}

// toDuration converts seconds, at most a year; 0 if invalid.
func toDuration(seconds float64) time.Duration {
	const maxSeconds = 365 * 24 * 3600
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxSeconds) * float64(time.Second)).Round(time.Second)
}
