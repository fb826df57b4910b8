package structured

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCleanAnswer(t *testing.T) {
	v := NewValidator(junkPrompt, `{"thoughts":[{"thought":TEXT,"type":TYPE,"confidence":NUMBER}]}`, "The question:\n<question>\n</question>\nPassages:\n<passages>\n</passages>\n", "\nQuestions still open:\n")
	const question = "Why is the sky blue?"
	for name, tt := range map[string][2]string{
		"the question before it":   {"The question:\nWhy is the sky blue?\nThe answer:\nAir scatters blue light.\n", "Air scatters blue light.\n"},
		"a label before it":        {"**Final answer:**\n\nAir.", "Air."},
		"labels within":            {"Air scatters light.\n\nThe answer is:\n\nBlue light most.", "Air scatters light.\n\nBlue light most."},
		"a label at the end":       {"Air scatters light.\n\nThe answer to the question:", "Air scatters light."},
		"the question again":       {"Air scatters light.\n\nThe question:\nWhy is the sky blue?", "Air scatters light."},
		"frames of the prompt":     {"<question>\nWhy is the sky blue?\n</question>\n<passages>\nAir scatters light.\n</passages>", "Air scatters light."},
		"labels of passages":       {"Air scatters light.\n[e1] (The sky, Colours)\n[e2] (The sky, Colours)\n[e3]\n", "Air scatters light."},
		"words of the prompt":      {"Air scatters light.\n- confidence: from 0.0 to 1.0, how likely it is true\nBlue most.", "Air scatters light.\nBlue most."},
		"numbers of a placeholder": {"The reasons are:\n- [1.0-1.0]\n- [2.0-2.0]\n", "The reasons are:"},
		"lines of a timeline":      {"Thoughts on the question:\n- Air scatters light.\nNew question [q1]: Which light?\nThoughts on [q1] Which light?:\n- Blue most.", "- Air scatters light.\n- Blue most."},
		"a title of the prompt":    {"Air scatters light.\n\nQuestions still open:\n- Which light?", "Air scatters light.\n\n- Which light?"},
		"a cut placeholder":        {"Air scatters light.\n[0.0-1", "Air scatters light."},
		"members of the JSON":      {"Air scatters light.\n{\n  \"thought\": \"Air\",\n  \"confidence\": 0.5\n}\n", "Air scatters light."},
		"labels of the form":       {"ANSWER: Air scatters light.\nCONFIDENCE: 0.8\n\nBlue most.", "Air scatters light.\n\nBlue most."},
		"marks of thoughts":        {"So:\n- [exploration 0.30] The air of the sky scatters blue light most.\n- [insight 1.00] The air of the sky scatters blue light most.\n- [question] The air of the sky scatters blue light most.\n[critique] Or dust does.", "So:\n- The air of the sky scatters blue light most.\nOr dust does."},
		"only labels":              {"The question:\nWhy is the sky blue?\n\nThe answer:\n", ""},
		"only the question":        {"Why is the sky blue?", ""},
		"labels and repetition": {"The question:\nWhy is the sky blue?\n\nThe answer:\n\nThe user's own [2] text.\n\nThe answer:\n\nThe user's own [3] text.\n\nThe answer:\n\nThe user's own text. [unverified]\n",
			"The user's own [2] text."},
	} {
		t.Run(name, func(t *testing.T) {
			got := v.CleanAnswer(tt[0], question)
			if got != tt[1] {
				t.Errorf("%q, want %q", got, tt[1])
			}
			if again := v.CleanAnswer(got, question); again != got {
				t.Errorf("a second time: %q", again)
			}
		})
	}
}

