package claim

import (
	"slices"
	"testing"

	"ponder"
)

func TestRecite(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		cites            [][]string
	}{
		{"another", "The town has 3,506 people [e2]. It is old [e4].", "The town has 3,506 people [e3]. It is old [e4].", [][]string{{"e3"}, nil}},
		{"behind the stop", "The town has 3,506 people. [e2] It is old.", "The town has 3,506 people [e3]. It is old.", [][]string{{"e3"}, nil}},
		{"several", "The town has 3,506 people [e2][e5].", "The town has 3,506 people [e3] [e7].", [][]string{{"e3", "e7"}}},
		{"none before", "The town has 3,506 people.", "The town has 3,506 people [e3].", [][]string{{"e3"}}},
		{"in the middle", "The town [e2] has 3,506 people, says Anna [e2].", "The town has 3,506 people, says Anna [e1].", [][]string{{"e1"}}},
		{"in an item", "- The town has 3,506 people [e2].\n- It is old [e4].", "- The town has 3,506 people [e3].\n- It is old [e4].", [][]string{{"e3"}, nil}},
		{"not at all", "The town has 3,506 people [e2].", "The town has 3,506 people [e2].", [][]string{nil}},
	} {
		if got := ReplaceCitations(c.text, Split(c.text), c.cites); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSources(t *testing.T) {
	of := func(ids ...string) (list []ponder.Passage) {
		for _, id := range ids {
			list = append(list, ponder.Passage{Evidence: id})
		}
		return list
	}
	for _, c := range []struct {
		name  string
		cites []string
		f     Finding
		want  []string
	}{
		{"right already", []string{"e1"}, Finding{Verdict: Supported, Quotes: of("e1", "e2")}, nil},
		{"another one says it", []string{"e3"}, Finding{Verdict: Supported, Quotes: of("e1", "e2", "e4")}, []string{"e1", "e2"}},
		{"one of them says otherwise", []string{"e1", "e3", "e5"}, Finding{Verdict: Supported, Quotes: of("e1"), Against: of("e3", "e1")}, []string{"e1", "e5"}},
		{"nothing was cited", nil, Finding{Verdict: Supported, Quotes: of("e2", "e2")}, []string{"e2"}},
		{"nothing was cited, and a part is stated", nil, Finding{Verdict: Qualified, Quotes: of("e2")}, []string{"e2"}},
		{"nothing was cited, and a detail differs", nil, Finding{Verdict: Qualified, Quotes: of("e2"), mismatch: true}, nil},
		{"nothing bears it out", []string{"e3"}, Finding{Verdict: Unverified, Quotes: of("e1")}, nil},
		{"it is wrong", []string{"e3"}, Finding{Verdict: Contradicted, Against: of("e3")}, nil},
	} {
		got, ok := c.f.Sources(Sentence{Cites: c.cites})
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %t, want %q", c.name, got, ok, c.want)
		}
	}
}

// FuzzRecite checks that only citations change, and change as requested.
func FuzzRecite(f *testing.F) {
	f.Add("The town has 3,506 people [e2]. It is old [e4].", "e3")
	f.Add("| a | 5 km [e1] |\n", "e9")
	f.Fuzz(func(t *testing.T, text, id string) {
		id = "e" + string(rune('1'+len(id)%9))
		clean, _ := CleanCitations(text, func(string) bool { return true }, func(string) bool { return true })
		sentences := Split(clean)
		cites := make([][]string, len(sentences))
		for i, s := range sentences {
			if s.Factual {
				cites[i] = []string{id}
			}
		}
		got := ReplaceCitations(clean, sentences, cites)
		if plain, want := citationPattern.ReplaceAllString(got, ""), citationPattern.ReplaceAllString(clean, ""); plain != want {
			t.Errorf("%q became %q", want, plain)
		}
	})
}
