package claim

import (
	"testing"

	"ponder"
)

func TestMark(t *testing.T) {
	text := "# Title\n\nIt is red [e1]. It is blue. Is it?\n\n- **Green** it is [e2]\n- Brown\nit was\n\n| a | b |\n|---|---|\n| 3 birds | 4 fish |\n"
	list := Split(text)
	findings := make([]Finding, len(list))
	for i, s := range list {
		switch s.Text {
		case "It is red.":
			findings[i].Verdict = Supported
		case "It is blue.":
			findings[i] = Finding{Verdict: Contradicted, Against: []ponder.Passage{{Evidence: "e4"}}}
		case "Green it is":
			findings[i] = Finding{Verdict: Qualified, Score: 0.5, mismatch: true}
		default:
			findings[i].Verdict = Unverified
		}
	}
	want := "# Title\n\nIt is red [e1]. It is blue. [contradicted by e4] Is it?\n\n- **Green** it is [e2] [partly supported]\n- Brown\nit was [unverified]\n\n| a | b |\n|---|---|\n| 3 birds | 4 fish [unverified] |\n"
	got := Mark(text, list, findings)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again := Mark(got, list, findings); again != want {
		t.Errorf("again:\n%s", again)
	}
	if again := Mark(got, Split(got), findings); again != want {
		t.Errorf("split again:\n%s", again)
	}
	if bare := Unmark(got); bare != text {
		t.Errorf("without marks:\n%s", bare)
	}
}

func FuzzMark(f *testing.F) {
	f.Add("It is red [e1]. **It is blue.** [unverified]\n\n| a | b |\n|--|--|\n| 1 | 2 |\n- x [contradicted by e4]", uint8(3))
	f.Add("[unver[unverified]ified] A. [contradicted by B. e4] `C. D.`", uint8(1))
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		list := Split(text)
		kinds := []Finding{{Verdict: Unverified}, {Verdict: Supported}, {Verdict: Contradicted, Against: []ponder.Passage{{Evidence: "e4"}}}, {Verdict: Qualified}}
		findings := make([]Finding, len(list))
		for i := range findings {
			findings[i] = kinds[(i+int(n))%len(kinds)]
		}
		got := Mark(text, list, findings)
		if again := Mark(got, list, findings); again != got {
			t.Fatalf("%q becomes %q", got, again)
		}
		if bare := Unmark(got); bare != Unmark(text) {
			t.Fatalf("%q is %q without marks, and was %q", got, bare, Unmark(text))
		}
	})
}
