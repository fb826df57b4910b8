package real

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
)

// overtime is the time that a run may need after its limit.
const overtime = 20 * time.Second

var citation = regexp.MustCompile(`\[(e\d+(?:,\s*e\d+)*)\]`)

// checkRun returns the broken properties of a root run. Docs is the folder of its documents, if
// any.
func checkRun(events []event, question, docs string, prompts func(mode string) []string) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	evidence := map[string]event{}
	var answers, thoughts []string
	status, modes := "", map[string]string{}
	for _, e := range events {
		if e.Type == "run_started" {
			modes[e.Run] = e.Data.Mode
		}
		if isTextOfModel(e, modes[e.Run]) {
			for _, p := range findJunk(e.Content, question, prompts(modes[e.Run]), e.Type == "assistant_message") {
				add("%s: %s", e.Type, p)
			}
		}
		switch e.Type {
		case "evidence":
			evidence[e.Data.Evidence] = e
		case "thought":
			thoughts = append(thoughts, e.Content)
			answers = append(answers, citeAll(e.Data.Cites))
		case "synthesis":
			answers = append(answers, e.Content, citeAll(e.Data.Cites), strings.Join(append(e.Data.Insights, e.Data.Remaining...), "\n"))
		case "assistant_message":
			answers = append(answers, e.Content)
		case "claim":
			for _, q := range e.Data.Quotes {
				if from := evidence[q.Evidence].Content; q.Start < 0 || q.Start >= q.End || q.End > len(from) {
					add("claim %q has the bytes %d to %d of %s, which has %d", shorten(e.Content), q.Start, q.End, q.Evidence, len(from))
				}
			}
			answers = append(answers, citeAll(e.Data.Cites))
		case "run_finished":
			if !strings.Contains(e.Run, "/") {
				status = e.Data.Status
				answers = append(answers, e.Content)
			}
			if e.Data.Status == "failed" {
				add("run %s failed: %s", e.Run, e.Reason)
			}
		}
	}
	if status != "completed" {
		add("the run is %q, not completed", status)
	}
	for _, text := range answers {
		for _, m := range citation.FindAllStringSubmatch(text, -1) {
			for id := range strings.SplitSeq(m[1], ",") {
				if _, ok := evidence[strings.TrimSpace(id)]; !ok {
					add("%s is cited, but there is no such evidence", id)
				}
			}
		}
	}
	for id, e := range evidence {
		if docs != "" && !hasQuote(docs, e.Data.Source, e.Content) {
			add("%s is not in %s: %q", id, e.Data.Source, shorten(e.Content))
		}
	}
	return append(problems, repeatedThoughts(thoughts)...)
}

// isTextOfModel reports whether the model wrote the content of an event of a mode, for users.
func isTextOfModel(e event, mode string) bool {
	switch e.Type {
	case "thought", "sub_question", "synthesis":
		return !e.Data.WithoutModel
	case "assistant_message":
		return true
	case "inner_monologue":
		return mode == "deep"
	case "run_finished":
		return e.Data.Status == "completed" && (mode == "session" || mode == "research")
	}
	return false
}

func citeAll(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "[" + strings.Join(ids, ", ") + "]"
}

// repeatedThoughts returns thoughts that say hardly more than an earlier one in the same words.
func repeatedThoughts(thoughts []string) (problems []string) {
	var earlier []string
	for _, text := range thoughts {
		bare := foldText(text)
		for _, o := range earlier {
			rest, longer := strings.CutPrefix(bare+" ", o+" ")
			if strings.HasPrefix(o+" ", bare+" ") || longer && len(strings.Fields(rest)) < 3 {
				problems = append(problems, fmt.Sprintf("thought repeats an earlier one: %q", shorten(text)))
				break
			}
		}
		earlier = append(earlier, bare)
	}
	return problems
}

var linkTarget = regexp.MustCompile(`\]\([^)\s]*\)`)

// hasQuote reports whether a file has a quote, apart from its marks of Markdown and white space.
func hasQuote(docs, source, quote string) bool {
	text, err := os.ReadFile(source)
	if err != nil {
		if text, err = os.ReadFile(filepath.Join(docs, source)); err != nil {
			return false
		}
	}
	return strings.Contains(keepLetters(linkTarget.ReplaceAllString(string(text), "]")), keepLetters(quote))
}

