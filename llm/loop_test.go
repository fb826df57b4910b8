package llm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	fact   = "The bank of the river is higher on the western side. "
	clause = "it follows that the tide is late, "
)

// repeatRows returns n rows that differ in their numbers.
func repeatRows(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i+1, (i*7919)%1000)
	}
	return b.String()
}

// plainText returns text of n sentences that do not repeat.
func plainText(seed uint64, n int) string {
	words := strings.Fields("river bank tide moon stone house market price letter engine winter summer number answer reason people water light north field road bridge paper metal glass")
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for range n {
		for i := range 6 + rng.IntN(9) {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[rng.IntN(len(words))])
		}
		b.WriteString(". ")
	}
	return b.String()
}

func TestLoopFound(t *testing.T) {
	intro := plainText(7, 12)
	item := `{"thought":"The bank of the river is higher on one side.","type":"insight","confidence":0.8},`
	for name, tt := range map[string]struct{ before, once, again string }{
		"a line":                  {intro + "\n", "Water is wet, and the river is wide.\n", strings.Repeat("Water is wet, and the river is wide.\n", 40)},
		"a sentence":              {intro, fact, strings.Repeat(fact, 9)},
		"a phrase":                {intro, clause, strings.Repeat(clause, 30)},
		"a word":                  {intro, "very ", strings.Repeat("very ", 200)},
		"a letter":                {intro, "a", strings.Repeat("a", 1000)},
		"paragraphs":              {intro, plainText(3, 9) + "\n\n", strings.Repeat(plainText(3, 9)+"\n\n", 4)},
		"a long part":             {intro, plainText(4, 30), strings.Repeat(plainText(4, 30), 3)},
		"two lines in turn":       {intro, fact + "\nAnd the tide comes in twice a day.\n", strings.Repeat(fact+"\nAnd the tide comes in twice a day.\n", 20)},
		"a numbered list":         {intro + "\n", "1. " + fact + "\n", numbered(fact, 2, 12)},
		"items":                   {`{"thoughts":[`, item, strings.Repeat(item, 12)},
		"items of other numbers":  {`{"thoughts":[`, item, variedItems(20)},
		"white space":             {intro, "", strings.Repeat(" ", 1000)},
		"line ends":               {`{"thoughts":[`, "", strings.Repeat("\n", 1000)},
		"deeper white space":      {intro, "", deeperSpace(60)},
		"line ends in JSON":       {`{"answer":"So it is.`, `\n`, strings.Repeat(`\n`, 500)},
		"a rule":                  {intro, "", strings.Repeat("-", 1000)},
		"zeros":                   {intro, "0.", strings.Repeat("0", 1000)},
		"Chinese":                 {intro, "河的西岸比东岸更高，水也更深。", strings.Repeat("河的西岸比东岸更高，水也更深。", 20)},
		"sentences in any order":  {intro, "", shuffled(fact, "The tide is late today because of the moon. ", "Nobody knows why the stone is there. ")},
		"items without text":      {intro + "\nTask:\n", "", emptyItems(60)},
		"counting sentences":      {intro, "Provide 5 to 10 thoughts. ", countedItems(40)},
		"ids between":             {intro + "\n", fact + "\n[e9]\n", idLines(fact, 10, 40)},
		"fences":                  {intro, "", strings.Repeat("\n```\n", 40)},
		"fences of a language":    {intro, "", strings.Repeat("```json\n```\n", 40)},
		"bullets without text":    {intro + "\n", "", strings.Repeat("-\n", 40)},
		"a list in other bullets": {intro + "\n", "- " + fact + "\n", strings.Repeat("* "+fact+"\n- "+fact+"\n", 10)},
	} {
		t.Run(name, func(t *testing.T) {
			text := tt.before + tt.once + tt.again
			var d LoopDetector
			cut, found := d.Add(text)
			if !found {
				t.Fatalf("no loop in %d bytes", len(text))
			}
			if cut < len(tt.before)-40 || cut > len(tt.before)+2*len(tt.once)+200 {
				t.Errorf("cut at %d, want about %d", cut, len(tt.before)+len(tt.once))
			}
			var early LoopDetector
			for n := range len(text) {
				if _, ok := early.Add(text[n : n+1]); ok {
					if rest := n - cut; rest > 10*len(tt.once)+3000 {
						t.Errorf("found only %d bytes after its start", rest)
					}
					break
				}
			}
		})
	}
}

