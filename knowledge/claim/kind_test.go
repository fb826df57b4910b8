package claim

import "testing"

func TestClaims(t *testing.T) {
	for _, c := range []struct {
		text    string
		factual bool
	}{
		{"# The Mariana Trench is 25,000 metres deep, NASA found in 2024", true},
		{"# NASA killed the divers", true},
		{"The trench is a hoax\n---", true},
		{"**Depth: 25,000 metres**", true},
		{"**The trench is bottomless**", true},
		{"Did you know that NASA found 40 tonnes of gold there in 2024?", true},
		{"Did you know that it is bottomless?", true},
		{"NASA found gold there?", true},
		{"Why did they hide what NASA found there?", true},
		{"The trench is bottomless, isn't it?", true},
		{"Wussten Sie, dass dort Gold liegt?", true},
		{"I found that the trench holds the wreck of the Titanic.", true},
		{"I would say it is 25,000 metres deep.", true},
		{"I would say it is bottomless.", true},
		{"Please note that nobody has ever survived a dive there.", true},
		{"Please be aware that NASA found gold there in 2024.", true},
		{"No source says how wide it is; it is 69 km wide.", true},
		{"No source says how wide it is, but it is wider than the sea.", true},
		{"No source says why NASA hid the gold.", true},
		{"No source denies that it is bottomless.", true},
		{"No source was silent: NASA confirmed 25,000 metres in 2024.", true},
		{"The sources do not only say that it is deep.", true},
		{"The sources say nothing of this because aliens live there.", true},
		{"Here are the 40 NASA divers who died there in 2024.", true},
		{"Here are forty divers who died there:", false}, // it only opens a list
		{"See this 2024 NASA report: the trench is 25,000 metres deep.", true},
		{"If you need a number, it is 25,000 metres.", true},
		{"If you need a number, it is 40.", true},
		{"Die Quellen nennen 25.000 Meter Tiefe.", true},
		{"Hello, the trench is 25,000 metres deep.", true},
		{"Sure, NASA won.", true},
		{"NASA found gold in 2024:", true},
		{"25,000.", true},
		{"```\nThe trench is 25,000 metres deep.\n```", true},
		{"```go\nx := f(1) // is it\n```", false},
		{"```\n$ make test\n```", false},
		{"| Trench at 25,000 m | NASA 2024 |\n|---|---|", true},
		{"| City | 2019 | 2020 |\n|---|---|---|", false},
		{"| Year | People |\n|---|---|", false},
		{"| Gold | 40 tonnes |", true},
		{"## What is known", false},
		{"## How deep is the Mariana Trench?", false},
		{"## 2. The Mariana Trench", false},
		{"## Step 2: Overview", false},
		{"### Findings", false},
		{"**Key findings**", false},
		{"Is it red?", false},
		{"How deep is the Mariana Trench?", false},
		{"¿Dónde vive?", false},
		{"它很大吗？", false},
		{"Hello Anna!", false},
		{"Thank you for your question!", false},
		{"Here is what I found:", false},
		{"Here is what I found about the Mariana Trench:", false},
		{"Here are 5 key points:", false},
		{"I hope this helps.", false},
		{"Let me know if you have more questions.", false},
		{"If you want, I can look further.", false},
		{"Unfortunately, I found no sources on this.", false},
		{"The sources do not say how deep it is.", false},
		{"None of the sources says whether NASA found 40 tonnes of gold there in 2024.", false},
		{"No source says anything about the Mariana Trench.", false},
		{"It could not be confirmed whether he lived in Paris.", false},
		{"Hier ist, was ich gefunden habe:", false},
		{"Die Quellen sagen nichts über die Tiefe.", false},
		{"Voici ce que j'ai trouvé :", false},
		{"Espero que esto ayude.", false},
	} {
		list := Split(c.text)
		if len(list) != 1 {
			t.Errorf("%q: %d sentences", c.text, len(list))
			continue
		}
		if list[0].Factual != c.factual {
			t.Errorf("%q: factual is %t", c.text, list[0].Factual)
		}
	}
}

func TestNotes(t *testing.T) {
	for title, factual := range map[string]bool{"Notes": true, "Links": true, "Sources": false, "Literatur": false} {
		list := Split("## " + title + "\n\nThe trench is 25,000 metres deep.")
		if len(list) != 2 || list[1].Factual != factual {
			t.Errorf("%s: %+v", title, list)
		}
	}
}
