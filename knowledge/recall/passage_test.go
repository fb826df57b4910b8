package recall

import (
	"strings"
	"testing"

	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

func TestCut(t *testing.T) {
	sentence := "This is a sentence of exactly ten words, as I count. "
	for name, text := range map[string]string{
		"one":      sentence,
		"long":     strings.Repeat(sentence, 100),
		"sections": strings.Repeat("# Head\n\n## Sub\n\n"+strings.Repeat(sentence, 7)+"\n\n", 20),
		"lists":    strings.Repeat("- item of a list that is of some length\n", 200),
		"code":     "```\n" + strings.Repeat("x := 1\n", 500) + "```\n",
		"headings": strings.Repeat("# A\n\n", 300),
		"Chinese":  strings.Repeat("今天天气很好。我们去公园。", 200),
		"words":    strings.Repeat("word ", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			c := document.Markdown(text)
			d := document.NewDocument("x", "x", c)
			checkCut(t, d, cutCase{})
		})
	}
}

type cutCase struct{ turns []turn }

// checkCut checks that passages join to the text and have a good length.
func checkCut(t *testing.T, d *document.Document, c cutCase) {
	t.Helper()
	passages := cutPassages(d, c.turns)
	var all strings.Builder
	at := 0
	for i, p := range passages {
		if p.Start != at || p.End <= p.Start || p.Text != d.Text[p.Start:p.End] {
			t.Fatalf("passage %d is %d to %d, want it to begin at %d", i, p.Start, p.End, at)
		}
		if n := countWords(p.Text); n > 2*maxPassageWords+maxPassageWords {
			t.Errorf("passage %d has %d words", i, n)
		}
		at = p.End
		all.WriteString(p.Text)
	}
	if all.String() != d.Text {
		t.Error("the passages are not the text")
	}
}

func FuzzCut(f *testing.F) {
	f.Add("# A\n\nText. More text.\n\n- x\n- y\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := document.NewDocument("x", "x", document.Markdown(text))
		at := 0
		for _, p := range cutPassages(d, []turn{{0, "Anna"}, {len(d.Text) / 2, "Ben"}}) {
			if p.Start != at || p.End <= p.Start || p.Text != d.Text[p.Start:p.End] {
				t.Fatalf("passage %+v, want it to begin at %d", p, at)
			}
			at = p.End
			checkPassageDocument(t, p.Text, p.Heading)
		}
		if at != len(d.Text) {
			t.Fatalf("passages end at %d, want %d", at, len(d.Text))
		}
	})
}

func checkPassageDocument(t *testing.T, text, headings string) {
	d := passageDocument(index.Passage{Text: text, Heading: headings}, "x", 1)
	at := 0
	for _, s := range d.Sentences {
		if s.Start < at || s.End <= s.Start || s.End > len(text) {
			t.Fatalf("sentence %+v after %d in %q", s, at, text)
		}
		at = s.End
	}
}

func FuzzEntries(f *testing.F) {
	f.Add("a.jsonl", []byte(`{"text":"x","id":1}`))
	f.Add("a.csv", []byte("text,source\nx,y\n"))
	f.Add("a.json", []byte(`[{"text":"x","source":"y"}]`))
	f.Add("a.md", []byte("# 2024-01-01\n\nx\n\n# 2024-01-02\n\ny"))
	f.Add("talk.jsonl", []byte(`{"speaker":"a","text":"b"}`))
	f.Add("2024-01-01.md", []byte("x"))
	f.Fuzz(func(t *testing.T, name string, raw []byte) {
		keys := map[string]string{}
		for e, err := range fileEntries(source{path: name, userNamed: true}, raw, Item{Path: name, Source: name}) {
			if err != nil {
				continue
			}
			e.deriveFields("me")
			if e.item.Hash == "" || e.item.Size != len(e.doc.Text) || !e.item.Kind.isKnown() {
				t.Fatalf("item %+v", e.item)
			}
			if old, ok := keys[e.item.Part]; ok && old != e.sum {
				continue // the first counts
			}
			keys[e.item.Part] = e.sum
		}
		for e, err := range fileEntries(source{path: name, userNamed: true}, raw, Item{Path: name, Source: name}) {
			if err != nil {
				continue
			}
			e.deriveFields("me")
			if _, ok := keys[e.item.Part]; !ok {
				t.Fatalf("another part the second time: %q", e.item.Part)
			}
		}
	})
}

func TestParseDate(t *testing.T) {
	for s, want := range map[string]string{
		"2024-03-05T10:00:00Z": "2024-03-05T10:00:00Z", "1709632800": "2024-03-05T10:00:00Z", "1709632800000": "2024-03-05T10:00:00Z",
		"Tue Mar 05 10:00:00 +0000 2024": "2024-03-05T10:00:00Z", "1:56 pm on 8 May, 2023": "2023-05-08T13:56:00Z", "5.3.2024": "2024-03-05T00:00:00Z",
		"2024": "", "soon": "", "": "", "99999999999999999999": "", "NaN": "",
	} {
		got, ok := parseDate(s)
		if text := got.Format("2006-01-02T15:04:05Z07:00"); ok != (want != "") || ok && text != want {
			t.Errorf("%q: %s, %v, want %q", s, text, ok, want)
		}
	}
	for s, want := range map[string]string{
		"2024-03-05": "2024-03-05", "Tuesday, 5 March 2024": "2024-03-05", "March 5th, 2024: rain": "2024-03-05", "5. März 2024": "2024-03-05",
		"2024-03-05 and more": "2024-03-05", "2024-13-05": "", "[1.2.0] - 2024-03-05": "", "Chapter 1": "", "31 February 2024": "",
	} {
		got, ok := parseDay(s)
		if ok != (want != "") || ok && got.Format("2006-01-02") != want {
			t.Errorf("day of %q: %v, %v, want %q", s, got, ok, want)
		}
	}
	for s, want := range map[string]string{"/x/2024-03-05.md": "2024-03-05", "/x/20240305 trip.txt": "2024-03-05", "/j/2024/03/05.md": "2024-03-05", "/x/202403051.md": "", "/x/05.md": ""} {
		got, ok := pathDay(s)
		if ok != (want != "") || ok && got.Format("2006-01-02") != want {
			t.Errorf("day of %q: %v, %v, want %q", s, got, ok, want)
		}
	}
}
