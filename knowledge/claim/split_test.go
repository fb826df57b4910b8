package claim

import (
	"slices"
	"strings"
	"testing"
)

func sentenceTexts(list []Sentence, factual bool) (out []string) {
	for _, s := range list {
		if s.Factual == factual {
			out = append(out, s.Text)
		}
	}
	return out
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		factual    []string
		other      []string
	}{
		{"plain", "It grew. It fell by 3.5 percent.", []string{"It grew.", "It fell by 3.5 percent."}, nil},
		{"citations", "It grew fast [e3]. It fell.[e4][e5] Dr. Smith left [e1, e2].", []string{"It grew fast.", "It fell.", "Dr. Smith left."}, nil},
		{"citation after the stop", "It grew fast. [e3] It fell.", []string{"It grew fast.", "It fell."}, nil},
		{"citation as a subject", "It grew fast. [e3] says so too.", []string{"It grew fast.", "says so too."}, nil},
		{"initials", "J. R. R. Tolkien wrote it in the U.S. in 1954. The U.S. The end came.", []string{"J. R. R. Tolkien wrote it in the U.S. in 1954.", "The U.S.", "The end came."}, nil},
		{"abbreviations", "Acme Inc. sold 5 items, e.g. No. 5 and no. 7, at 5 p.m. It rained.", []string{"Acme Inc. sold 5 items, e.g. No. 5 and no. 7, at 5 p.m.", "It rained."}, nil},
		{"headings", "# The title\n\nIt is red.\n\nFindings\n--------\n\nIt is blue.", []string{"It is red.", "It is blue."}, []string{"The title", "Findings"}},
		{"list", "It has parts:\n\n- The **first** part is red [e1]\n- [ ] The second is blue\n  and large\n1. The third is green", []string{"The first part is red", "The second is blue and large", "The third is green"}, []string{"It has parts:"}},
		{"table", "| Year | People |\n|---|---:|\n| 2019 | 3,559 [e1] |\n| 2020 | 4,000 |", []string{"2019; 3,559", "2020; 4,000"}, []string{"Year; People"}},
		{"code", "It runs.\n\n```go\nx := 1. Then. More.\n```\n\nIt ends well.", []string{"It runs.", "It ends well."}, []string{"x := 1. Then. More."}},
		{"questions", "Is it red? It is blue.", []string{"It is blue."}, []string{"Is it red?"}},
		{"talk", "Hello! Here is what I found:\n\nIn summary: it rose by 5 percent. I hope this helps.", []string{"In summary: it rose by 5 percent."}, []string{"Hello!", "Here is what I found:", "I hope this helps."}},
		{"sources", "It rose again.\n\n## Sources\n\n- [e1] The Times, 2019\n- [e2] The Post", []string{"It rose again."}, []string{"Sources", "The Times, 2019", "The Post"}},
		{"links", "The [city](https://a.example/x_(y)) has ~~no~~ `code` and *stress* in snake_case.", []string{"The city has no code and stress in snake_case."}, nil},
		{"German", "Am 3. Oktober 1990 kam z. B. die Einheit. Es waren ca. 5 Mio. Menschen da. Sie kamen am 4. Tag.", []string{"Am 3. Oktober 1990 kam z. B. die Einheit.", "Es waren ca. 5 Mio. Menschen da.", "Sie kamen am 4. Tag."}, nil},
		{"French", "M. Dupont est né en 1950. Il a dit « Oui. » Elle est partie.", []string{"M. Dupont est né en 1950.", "Il a dit « Oui. »", "Elle est partie."}, nil},
		{"Spanish", "El Sr. López nació en 1950. ¿Dónde vive? Vive en EE.UU. desde 1990.", []string{"El Sr. López nació en 1950.", "Vive en EE.UU. desde 1990."}, []string{"¿Dónde vive?"}},
		{"Chinese", "北京是中国的首都。人口超过两千万[e1]。它很大吗？", []string{"北京是中国的首都。", "人口超过两千万。"}, []string{"它很大吗？"}},
		{"German eras and streets", "Cäsar starb 44 v. Chr. in Rom. Sie wohnt in der Hauptstr. 5 in Bonn.", []string{"Cäsar starb 44 v. Chr. in Rom.", "Sie wohnt in der Hauptstr. 5 in Bonn."}, nil},
		{"Spanish of two words", "Las EE. UU. y México firmaron en 1848. Fue el tratado núm. 5.", []string{"Las EE. UU. y México firmaron en 1848.", "Fue el tratado núm. 5."}, nil},
		{"Italian", "Il dott. Rossi vive a Roma. Anche la sig. Bianchi.", []string{"Il dott. Rossi vive a Roma.", "Anche la sig. Bianchi."}, nil},
		{"Dutch", "Dhr. Jansen woont bijv. Amsterdam of Utrecht. Hij werkt.", []string{"Dhr. Jansen woont bijv. Amsterdam of Utrecht.", "Hij werkt."}, nil},
		{"Russian", "Он живёт на ул. Ленина в Москве. Там хорошо.", []string{"Он живёт на ул. Ленина в Москве.", "Там хорошо."}, nil},
		{"Armenian", "Հայաստանը երկիր է։ Երևանը մայրաքաղաքն է։", []string{"Հայաստանը երկիր է։", "Երևանը մայրաքաղաքն է։"}, nil},
		{"full-wide number", "约为３．１４倍。它很大。", []string{"约为３．１４倍。", "它很大。"}, nil},
		{"quoted", "He said “It is done.” Then he left.", []string{"He said “It is done.”", "Then he left."}, nil},
		{"quotation", "> It is red.\n> It is\n> blue.", []string{"It is red.", "It is blue."}, nil},
		{"hyphen rule", "One is here.\n\n---\n\nTwo is there.", []string{"One is here.", "Two is there."}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := Split(c.text)
			if got := sentenceTexts(list, true); !slices.Equal(got, c.factual) {
				t.Errorf("factual:\n%q, want\n%q", got, c.factual)
			}
			if got := sentenceTexts(list, false); !slices.Equal(got, c.other) {
				t.Errorf("not factual:\n%q, want\n%q", got, c.other)
			}
		})
	}
}