func TestDropRepeats(t *testing.T) {
	const line = "The bank of the river is higher on the western side."
	for name, tt := range map[string][2]string{
		"a line forty times":     {"So it is.\n\n" + strings.Repeat(line+"\n", 40), "So it is.\n\n" + line},
		"a line three times":     {strings.Repeat(line+"\n", 3) + "And so on.", line + "\nAnd so on."},
		"with blank lines":       {strings.Repeat(line+"\n\n", 4) + "And so on.", line + "\n\nAnd so on."},
		"a sentence three times": {"First. " + line + " " + line + " " + line + " Last.", "First. " + line + " Last."},
		"two lines in turn":      {strings.Repeat(line+"\nThe tide is late.\n", 3) + "End.", line + "\nThe tide is late.\nEnd."},
		"items of other numbers": {"1. " + line + "\n2. " + line + "\n3. " + line, "1. " + line},
		"other citations":        {line + " [e1]\n" + line + " [e2]\n" + line + " [e3] [unverified]", line + " [e1]"},
		"counted sentences":      {line + " 1.00\n" + line + " 2.00\n\n" + line + " 3.00\n" + line + " 4.00\n", line + " 1.00"},
		"with ids in front":      {"[e1] " + line + "\n[e2] " + line + "\nq7 " + line + "\n", "[e1] " + line},
		"with short ones":        {strings.Repeat("Yes.\n"+line+"\n", 4) + "It ends.", "Yes.\n" + line + "\nIt ends."},
		"of little that is new":  {line + "\nSo.\n" + line + "\nAnd.\n" + line + "\nThen.\n" + line, line + "\nSo.\nAnd.\nThen."},
		"with marks between":     {line + "\n[e1]\n" + line + "\n[e2]\n" + line + "\n[e3]\n", line + "\n[e1]"},
		"below one heading":      {strings.Repeat("## The river\n"+line+"\n", 4), "## The river\n" + line},
	} {
		t.Run(name, func(t *testing.T) {
			got := DropRepeats(tt[0])
			if got != tt[1] {
				t.Errorf("%q, want %q", got, tt[1])
			}
			if again := DropRepeats(got); again != got {
				t.Errorf("a second time: %q", again)
			}
		})
	}
}

// soundAnswers are texts of careful writers.
var soundAnswers = map[string]string{
	"empty":               "",
	"white space":         "  So it is.  \n",
	"a sentence twice":    "The bank is higher on the western side.\nThe bank is higher on the western side.\nAnd so on.",
	"short lines":         "- a\n- a\n- a\n- a",
	"code":                "Run it:\n```go\nif err != nil {\n\treturn err\n}\nif err != nil {\n\treturn err\n}\nif err != nil {\n\treturn err\n}\n" + strings.Repeat("fmt.Println(one, two, three, four)\n", 4) + "```\nDone.",
	"indented code":       "Run it:\n\n    go test all the packages\n    go test all the packages\n    go test all the packages\n    go test all the packages\n\nDone.",
	"a table":             "| day | open |\n|---|---|\n" + strings.Repeat("| open on all weekdays | yes |\n", 4) + "x",
	"numbers that differ": "It was 5 metres in all of 2001.\nIt was 5 metres in all of 2002.\nIt was 5 metres in all of 2003.",
	"a matrix":            strings.Repeat("1 0 0 0 1\n", 5),
	"primes":              "The answer is a list:\n\n- 2\n- 3\n- 5\n- 7\n- 11\n",
	"equal items below headings": "PostgreSQL, MySQL and SQLite differ little.\n\n### PostgreSQL\n- License: open source and free\n- Runs on all major platforms\n\n" +
		"### MySQL\n- License: open source and free\n- Runs on all major platforms\n\n### SQLite\n- License: open source and free\n- Runs on all major platforms\n\n### MariaDB\n- License: open source and free\n",
	"equal items below items": "1. Alpha\n   - It runs on all platforms\n2. Beta\n   - It runs on all platforms\n3. Gamma\n   - It runs on all platforms\n4. Delta\n   - It runs on all platforms\n",
	"a villanelle": "The river takes the boats away at night,\nAnd nobody has counted them before.\nWe keep a lamp and call it morning light.\n\n" +
		"The harbour smells of tar and anthracite,\nA dog asleep beside the chandler's door.\nThe river takes the boats away at night.\n\n" +
		"My father mended nets by candlelight,\nHis fingers slow, his patience long and sore.\nWe keep a lamp and call it morning light.\n\n" +
		"Some letters came with stamps of blue and white,\nFrom towns whose names no map of ours yet bore.\nThe river takes the boats away at night.\n\n" +
		"The gulls dispute the fishmonger's delight,\nThe sexton sweeps his autumn from the floor.\nWe keep a lamp and call it morning light.\n",
	"a song": strings.Join([]string{"Over the hill went seven men,\nCarrying barley, bread and rye,", "Down by the mill sang Mary Glen,\nHanging her linen out to dry,", "Late in the inn the fiddlers play,\nNobody asks the reason why,"},
		"\nHey for the summer, ho for the rain,\nHey for the summer, come back again.\n\n") + "\nHey for the summer, ho for the rain,\nHey for the summer, come back again.\n",
	"labels of a form": "**Question:** Is it safe?\n\n**Answer:** Yes, if the power is off.\n\n**Confidence:** high\n",
	"sections": "# Answer\n\nIt depends on the load.\n\n## What would change my mind\n\nA test with real users.\n\n## The strongest objection and whether it holds\n\nIt costs more [e1]. It does, but little [e2].\n\n" +
		"What speaks against it:\n- cost [e3]\n- time (see below)\n\n[Figure: load over time]\n\n> The question is not new.\n\nAs in \"Why is the sky blue?\", physics helps.\n[e4] [e5]\n",
	"a dialogue":            "Anna: Do you come?\nBen: I do not know yet.\nAnna: Then ask your sister, and bring some bread.\nBen: I do not know yet.\nAnna: The train leaves from platform nine at noon.\nBen: I do not know yet.\n",
	"steps":                 "1. Stop the server.\n2. Copy the folder to the new disk.\n3. Start the server.\n4. Compare both lists by hand.\n5. Stop the server.\n6. Remove the old folder for good.\n7. Start the server.\n",
	"a script":              "蓝光散射更强。红光散射较弱。\n所以天空是蓝色的。\n",
	"members of other JSON": "Set `\"type\": \"module\", \"confidence\": 1` in it, and \"type\": \"a\" there:\n{\n  \"name\": \"a\"\n}\n",
	"references":            "It is so [1].\n\n1. A. Miller, Rivers, 2001, pages 3 to 9.\n2. A. Miller, Rivers, 2001, pages 12 to 19.\n3. A. Miller, Lakes, 2004, pages 3 to 9.\n",
	"carriage return":       "One line.\r\nTwo lines.\r\n\r\nThree.\r\n",
}

