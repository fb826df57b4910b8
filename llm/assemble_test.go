package llm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

type page struct {
	text     string
	replaced int
}

func (p *page) applyEdit(e Edit) {
	if e.Back > 0 {
		p.replaced++
	}
	p.text = p.text[:len(p.text)-e.Back] + e.Text
}

// Steps are ROUND.ATTEMPT@OFFSET:DELTA or ROUND=STORED.
func TestTextAssembler(t *testing.T) {
	for name, tt := range map[string]struct {
		steps    []string
		want     string
		replaced int
		eager    string // shown before the last step, if Eager
	}{
		"in deltas":               {[]string{"1.1@0:It ", "1.1@3:is ", "1.1@6:so.", "1=It is so."}, "It is so.", 0, "It is so."},
		"not in deltas":           {[]string{"1=It is so."}, "It is so.", 0, ""},
		"space around it":         {[]string{"1.1@0: \n", "1.1@2: Hel", "1.1@6:lo ", "1.1@9: ", "1.1@10:there.", "1.1@16: \n", "1= Hello  there. \n"}, "Hello  there.", 0, "Hello  there."},
		"two rounds":              {[]string{"1.1@0:One.\n", "1=One.", "2.1@0:\n Two.", "2=Two."}, "One.\n\nTwo.", 0, "One.\n\nTwo."},
		"a round of space":        {[]string{"1.1@0: \n", "2=So."}, "So.", 0, ""},
		"an end that is lost":     {[]string{"1.1@0:It is", "1=It is so."}, "It is so.", 0, "It is"},
		"a beginning that is":     {[]string{"1.1@3:is so.", "1=It is so."}, "It is so.", 0, ""},
		"a middle that is":        {[]string{"1.1@0:It ", "1.1@6:so.", "1=It is so."}, "It is so.", 0, "It"},
		"deltas that come twice":  {[]string{"1.1@0:It ", "1.1@0:It ", "1.1@0:It is ", "1.1@3:is ", "1.1@6:so.", "1=It is so."}, "It is so.", 0, "It is so."},
		"a late delta":            {[]string{"1.1@0:It is", "1=It is so.", "1.1@5: so.", "2.1@0:And", "1.1@0:It", "2=And why."}, "It is so.\n\nAnd why.", 0, "It is so.\n\nAnd"},
		"stored twice":            {[]string{"1=So.", "1=So.", "2=So.", "1=No."}, "So.\n\nSo.", 0, "So.\n\nSo."},
		"the same words again":    {[]string{"1.1@0:It is", "1.2@0:It ", "1.2@3:is so.", "1=It is so."}, "It is so.", 0, "It is so."},
		"other words":             {[]string{"1.1@0:It is n", "1.2@0:It ", "1.2@3:is so.", "1=It is so. Yes."}, "It is so. Yes.", 1, "It is so."},
		"other words of a second": {[]string{"1=One.", "2.1@0:Two", "2.2@0:A", "2.1@3: late", "2.2@1: third", "2=A third."}, "One.\n\nA third.", 1, "One.\n\nA third"},
		"fewer words":             {[]string{"1.1@0:It is so", "1=It is"}, "It is", 1, "It is so"},
		"a round that is dropped": {[]string{"1.1@0:It is n", "2.1@0:It is so.", "2=It is so."}, "It is so.", 1, "It is so."},
		"letters in parts":        {[]string{"1.1@0:bl\xc3", "1.1@3:\xbc", "1.1@4:h", "1=blüh"}, "blüh", 0, "blüh"},
	} {
		for _, eager := range []bool{false, true} {
			a, p, before := TextAssembler{Eager: eager}, page{}, ""
			for _, step := range tt.steps {
				var round, attempt, offset int
				before = a.Text()
				head, text, delta := strings.Cut(step, ":")
				if !delta {
					head, text, _ = strings.Cut(step, "=")
				}
				if _, err := fmt.Sscanf(strings.NewReplacer(".", " ", "@", " ").Replace(head)+" 0 0", "%d %d %d", &round, &attempt, &offset); err != nil {
					t.Fatal(err)
				}
				if delta {
					p.applyEdit(a.AddDelta(round, attempt, offset, text))
				} else {
					p.applyEdit(a.Store(round, text))
				}
			}
			if p.text != tt.want || a.Text() != tt.want || a.Stored() != tt.want || a.Open() != "" {
				t.Errorf("%s, eager %v: %q, %q, of which %q is stored; want %q", name, eager, p.text, a.Text(), a.Stored(), tt.want)
			}
			if p.replaced != tt.replaced {
				t.Errorf("%s, eager %v: replaced %d times, not %d", name, eager, p.replaced, tt.replaced)
			}
			if eager && before != tt.eager {
				t.Errorf("%s: %q before the last step, want %q", name, before, tt.eager)
			}
		}
	}
}

