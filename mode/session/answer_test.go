package session

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/textkit/similarity"
	"ponder/llm"
	"ponder/llm/structured"
)

var update = flag.Bool("update", false, "write the golden files")

type file struct{ name, text string }

func readArchive(t testing.TB, path string) (comment string, files []file) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		name, ok := strings.CutPrefix(line, "-- ")
		if name, is := strings.CutSuffix(name, " --\n"); ok && is {
			files = append(files, file{name: name})
		} else if n := len(files); n > 0 {
			files[n-1].text += line
		} else {
			comment += line
		}
	}
	return comment, files
}

// checkCorpus compares the results of read on each answer of an archive with its golden text. Unreadable
// answers are read again as prose.
func checkCorpus(t *testing.T, path string, read func(text string, prose bool) (any, error)) {
	comment, files := readArchive(t, path)
	want := make(map[string]string)
	for _, f := range files {
		want[f.name] = f.text
	}
	var fresh strings.Builder
	fresh.WriteString(comment)
	for _, f := range files {
		name, ok := strings.CutSuffix(f.name, ".in")
		if !ok {
			continue
		}
		text := f.text
		if strings.HasSuffix(name, "crlf") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		got := formatGolden(t, text, read)
		fmt.Fprintf(&fresh, "-- %s --\n%s-- %s.want --\n%s", f.name, f.text, name, got)
		if *update {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want[name+".want"], got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, []byte(fresh.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func formatGolden(t *testing.T, text string, read func(string, bool) (any, error)) string {
	text = llm.FinalText(text)
	v, err := read(text, false)
	begin := ""
	if err != nil {
		begin = "error: " + structured.Reason(err) + "\n"
		if v, err = read(text, true); err != nil {
			return begin
		}
		begin += "as prose:\n"
	}
	switch v := v.(type) {
	case []modelThought:
		return begin + encodeLines(t, v)
	case []modelQuestion:
		return begin + encodeLines(t, v)
	}
	return begin + encodeLines(t, []any{v})
}

func encodeLines[E any](t *testing.T, list []E) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range list {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestReadThoughts(t *testing.T) {
	checkCorpus(t, "testdata/thoughts.txtar", func(text string, prose bool) (any, error) {
		a, err := readAnswer(text, "what is so?", "", prose)
		return a.thoughts, err
	})
}

func TestReadQuestions(t *testing.T) {
	checkCorpus(t, "testdata/questions.txtar", func(text string, prose bool) (any, error) {
		list, _, err := readQuestions(text, "what is so?", prose)
		return list, err
	})
}

func TestReadSummary(t *testing.T) {
	checkCorpus(t, "testdata/synthesis.txtar", func(text string, prose bool) (any, error) { return readSummary(text, "what is so?", false, prose) })
}

func TestReadProse(t *testing.T) {
	checkCorpus(t, "testdata/prose.txtar", func(text string, _ bool) (any, error) {
		a, err := readAnswer(text, "what is so?", "", true)
		return a.thoughts, err
	})
}

func TestReadAnswersInProse(t *testing.T) {
	checkCorpus(t, "testdata/answers.txtar", func(text string, _ bool) (any, error) { return readSummary(text, "what is so?", true, true) })
}

func TestSaid(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "…": false, "(none)": false, "N/A": false, "null": false, "None at this time.": false, "No remaining questions.": false, "(no further thoughts)": false, "No new thoughts.": false,
		"There are no open questions left.": false, "[your thought]": false, "Nothing to add.": false,
		"No.": true, "Nein": true, "нет": true, "没有": true, "No thought is free.": true, "None of them holds.": true, "Nothing moves faster than light.": true, "No question remains without an answer.": true, "7": true, "[e1]": true,
	} {
		if got := hasText(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Questions come with thoughts, ranks with questions, or either alone.
func TestReadRaised(t *testing.T) {
	for text, want := range map[string]string{
		`{"thoughts":[{"thought":"A b.","type":"insight","confidence":0.8}],"questions":[{"question":"Why?","priority":8},{"question":"When?"}]}`: "Why? 8, When? 5",
		`{"thoughts":[{"thought":"A b.","type":"insight","confidence":0.8}],"questions":["Why?"]}`:                                                "Why? 5",
		"THOUGHT: A b.\nQUESTION: Why?\nPRIORITY: 8\n---\nTHOUGHT: C d.\nQUESTION: When?\nTHOUGHT: E f.":                                          "Why? 8, When? 5",
		"THOUGHT: A b.\n\n**New questions:**\n1. Why? (priority: 8)\n2. When?":                                                                    "Why? 8, When? 5",
		"THOUGHT: Is it so? I think it is.\nTYPE: question":                                                                                       "",
		"THOUGHT: The API takes {\"text\": \"hello\", \"type\": \"note\"}.":                                                                       "",
		"THOUGHT: A b.\nIMPORTANCE: 0.9\n---\nQUESTION: Why?":                                                                                     "Why? 5",
	} {
		a, err := readAnswer(text, "what is so?", "", false)
		var got []string
		for _, q := range a.questions {
			got = append(got, fmt.Sprint(q.Text, " ", q.Priority))
		}
		if got := strings.Join(got, ", "); got != want || err != nil {
			t.Errorf("%s: %q, want %q, %v", text, got, want, err)
		}
	}
}

// A thought that is only the focus is none, and a thought is no new question.
func TestCopiedFocus(t *testing.T) {
	text := `{"thoughts":[{"thought":"How does the tide rise?"},{"thought":"The moon raises the tide."}],"questions":[{"question":"How high is it?,"}]}`
	a, err := readAnswer(text, "what is so?", "How does the tide rise?", false)
	if err != nil || len(a.thoughts) != 1 || a.thoughts[0].Text != "The moon raises the tide." || len(a.questions) != 1 || a.questions[0].Text != "How high is it?" {
		t.Errorf("%+v, %v", a, err)
	}
	s := &state{runInput: &runInput{input: similarity.Parse("What is so?")}, History: []*pastThought{newPastThought("The moon raises the tide.", "")}}
	s.addQuestions([]modelQuestion{{Text: "The moon raises the tide"}, {Text: "Does the moon raise the tide?"}}, false)
	if len(s.Open) != 1 || s.Open[0].Text != "Does the moon raise the tide?" {
		t.Errorf("%d open questions", len(s.Open))
	}
}

func TestReadRanks(t *testing.T) {
	for text, want := range map[string]string{
		"RANK: q3 9\nRANK: [q1] 2\nRANK: q4 -> 7":           "[{q3 9} {q1 2} {q4 7}]",
		"RANKED:\n- q3: 9\n- Q1: 2/10":                      "[{q3 9} {q1 2}]",
		"Q1: What of 2?\nPRIORITY: 8":                       "[]",
		`{"ranked":[{"id":"q1","priority":"9/10"}]}`:        "[{q1 9}]",
		`{"questions":[],"ranked":{"q1":9,"3":2}}`:          "[{q3 2} {q1 9}]",
		`{"questions":[],"ranked":["q1: 9","none","q3 2"]}`: "[{q1 9} {q3 2}]",
	} {
		if _, got, err := readQuestions(text, "what is so?", false); fmt.Sprint(got) != want || err != nil {
			t.Errorf("%s: %v, want %s, %v", text, got, want, err)
		}
	}
}

func TestReadSettled(t *testing.T) {
	for text, want := range map[string]bool{
		"THOUGHT: A b.\nSETTLED: true": true, "THOUGHT: A b. | Settled: yes": true, `{"thoughts":[{"thought":"A b."}],"settled":"true"}`: true, "**Settled:** true\nTHOUGHT: A b.": true,
		"THOUGHT: A b.\nSETTLED: no": false, "THOUGHT: The matter is not settled: yes, some say so.": false,
	} {
		if a, err := readAnswer(text, "what is so?", "", false); a.settled != want || err != nil || len(a.thoughts) != 1 {
			t.Errorf("%s: %v %v", text, a, err)
		}
	}
}

// Inline reasoning is never part of an answer.
func TestReasoningIsNotRead(t *testing.T) {
	for name, around := range map[string][2]string{
		"tags":    {"<think>\nTHOUGHT: Reasoned.\nSYNTHESIS: Reasoned.\nQUESTION: Reasoned?\nCONFIDENCE: 0.1\n</think>\n\n", ""},
		"an end":  {"THOUGHT: Reasoned.\nSYNTHESIS: Reasoned.\nQUESTION: Reasoned?\nCONFIDENCE: 0.1\n</think>\n\n", "<|im_end|>"},
		"harmony": {"<|channel|>analysis<|message|>THOUGHT: Reasoned.\nSYNTHESIS: Reasoned.<|end|><|start|>assistant<|channel|>final<|message|>", "<|return|>"},
		"long":    {"<think>" + strings.Repeat("SYNTHESIS: Reasoned.\n", 2*maxParsed/20) + "</think>", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "Why is the sea salt?", Options{}, 2*time.Second, func(a ponder.Action) ponder.Body {
				text := "SYNTHESIS: It is salt.\nINSIGHTS:\n- One\nCONFIDENCE: 0.8"
				switch what, n := stepOf(keyOf(a)); what {
				case thoughts:
					text = fmt.Sprintf("THOUGHT: River %d carries salt.\nTYPE: insight\nCONFIDENCE: 0.8", n)
				case questions:
					text = "QUESTION: Which rivers?\nPRIORITY: 8"
				}
				return textAnswer(around[0] + text + around[1])
			}).runToEnd()
			for _, ev := range d.log {
				if _, ok := ev.Body.(ponder.CallFinished); !ok && strings.Contains(string(mustEncode(t, ev)), "Reasoned") {
					t.Errorf("heard: %.300s", mustEncode(t, ev))
				}
			}
			if d.fin.Answer != "It is salt." || d.fin.Confidence != 0.8 {
				t.Errorf("answer %q, %v", d.fin.Answer, d.fin.Confidence)
			}
		})
	}
}
