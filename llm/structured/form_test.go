package structured

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"ponder/llm"
)

type reportForm struct {
	Items   []itemForm `json:"items"`
	Votes   []voteForm `json:"votes,omitempty"`
	Settled bool       `json:"settled,omitempty"`
	Note    string     `json:"note,omitempty" labels:"remark"`
}

type itemForm struct {
	Kind string   `json:"kind" labels:"type"`
	Item string   `json:"item" labels:"text" head:""`
	Sure *float64 `json:"sure" labels:"confidence"`
	Rank *int     `json:"rank,omitempty" scale:"10"`
	Refs []string `json:"refs,omitempty" labels:"rests on"`
}

type voteForm struct {
	ID    string `json:"id"`
	Count *int   `json:"count" scale:"10"`
}

type essayForm struct {
	Essay  string   `json:"essay" labels:"answer"`
	Points []string `json:"points" labels:"key points"`
	Sure   *float64 `json:"sure"`
	Enough *bool    `json:"enough,omitempty"`
}

var (
	report = New[reportForm](llm.SchemaFor[reportForm]("report"))
	essay  = New[essayForm](llm.SchemaFor[essayForm]("essay"))
)

func TestReadRecords(t *testing.T) {
	const one = `{"items":[{"kind":"a","item":"One.","sure":0.8}]}`
	for _, tt := range []struct{ name, text, want string }{
		{"as asked", one, one},
		{"in a fence", "Here:\n```json\n" + one + "\n```\nBye!", one},
		{"slips", `{'items': [{'kind': 'a', 'item': 'One.', 'sure': '80%',},]}`, one},
		{"in a string", `"{\"items\":[{\"kind\":\"a\",\"item\":\"One.\",\"sure\":0.8}]}"`, one},
		{"other names", `{"Items":[{"type":"a","text":"One.","Confidence":"8/10"}]}`, one},
		{"within", `{"response":` + one + `}`, one},
		{"a call", `{"name":"report","arguments":` + one + `}`, one},
		{"a list", `[{"kind":"a","item":"One.","sure":0.8}]`, one},
		{"one record", `{"kind":"a","item":"One.","sure":0.8}`, one},
		{"one record in the list", `{"items":{"kind":"a","item":"One.","sure":0.8}}`, one},
		{"texts", `{"items":["One.","Two."]}`, `{"items":[{"kind":"","item":"One.","sure":null},{"kind":"","item":"Two.","sure":null}]}`},
		{"a number without bounds", `{"items":[{"kind":"a","item":"One.","sure":4.5E+245401698}]}`, `{"items":[{"kind":"a","item":"One.","sure":null}]}`},
		{"cut off", `{"items":[{"kind":"a","item":"One.","sure":0.8},{"kind":"b","it`, one},
		{"two values", one + "\n" + one, `{"items":[{"kind":"a","item":"One.","sure":0.8},{"kind":"a","item":"One.","sure":0.8}]}`},
		{"none", `{"items":null}`, `{"items":[]}`},
		{"pairs", `{"items":[],"votes":{"q2":7,"q1":"3 of 10"}}`, `{"items":[],"votes":[{"id":"q1","count":3},{"id":"q2","count":7}]}`},
		{"lines", "ITEM: One.\nTYPE: a\nSURE: 0.8", one},
		{"marked lines", "1. **Item 1:** One.\n   * **Type:** a\n   * **Sure** (0-1): 80 %", one},
		{"headings", "## Item\nOne.\n## Kind\na\n## Sure\nhigh", one},
		{"one line", "ITEM: One. TYPE: a SURE: 0.8", one},
		{"bars", "Item: One. | type: a | sure: .8", `{"items":[{"kind":"a","item":"One.","sure":0.8}]}`},
		{"values first", "TYPE: a\nSURE: 0.8\nITEM: One.\n---\nITEM: Two.", `{"items":[{"kind":"a","item":"One.","sure":0.8},{"kind":"","item":"Two.","sure":null}]}`},
		{"a list below a label", "Items:\n- One.\n- Two.\n\nIt is so.", `{"items":[{"kind":"","item":"One.","sure":null},{"kind":"","item":"Two.","sure":null}]}`},
		{"more than one paragraph", "ITEM: One.\n\nMore.\nTYPE: a\nITEM: Two.\n\nBye!", `{"items":[{"kind":"a","item":"One.\n\nMore.","sure":null},{"kind":"","item":"Two.","sure":null}]}`},
		{"an answer and its parts", "ITEM: One.\nRANK: 7/10\nRESTS ON: a; b\nSETTLED: yes\nREMARK: so it is", `{"items":[{"kind":"","item":"One.","sure":null,"rank":7,"refs":["a","b"]}],"settled":true,"note":"so it is"}`},
		{"JSON in a line", `ITEM: It takes {"text":"x","type":"y"}.`, `{"items":[{"kind":"","item":"It takes {\"text\":\"x\",\"type\":\"y\"}.","sure":null}]}`},
		{"a table", "| Item | Kind |\n|---|---|\n| One. | a |", ""},
		{"XML", "<item kind=\"a\">One.</item>", ""},
		{"other labels", "GEDANKE: Eins.", ""},
		{"prose", "It is so: one thing.", ""},
		{"other JSON", `{"mood":"fine"}`, ""},
		{"nothing", "", ""},
	} {
		checkForm(t, tt.name, report, tt.text, tt.want)
	}
}

