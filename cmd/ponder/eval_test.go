package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"ponder/internal/eval"
	"ponder/llm/llmtest"
)

type evalFixture struct {
	dir   string
	sim   *llmtest.Sim
	calls atomic.Int64
}

// newEvalFixture prepares an evaluation of n questions. plain and deep select the questions that each
// variant answers correctly.
func newEvalFixture(t *testing.T, n int, plain, deep func(i int) bool, judge llmtest.Script) *evalFixture {
	t.Helper()
	r := &evalFixture{dir: t.TempDir()}
	script := append(llmtest.Script{}, judge...)
	script = append(script, scriptLine(`You are the inner voice`, `"hmm: it is tricky.\n\nthoughts: count again."`))
	var questions strings.Builder
	for i := range n {
		fmt.Fprintf(&questions, `{"id":"q%d","question":"What comes to question %d, please?","checks":[{"number":%d}]}`+"\n", i, i, i)
		script = append(script,
			scriptLine(fmt.Sprintf(`(?s)inner thoughts.*question %d,`, i), tonedAnswer(i, deep(i))),
			scriptLine(fmt.Sprintf(`question %d,`, i), tonedAnswer(i, plain(i))))
	}
	if err := os.WriteFile(filepath.Join(r.dir, "questions.jsonl"), []byte(questions.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r.sim = llmtest.NewSim(llmtest.SimConfig{Script: script, Models: []string{"llama3.1", "critic"}, Asked: func(llmtest.Record) { r.calls.Add(1) }})
	server := httptest.NewServer(r.sim)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"HOME": r.dir, "XDG_CONFIG_HOME": r.dir, "XDG_DATA_HOME": r.dir, "XDG_STATE_HOME": r.dir, "OLLAMA_HOST": server.URL, "NO_PROXY": "127.0.0.1", "NO_COLOR": "1",
		"PONDER_MODEL_FAST": "ollama/llama3.1", "PONDER_MODEL_SLOW": "ollama/llama3.1",
	} {
		t.Setenv(name, value)
	}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY", "OLLAMA_API_KEY", "PONDER_DB", "PONDER_CONFIG", "OPENAI_DEEP_THINK_MODEL"} {
		t.Setenv(name, "")
	}
	return r
}

func scriptLine(match, reply string) llmtest.Line {
	return llmtest.Line{Match: regexp.MustCompile(match), Reply: json.RawMessage(reply)}
}

func tonedAnswer(i int, right bool) string {
	if right {
		return fmt.Sprintf(`"Surely it is %d."`, i)
	}
	return fmt.Sprintf(`"Perhaps it is %d."`, 1000+i)
}

// runEval runs the command and returns its JSON lines and its report.
func (r *evalFixture) runEval(t *testing.T, code int, args ...string) (lines []map[string]any, report eval.Report) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"eval", filepath.Join(r.dir, "questions.jsonl"), "--json"}, args...)
	if got := run(t.Context(), args, strings.NewReader(""), &out, &errs); got != code {
		t.Fatalf("exit code %d, want %d: %s", got, code, errs.String())
	}
	for text := range strings.Lines(out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if fields["type"] == "report" {
			if err := json.Unmarshal([]byte(text), &report); err != nil {
				t.Fatal(err)
			}
		}
		lines = append(lines, fields)
	}
	return lines, report
}

func countTypes(lines []map[string]any) map[string]int {
	n := make(map[string]int)
	for _, l := range lines {
		n[l["type"].(string)]++
	}
	return n
}

func findComparison(t *testing.T, r eval.Report, by eval.Measure, name string) eval.Comparison {
	t.Helper()
	for _, c := range r.Comparisons {
		if c.By == by && c.Variant == name {
			return c
		}
	}
	t.Fatalf("no comparison of %s by %s in %+v", name, by, r.Comparisons)
	return eval.Comparison{}
}

func isThird(i int) bool   { return i%3 == 0 }
func isAnother(i int) bool { return i%3 == 1 }