func numbered(text string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d. %s\n", i, text)
	}
	return b.String()
}

func idLines(text string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%s\n[e%d]\n", text, i*i)
	}
	return b.String()
}

func emptyItems(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d. %d.\n", i+1, i+1)
	}
	return b.String()
}

func countedItems(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d. Provide %d to %d thoughts. ", i+2, 5*i+10, 5*i+15)
	}
	return b.String()
}

func variedItems(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"thought":"The bank of the river is higher on one side.","type":"insight","confidence":0.%d},`, (i*37)%100)
	}
	return b.String()
}

func deeperSpace(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\n" + strings.Repeat(" ", i))
	}
	return b.String()
}

func shuffled(list ...string) string {
	rng := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	for range 60 {
		b.WriteString(list[rng.IntN(len(list))])
	}
	return b.String()
}

func TestNoLoop(t *testing.T) {
	var items, verdicts, readings []string
	for i := range 40 {
		items = append(items, fmt.Sprintf(`{"thought":%q,"type":"insight","confidence":0.8,"importance":0.5,"cites":["e3"]}`, plainText(uint64(i), 2)))
		verdicts = append(verdicts, fmt.Sprintf(`{"id":"c%d","verdict":"supported","reason":"a quote says it with its numbers"}`, i+1))
		readings = append(readings, fmt.Sprintf(`{"year":%d,"value":%d}`, 1980+i, i*i))
	}
	refrain := "Row on, row on, across the river wide,\nrow on until we reach the other side.\n\n"
	var poem strings.Builder
	for i := range 12 {
		poem.WriteString(plainText(uint64(50+i), 4) + "\n" + refrain)
	}
	for name, text := range map[string]string{
		"prose":                    plainText(1, 400),
		"a table":                  "| year | rainfall in millimetres |\n|---|---|\n" + repeatRows("| %d | %d |\n", 60),
		"a table of words":         repeatRows("| station %d | open on weekdays | %d visitors |\n", 60),
		"wide columns":             repeatRows("%-120d %120d\n", 40),
		"a wide rule":              plainText(2, 3) + "\n" + strings.Repeat("-", 200) + "\n" + plainText(3, 3),
		"a list with one prefix":   repeatRows("- In year %d, the rainfall in the valley was %d mm.\n", 60),
		"years":                    repeatRows("19%02d: The company reported a loss of several %d million.\n", 60),
		"towns":                    "- Berlin. The museum is open from nine to five.\n- Paris. The museum is open from nine to five.\n- Rome. The museum is open from nine to five.\n- Oslo. The museum is open from nine to five.\n- Bern. The museum is open from nine to five.\n- Wien. The museum is open from nine to five.\n- Prag. The museum is open from nine to five.\n",
		"code":                     "```go\n" + repeatRows("\tx%d, err := read(r)\n\tif err != nil {\n\t\treturn nil, fmt.Errorf(\"read the next part: %%w\", err)\n\t}\n\tsum += x%d\n", 40) + "```\n",
		"a matrix":                 "```\n" + strings.Repeat("0, 0, 0, 0, 0, 0, 0, 0,\n", 64) + "```\n",
		"bytes":                    "```c\n" + strings.Repeat("0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,\n", 24) + "```\n",
		"a matrix without a fence": strings.Repeat("0, 0, 0, 0, 0, 0, 0, 0,\n", 40),
		"empty cells":              strings.Repeat("| | | |\n", 60),
		"JSON with the same keys":  `{"thoughts":[` + strings.Join(items, ",") + "]}",
		"verdicts":                 `{"verdicts":[` + strings.Join(verdicts, ",") + "]}",
		"readings":                 "[" + strings.Join(readings, ",") + "]",
		"a poem":                   poem.String(),
		"a line four times":        plainText(9, 5) + strings.Repeat("\n"+fact, 4) + plainText(10, 5),
		"a chorus":                 plainText(9, 5) + strings.Repeat("\nla la la, la la la la", 5) + plainText(10, 5),
		"a laugh":                  "He said ha ha ha ha ha ha ha ha ha ha, and left. " + plainText(11, 20),
		"numbers in lines":         repeatRows("%d.%03d\n", 200),
		"a plan":                   repeatRows("Week %d: %d pages of the book\n", 30),
		"a times table":            "7 x 1 = 7\n7 x 2 = 14\n7 x 3 = 21\n7 x 4 = 28\n7 x 5 = 35\n7 x 6 = 42\n7 x 7 = 49\n7 x 8 = 56\n7 x 9 = 63\n7 x 10 = 70\n",
		"closing brackets":         "{\n" + strings.Repeat("}\n", 12) + strings.Repeat("],\n", 12),
		"a short list of numbers":  "1. 5\n2. 8\n3. 13\n4. 21\n5. 34\n6. 55\n7. 89\n8. 144\n9. 233\n10. 377\n",
		"counting":                 repeatRows("%d, %d, ", 200),
		"dots":                     strings.Repeat("Chapter one ................................................................ 5\n"+plainText(12, 1), 1),
		"DNA":                      randomLetters("acgt", 3000),
		"hexadecimal":              randomLetters("0123456789abcdef", 3000),
		"empty":                    "",
	} {
		t.Run(name, func(t *testing.T) {
			var d LoopDetector
			if cut, found := d.Add(text); found {
				t.Errorf("a loop at %d: %q", cut, text[cut:min(len(text), cut+120)])
			}
		})
	}
}