func TestSplitCites(t *testing.T) {
	text := "Red [e3]. Blue it is.[e1][e2] And green [e2, e5] too."
	list := Split(text)
	want := [][]string{{"e3"}, {"e1", "e2"}, {"e2", "e5"}}
	for i, s := range list {
		if !slices.Equal(s.Cites, want[i]) {
			t.Errorf("%q cites %q, want %q", s.Text, s.Cites, want[i])
		}
		if !strings.Contains(text[s.Start:s.End], "[e") {
			t.Errorf("%q is without its citation", text[s.Start:s.End])
		}
	}
}

func TestBounded(t *testing.T) {
	many := strings.Repeat("It is red. ", maxSentences)
	for _, c := range []struct {
		name, text, want string
		left             bool
	}{
		{"short", "It is red [e1].\n", "It is red [e1].\n", false},
		{"as many as are read", many, many, false},
		{"one more", many + "It is blue.", strings.TrimSpace(many), true},
		{"no words behind", many + "\n\n---\n", many + "\n\n---\n", false},
		{"blocks without words", strings.Repeat("- .\n", 4*maxSentences) + "It is red.", strings.TrimSpace(strings.Repeat("- .\n", 4*maxSentences)), true},
		{"a long one", strings.Repeat("word ", 1<<19), "", true},
	} {
		got, left := CheckedPart(c.text)
		if left != c.left || c.want != "" && got != c.want || len(got) > maxSentences*(maxSentence+1) {
			t.Errorf("%s: %d of %d bytes, %t", c.name, len(got), len(c.text), left)
		}
		if again, more := CheckedPart(got); more || again != got {
			t.Errorf("%s: again %d of %d bytes, %t", c.name, len(again), len(got), more)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("# A\n\nIt is 3.5 [e1]. Yes.\n\n| a | b |\n|--|--|\n| 1 | 2 |\n```\nx\n")
	f.Add("> - **a** [x](y) [e1, e2].[e3] 。！[contradicted by e4]")
	f.Fuzz(func(t *testing.T, text string) {
		list := Split(text)
		if len(list) > maxSentences {
			t.Fatalf("%d sentences", len(list))
		}
		end := 0
		for _, s := range list {
			if s.Start < end || s.End <= s.Start || s.End > len(text) || s.End-s.Start > maxSentence {
				t.Fatalf("sentence at %d to %d after %d of %d", s.Start, s.End, end, len(text))
			}
			end = s.End
		}
		cut, left := CheckedPart(text)
		if again := Split(cut); len(again) != len(list) || left != (cut != text) {
			t.Fatalf("%d sentences of %d, %t", len(again), len(list), left)
		}
	})
}