// honestJudge is a judge that recognises a right answer by its tone.
var honestJudge = llmtest.Script{
	scriptLine(`(?s)<answer_1>\s+Surely.*<answer_2>\s+Perhaps`, `{"why":"It is right.","better":"1"}`),
	scriptLine(`(?s)<answer_1>\s+Perhaps.*<answer_2>\s+Surely`, `{"why":"It is right.","better":"2"}`),
	scriptLine(`(?s)<answer_1>`, `{"why":"Both are.","better":"tie"}`),
}

func TestEvalFindsAnEffect(t *testing.T) {
	better := func(i int) bool { return i%10 != 1 }
	r := newEvalFixture(t, 30, isThird, better, honestJudge)
	lines, report := r.runEval(t, exitDone, "--variant", "plain,deep", "--samples", "2", "--judge", "ollama/critic", "-o", filepath.Join(r.dir, "report.md"))
	if got := countTypes(lines); got["answer"] != 120 || got["verdict"] != 60 || got["report"] != 1 {
		t.Errorf("lines: %v", got)
	}
	if p, d := *report.Variants[0].Right, *report.Variants[1].Right; p != 10.0/30 || d != 27.0/30 {
		t.Errorf("right: plain %v, deep %v", p, d)
	}
	if c := findComparison(t, report, eval.ByChecks, "deep"); c.Finding != eval.Better || c.Questions != 30 || c.Up != 18 || c.Down != 1 {
		t.Errorf("by checks: %+v", c)
	}
	if c := findComparison(t, report, eval.ByJudge, "deep"); c.Finding != eval.Better || c.Up != 18 || c.Down != 1 {
		t.Errorf("by the judge: %+v", c)
	}
	if v := report.Variants[1]; v.Reflections != 1 || v.Mean.Calls != 2 || report.Variants[0].Mean.Calls != 1 {
		t.Errorf("variants: %+v", report.Variants)
	}
	text, err := os.ReadFile(filepath.Join(r.dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"# questions.jsonl: does thinking help?", "## deep against plain", ": better.", "| q0 | 100 % | 100 % (+0.0) |"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
}

func TestEvalFindsNone(t *testing.T) {
	r := newEvalFixture(t, 30, isThird, isAnother, honestJudge)
	_, report := r.runEval(t, exitDone, "--variant", "plain,deep", "--samples", "1", "--judge", "ollama/critic")
	for _, by := range []eval.Measure{eval.ByChecks, eval.ByJudge} {
		c := findComparison(t, report, by, "deep")
		if c.Finding != eval.NoDifference || c.Up != 10 || c.Down != 10 || !strings.Contains(c.Summary(), "no difference, because the interval includes zero") {
			t.Errorf("by %s: %+v: %s", by, c, c.Summary())
		}
	}
}

// A judge with position bias finds no difference, and no pair counts.
func TestEvalJudgeWithBias(t *testing.T) {
	biased := llmtest.Script{scriptLine(`<answer_1>`, `{"why":"It came first.","better":"1"}`)}
	r := newEvalFixture(t, 12, isThird, isAnother, biased)
	_, report := r.runEval(t, exitDone, "--variant", "plain,deep", "--samples", "1", "--judge", "ollama/critic")
	if c := findComparison(t, report, eval.ByJudge, "deep"); c.Finding != eval.NoDifference || c.Difference != 0 {
		t.Errorf("comparison %+v", c)
	}
	if j := report.Judged; j.Pairs != 12 || j.Inconsistent != 8 || j.First != 1 { // four pairs have equal text
		t.Errorf("judged: %+v", j)
	}
}

// After a spent budget, the same command continues and repeats no call.
func TestEvalGoesOn(t *testing.T) {
	r := newEvalFixture(t, 6, isThird, isAnother, honestJudge)
	args := []string{"--variant", "plain,deep", "--samples", "1", "--judge", "ollama/critic", "--parallel", "2"}
	got, limited := 0, append(args, "--calls", "5")
	for range 20 {
		before := r.calls.Load()
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"eval", filepath.Join(r.dir, "questions.jsonl"), "--json"}, limited...), strings.NewReader(""), &out, &errs)
		if n := r.calls.Load() - before; n > 5 {
			t.Fatalf("%d calls, want at most 5", n)
		}
		if got = strings.Count(out.String(), `"type":"answer"`); code == exitDone {
			break
		}
		if code != exitIncomplete || !strings.Contains(errs.String(), "the budget is spent: calls") {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
	}
	if got != 12 {
		t.Errorf("%d answers, want 12", got)
	}
	// One call for each plain answer, two for each with a reflection, two for each pair of
	// different texts.
	if n := r.calls.Load(); n != 6+12+8 {
		t.Errorf("%d calls, want %d", n, 6+12+8)
	}
	_, report := r.runEval(t, exitDone, args...)
	if n := r.calls.Load(); n != 26 {
		t.Errorf("%d calls for stored answers", n-26)
	}
	if report.Variants[1].Answers != 6 || report.Judged.Pairs != 6 {
		t.Errorf("report: %+v", report)
	}
	if r.runEval(t, exitDone, append(args, "--fresh")...); r.calls.Load() != 52 {
		t.Errorf("%d calls in all, want 52", r.calls.Load())
	}
}