// An answer without records has sections.
func TestReadSections(t *testing.T) {
	const all = `{"essay":"It is so.\n\nIndeed.","points":["One","Two"],"sure":0.8}`
	for _, tt := range []struct{ name, text, want string }{
		{"as asked", all, all},
		{"labels", "ESSAY: It is so.\n\nIndeed.\nPOINTS:\n- One\n- Two\nSURE: 0.8", all},
		{"headings", "## Answer\nIt is so.\n\nIndeed.\n\n## Key points\n1. One\n2. Two\n\n## Sure\n80%", all},
		{"without its label", "It is so.\n\nIndeed.\n\n**Points:** One; Two\n**Sure:** high", all},
		{"the last counts", "ESSAY: It is so.\nSure: not at first.\nPOINTS:\n- One\nSURE: 0.8", `{"essay":"It is so.\nSure: not at first.","points":["One"],"sure":0.8}`},
		{"another heading", "# Answer\nIt is so.\n## Points\n- One\n## Limits\nFew.", `{"essay":"It is so.\n## Limits\nFew.","points":["One"],"sure":null}`},
		{"code", "ESSAY: So:\n```\nSURE: 0.1\n```\nPOINTS: One", `{"essay":"So:\n` + "```" + `\nSURE: 0.1\n` + "```" + `","points":["One"],"sure":null}`},
		{"a part of JSON", "ESSAY: It takes {\"points\":[\"x\"]}.\nSURE: 1", `{"essay":"It takes {\"points\":[\"x\"]}.","points":null,"sure":1}`},
		{"a truth value", "Enough: no\nPoints:\n- One", `{"essay":"","points":["One"],"sure":null,"enough":false}`},
		{"prose", "It is so.", ""},
	} {
		checkForm(t, tt.name, essay, tt.text, tt.want)
	}
}

func checkForm[T any](t *testing.T, name string, f *Form[T], text, want string) {
	t.Helper()
	v, ok := f.Read(text)
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if ok != (want != "") || ok && string(js) != want {
		t.Errorf("%s: read %v\n%s, want\n%s", name, ok, js, want)
	}
}