func randomLetters(letters string, n int) string {
	rng := rand.New(rand.NewPCG(8, 8))
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

// Any text that is repeated often enough is found, whatever precedes it.
func TestLoopProperty(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for i := range 300 {
		before, unit := plainText(uint64(i), rng.IntN(40)), plainText(uint64(1000+i), 1+rng.IntN(12))
		text := before + strings.Repeat(unit, 8+2000/len(unit))
		var d LoopDetector
		cut, found := d.Add(text)
		if !found || cut > len(before)+2*len(unit)+200 || cut+40 < len(before) {
			t.Fatalf("%d: found %v at %d, want about %d: %q", i, found, cut, len(before)+len(unit), unit)
		}
	}
}

// The result does not depend on the pieces.
func FuzzLoopDetector(f *testing.F) {
	f.Add(strings.Repeat(fact, 9), uint64(1))
	f.Add(strings.Repeat("é日本語。", 99), uint64(2))
	f.Add(variedItems(20), uint64(3))
	f.Add("\xff\xfe\x80"+strings.Repeat(" ", 500), uint64(4))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		var whole, parts LoopDetector
		cut, found := whole.Add(text)
		if found && (cut < 0 || cut > len(text)) {
			t.Fatalf("cut at %d of %d", cut, len(text))
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		cut2, found2 := 0, false
		for rest := text; rest != "" && !found2; {
			n := 1 + rng.IntN(min(len(rest), 9))
			cut2, found2 = parts.Add(rest[:n])
			rest = rest[n:]
		}
		if found2 && (!found || cut != cut2) {
			t.Errorf("whole: %d %v; in pieces: %d %v", cut, found, cut2, found2)
		}
		if found && !found2 && parts.partial == "" {
			t.Errorf("whole: %d; in pieces nothing", cut)
		}
	})
}

func BenchmarkLoopDetector(b *testing.B) {
	text := plainText(1, 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var d LoopDetector
		d.Add(text)
	}
}

// A recycled detector finds what a new one finds, whatever it read before.
func TestRecycledLoopDetector(t *testing.T) {
	texts := []string{strings.Repeat(fact, 20), plainText(1, 40), strings.Repeat(clause, 30), "```\n" + plainText(2, 9), strings.Repeat("1.\n", 20), repeatRows("Row %d is %d.\n", 30), "é\xc3"}
	rng := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		text := texts[rng.IntN(len(texts))]
		used := NewLoopDetector()
		cut, found := used.Add(text)
		used.Release()
		var fresh LoopDetector
		if wantCut, want := fresh.Add(text); cut != wantCut || found != want {
			t.Fatalf("%.20q: recycled %d %v, new %d %v", text, cut, found, wantCut, want)
		}
	}
	none := (*LoopDetector)(nil)
	none.Release()
}