func TestEvalScoresAnew(t *testing.T) {
	r := newEvalFixture(t, 3, isThird, isThird, nil)
	_, before := r.runEval(t, exitDone, "--variant", "plain", "--samples", "1")
	asked := r.calls.Load()
	file := filepath.Join(r.dir, "questions.jsonl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`"number":\d+`).ReplaceAll(text, []byte(`"contains":"it is"`))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	_, after := r.runEval(t, exitDone, "--variant", "plain", "--samples", "1")
	if r.calls.Load() != asked || *before.Variants[0].Right == 1 || *after.Variants[0].Right != 1 {
		t.Errorf("%d calls, then %d; right %v, then %v", asked, r.calls.Load(), *before.Variants[0].Right, *after.Variants[0].Right)
	}
}

func TestEvalFailsFromTheStart(t *testing.T) {
	r := newEvalFixture(t, 10, isThird, isThird, llmtest.Script{{Match: regexp.MustCompile("question"), Error: &llmtest.ScriptError{Status: 400, Message: "no"}}})
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"eval", filepath.Join(r.dir, "questions.jsonl"), "--variant", "plain", "--parallel", "1"}, strings.NewReader(""), &out, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "plain fails on the first answers: ") || r.calls.Load() > 20 {
		t.Errorf("exit code %d after %d calls: %s", code, r.calls.Load(), errs.String())
	}
}

func TestEvalLeaksNothing(t *testing.T) {
	r := newEvalFixture(t, 3, isThird, isThird, llmtest.Script{scriptLine(`You are the inner voice`, `"hmm: MARKER.\n\nthoughts: MARKER."`)})
	for _, mode := range [][]string{nil, {"--json"}} {
		var out, errs bytes.Buffer
		report := filepath.Join(r.dir, "report.md")
		args := append([]string{"eval", filepath.Join(r.dir, "questions.jsonl"), "--variant", "plain,think,deep", "--samples", "1", "-o", report}, mode...)
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitDone {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		if all := out.String() + errs.String() + string(text); strings.Contains(all, "MARKER") {
			t.Errorf("the output has a thought: %s", all)
		}
	}
}

func TestParseVariants(t *testing.T) {
	list, err := eval.ParseStrategies([]string{"plain", " session:90s@openai/gpt-5.2", "model=ollama/a/b"}, parseDuration)
	if err != nil {
		t.Fatal(err)
	}
	if v := list[1]; v.Kind != eval.KindSession || v.Time.Seconds() != 90 || v.Model != "openai/gpt-5.2" {
		t.Errorf("variant %+v", v)
	}
	if v := list[2]; v.Kind != eval.KindPlain || v.Model != "ollama/a/b" {
		t.Errorf("variant %+v", v)
	}
	for _, bad := range [][]string{nil, {""}, {"fast"}, {"plain", "plain"}, {"session"}, {"session:"}, {"session:0s"}, {"plain:1m"}, {"model="}, {"model=gpt"}, {"think@"}} {
		if list, err := eval.ParseStrategies(bad, parseDuration); err == nil {
			t.Errorf("parse %q: %+v", bad, list)
		}
	}
}