func TestFault(t *testing.T) {
	for text, want := range map[string]string{"It is so.": "there is no JSON value in the answer", `{"items":7}`: "items: want array, got integer 7", `{"items":[]}`: "nothing"} {
		if err := report.Fault(text, "nothing"); !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{
		"0": 0, "0.8": 0.8, "0,75": 0.75, ".8": 0.8, "80 %": 0.8, "75 percent": 0.75, "[0.8]": 0.8, "**0.9**": 0.9, "7 / 10": 0.7, "8 out of 10": 0.8, "4 of 5": 0.8, "3/0": 3,
		"about 0.4": 0.4, "-1": -1, "on a scale of 0 to 1, 0.8": 0.8, "0.6-0.8": 0.6, "Medium": 0.5, "very low": 0.1, "85": 85, "~0.7 (fairly sure, 2 caveats)": 0.7,
	} {
		m := member{scale: 1}
		if got, ok := m.parseNumber(text); !ok || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, ok, want)
		}
	}
	for text, want := range map[string]float64{"8": 8, "8/10": 8, "70%": 7, "0.9": 9, "high": 8, "4/5": 8} {
		m := member{scale: 10}
		if got, ok := m.parseNumber(text); !ok || got != want {
			t.Errorf("%q of ten: %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "it depends", "none"} {
		m := member{scale: 1}
		if got, ok := m.parseNumber(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"items":[{"item":"x","sure":"1e999"}],"votes":{"a":1}}`, "ITEM: a\nSURE: 9\n\n---\nVOTES:\n- b", "## Essay\nx\n```\nSURE: 1\n", "[[\"a b\"],{\"essay\":{\"essay\":[7,true]}}", "\xff ITEM: \xff", "ITEM: a TYPE: b |KIND: c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, _ := report.Read(text)
		e, _ := essay.Read(text)
		js, err := json.Marshal([]any{r, e})
		if err != nil || !utf8.Valid(js) {
			t.Errorf("%q: %v", text, err)
		}
		for _, p := range Paragraphs(text) {
			if strings.TrimSpace(p) != p || p == "" {
				t.Errorf("%q has the paragraph %q", text, p)
			}
		}
	})
}

// A correction replaces the answer before it; lists of several answers are joined.
func TestReadCorrection(t *testing.T) {
	v, ok := essay.Read(`{"essay":"Five.","points":["a b"],"sure":0.9}` + "\n\nThat is wrong. Corrected:\n\n" + `{"essay":"Four.","points":[],"sure":0.8}`)
	if !ok || v.Essay != "Four." || len(v.Points) != 0 || *v.Sure != 0.8 {
		t.Errorf("%+v, %v", v, ok)
	}
	type listAnswer struct {
		Items []string `json:"items"`
		Ready bool     `json:"ready"`
		Why   string   `json:"why,omitempty"`
	}
	form := New[listAnswer](llm.SchemaFor[listAnswer]("listed"))
	for text, want := range map[string]listAnswer{
		`{"items":["a b"],"ready":true,"why":"Five."} Correction: {"items":["c d"],"ready":false,"why":"Four."}`: {[]string{"c d"}, false, "Four."},
		`{"items":["a b"],"ready":true}` + "\n" + `{"items":["a b"],"ready":true}`:                               {[]string{"a b"}, true, ""},
		`{"items":["a b"],"ready":true} Correction: {"items":["c`:                                                {[]string{"a b"}, true, ""},
		`{"items":["a b"]} {"items":["c d"],"ready":true}`:                                                       {[]string{"a b"}, true, ""},
	} {
		if l, ok := form.Read(text); !ok || !slices.Equal(l.Items, want.Items) || l.Ready != want.Ready || l.Why != want.Why {
			t.Errorf("%s: %+v, %v", text, l, ok)
		}
	}
	r, ok := report.Read(`{"items":[{"kind":"a","item":"One.","sure":0.8}]}` + "\n" + `{"items":[{"kind":"a","item":"Two.","sure":0.8}]}`)
	if !ok || len(r.Items) != 2 {
		t.Errorf("%+v, %v", r, ok)
	}
}