func TestSoundAnswers(t *testing.T) {
	v := NewValidator(junkPrompt, `{"thoughts":[{"thought":TEXT,"type":TYPE,"confidence":NUMBER}]}`, "Begin with the answer itself. Then give the reasons, the strongest objection and whether it holds.\n<question>\n")
	for name, text := range soundAnswers {
		t.Run(name, func(t *testing.T) {
			if got := DropRepeats(text); got != text {
				t.Errorf("DropRepeats returns\n%s\nof\n%s", got, text)
			}
			if got := v.CleanAnswer(text, "Why is the sky blue?"); got != text {
				t.Errorf("CleanAnswer returns\n%s\nof\n%s", got, text)
			}
		})
	}
}

// TestRandomAnswers checks that texts without repetition stay as they are, and that a line which is put
// into them again and again does not.
func TestRandomAnswers(t *testing.T) {
	v := NewValidator(junkPrompt)
	r := rand.New(rand.NewPCG(1, 2))
	ends := []string{".\n", ".\n\n", ". ", "!\n", " [e3].\n", " [e1] [e2]. ", "\n", ":\n"}
	starts := []string{"", "", "- ", "  - ", "3. ", "## ", "> ", "**So** "}
	for n := range 300 {
		var text strings.Builder
		word := 0
		sentence := func() string {
			var words []string
			for range 3 + r.IntN(9) {
				words = append(words, fmt.Sprintf("w%c%d", 'a'+rune(r.IntN(26)), word))
				word++
			}
			return strings.Join(words, " ")
		}
		for range 1 + r.IntN(30) {
			text.WriteString(starts[r.IntN(len(starts))] + sentence() + ends[r.IntN(len(ends))])
		}
		if got := v.CleanAnswer(text.String(), "why?"); got != text.String() {
			t.Fatalf("%d: %q became %q", n, text.String(), got)
		}
		again, times := sentence()+".", 3+r.IntN(8)
		var loop strings.Builder
		for i := range times {
			fmt.Fprintf(&loop, "%d. %s [e%d]\n", i+1, again, r.IntN(9))
		}
		got := v.CleanAnswer(text.String()+"\n\n"+loop.String()+"\nIt ends here.", "why?")
		if strings.Count(got, again) != 1 || !strings.Contains(got, "It ends here.") {
			t.Fatalf("%d: %d repetitions became %q", n, times, got)
		}
	}
}

func FuzzCleanAnswer(f *testing.F) {
	for _, text := range soundAnswers {
		f.Add(text)
	}
	f.Add("The answer:\n[e1] (a, b)\n" + strings.Repeat("The end of it is near. 1.00\n", 5))
	v := NewValidator(junkPrompt)
	f.Fuzz(func(t *testing.T, text string) {
		got := v.CleanAnswer(text, "why?")
		if len(got) > len(text) {
			t.Errorf("%q became %q", text, got)
		}
		for _, line := range strings.Split(got, "\n") {
			if !strings.Contains(text, strings.TrimSpace(strings.Split(line+". ", ". ")[0])) {
				t.Errorf("%q has a new line %q", got, line)
			}
		}
	})
}