func TestTextAssemblerDrop(t *testing.T) {
	var a TextAssembler
	var p page
	p.applyEdit(a.Store(1, "One."))
	p.applyEdit(a.AddDelta(2, 1, 0, "Two"))
	if a.Open() != "Two" || a.Text() != "One.\n\nTwo" {
		t.Errorf("%q is open in %q", a.Open(), a.Text())
	}
	p.applyEdit(a.Drop())
	p.applyEdit(a.AddDelta(2, 1, 3, " and three"))
	if p.text != "One." || a.Text() != "One." || a.Open() != "" || a.Drop() != (Edit{}) {
		t.Errorf("%q, %q", p.text, a.Text())
	}
}

// Lost, late and repeated deltas do not change the result. A single attempt that is
// stored unchanged loses nothing.
func TestTextAssemblerProperty(t *testing.T) {
	words := []string{"a", " b", "\n", "  ", "é", "日本", " c.", "\n\nd", "**e**", ""}
	for seed := range uint64(5000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		type delta struct {
			round, attempt, offset int
			text                   string
		}
		a, p := TextAssembler{Eager: rnd.IntN(2) == 0}, page{}
		var sent []delta
		var stored []string
		retried := false
		for round := 1; round <= 1+rnd.IntN(3); round++ {
			attempts := 1 + rnd.IntN(5)/3
			for attempt := 1; attempt <= attempts; attempt++ {
				text := ""
				for range rnd.IntN(8) {
					d := delta{round, attempt, len(text), words[rnd.IntN(len(words))]}
					text += d.text
					if sent = append(sent, d); rnd.IntN(8) > 0 {
						p.applyEdit(a.AddDelta(d.round, d.attempt, d.offset, d.text))
					}
					if rnd.IntN(8) == 0 {
						d := sent[rnd.IntN(len(sent))]
						p.applyEdit(a.AddDelta(d.round, d.attempt, d.offset, d.text))
					}
				}
				if attempt < attempts {
					retried = true
					continue
				}
				if text = strings.TrimSpace(text); text != "" {
					stored = append(stored, text)
				}
				p.applyEdit(a.Store(round, text))
			}
			if want := strings.Join(stored, "\n\n"); p.text != want || a.Text() != want {
				t.Fatalf("seed %d: %q, %q, not %q", seed, p.text, a.Text(), want)
			}
		}
		if !retried && p.replaced > 0 {
			t.Fatalf("seed %d: replaced %d times", seed, p.replaced)
		}
	}
}

func FuzzTextAssembler(f *testing.F) {
	f.Add("It is so.\n\nAnd *so*.", 3)
	f.Add(" \xff\xc3\x28 \u202e", 1)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 1 {
			return
		}
		var a TextAssembler
		offset := 0
		for part := range slices.Chunk([]byte(text), size) {
			a.AddDelta(1, 1, offset, string(part))
			offset += len(part)
		}
		before := a.Text()
		if e := a.Store(1, text); e.Back > 0 || e.Text != "" && utf8.ValidString(text) {
			t.Errorf("%q was shown, and then %+v", before, e)
		}
	})
}