func keepLetters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// checkCalls returns loops of repeated requests: a call that was repeated more than once, and three
// unreadable answers in a row in a run.
func checkCalls(events []event) (problems []string) {
	type call struct{ run, key string }
	count, row := map[call]int{}, map[string]int{}
	for _, e := range events {
		if e.Type != "call_started" {
			continue
		}
		key, again := e.key()
		if !again {
			continue
		}
		if count[call{e.Run, key}]++; count[call{e.Run, key}] > 1 {
			problems = append(problems, fmt.Sprintf("%s %s was asked again %d times", e.Run, key, count[call{e.Run, key}]))
		}
	}
	for _, e := range events {
		if e.Type != "call_finished" || e.Data.Dropped || e.Data.Error != "" {
			continue
		}
		key, again := e.key()
		switch {
		case again:
		case count[call{e.Run, key}] > 0:
			if row[e.Run]++; row[e.Run] == 3 {
				problems = append(problems, fmt.Sprintf("%s %s is the third request in a row that was asked again", e.Run, key))
			}
		default:
			row[e.Run] = 0
		}
	}
	return problems
}

// report fails the test for each problem, at most ten.
func report(t *testing.T, problems []string) {
	t.Helper()
	for i, p := range problems {
		if i == 10 {
			t.Errorf("and %d more", len(problems)-i)
			return
		}
		t.Error(p)
	}
}

func TestCheckRun(t *testing.T) {
	docs := t.TempDir()
	if err := os.WriteFile(filepath.Join(docs, "a.md"), []byte("A fork **is** a [new](fork.md) session.\nIt ends."), 0o600); err != nil {
		t.Fatal(err)
	}
	quote := event{Type: "evidence", Content: "A fork is a new session."}
	quote.Data.Evidence, quote.Data.Source = "e1", "a.md"
	finished := event{Type: "run_finished", Content: "A fork is a new session, in short. [e1]"}
	finished.Data.Status = "completed"
	thought := event{Type: "thought", Content: "A fork copies the events of a session."}
	cites := func(e event, ids ...string) event {
		e.Data.Cites = ids
		return e
	}
	with := func(e event, content string) event {
		e.Content = content
		return e
	}
	failed := finished
	failed.Data.Status = "failed"
	for name, c := range map[string]struct {
		events []event
		says   string
	}{
		"sound":             {[]event{quote, cites(thought, "e1"), finished}, ""},
		"no such evidence":  {[]event{quote, cites(thought, "e2"), finished}, "no such evidence"},
		"foreign citation":  {[]event{quote, with(finished, "It is a new session, I say. [e1][e7]")}, "no such evidence"},
		"changed quote":     {[]event{with(quote, "A fork is an old session."), finished}, "is not in a.md"},
		"no end":            {[]event{quote, thought}, "not completed"},
		"failure":           {[]event{failed}, "failed"},
		"junk":              {[]event{with(thought, "the"), finished, quote}, "no words"},
		"repeated thought":  {[]event{quote, thought, with(thought, thought.Content+" So."), finished}, "repeats an earlier one"},
		"question as claim": {[]event{quote, with(thought, "What is a fork?"), finished}, "the user's question"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(checkRun(c.events, "What is a fork?", docs, func(string) []string { return nil }), "\n")
			if c.says == "" && got != "" || !strings.Contains(got, c.says) {
				t.Errorf("checkRun says %q, not %q", got, c.says)
			}
		})
	}
}

func TestCheckCalls(t *testing.T) {
	at := func(kind, key string) event { return event{Type: kind, Run: "run_1", Cause: key + "#1"} }
	ask := func(key string) []event { return []event{at("call_started", key), at("call_finished", key)} }
	again := func(key string) []event { return append(ask(key), ask(key+"~2")...) }
	join := func(lists ...[]event) (all []event) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for name, c := range map[string]struct {
		events []event
		n      int
		share  float64
	}{
		"good":         {join(ask("thoughts-1"), ask("final")), 0, 1},
		"two repeats":  {join(again("thoughts-1"), again("thoughts-2"), ask("final")), 0, 3. / 5},
		"three in row": {join(again("thoughts-1"), again("thoughts-2"), again("thoughts-3")), 1, 3. / 6},
		"a loop":       {join(again("thoughts-1"), ask("thoughts-1~2")), 1, 2. / 3},
	} {
		t.Run(name, func(t *testing.T) {
			if got := checkCalls(c.events); len(got) != c.n {
				t.Errorf("checkCalls = %q", got)
			}
			if got := measure(c.events).usefulShare(); got != c.share {
				t.Errorf("share of useful calls = %v, not %v", got, c.share)
			}
		})
	}
}
