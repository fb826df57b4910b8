package claim

import (
	"strings"
	"testing"
)

func TestUnfounded(t *testing.T) {
	sea := Quote{ID: "e1", Text: "The trench was sounded in 1875: it is 10,984 metres deep, or about eleven kilometres. Some 3.5 percent of the sea is salt, and one hundred and twenty thousand tons are won in a year. Nobody had thought that it was so deep, the captain wrote.", Context: "The sea, read on 2026-11-23"}
	half := Quote{ID: "e2", Text: "Half of the ships were lost; 15% to 17% came home in the 1990s. The run took 3,000 m. Of 45 300 tons it bore 12, and 300 more, of a thousand men."}
	old := Quote{ID: "e3", Text: "It is warm.", Context: "The page, of 2019-03-01"}
	marked := Quote{ID: "e4", Text: "The very long[3] and cold [winter](https://a.test/w) came then. It took 90 minutes over three decades. The rod is 150 cm, the other of 3 feet. It was gone in 2 weeks, p < .05, of 3×10⁸ and 5 x 10^3 cells, 1e6 in 1920x1080, for 1½ cups."}
	paid := Quote{ID: "e5", Text: "Insurance paid $2.4 million; a third of it went to the families. The trench was sounded in 1875: it is 10,984 metres deep, or about eleven kilometres. They left on 12 March 1998 with 1,250 passengers, 150 pounds each, and one hundred and twenty thousand tons. In millions: 7.3. So 5 million metric tons of it, of forty to fifty."}
	asked := Quote{Text: "What becomes of it in 77,000 years?"}
	w := make(QuoteIndex)
	for _, q := range []Quote{sea, half, old, marked, paid, asked} {
		w.Add(q.ID, q.Text+"\n"+q.Context)
	}
	for name, test := range map[string]struct{ text, want string }{
		"of the question":       {"It is deep for 77,000 years [e1].", ""},
		"of another source":     {"Nobody came home in 1875 [e2].", "1875"},
		"of no source":          {"It is 20,000 metres deep [e1][e9].", ""},
		"paraphrase":            {"The deepest place lies far below what anybody believed [e1].", ""},
		"the figure":            {"It is 10,984 metres deep [e1].", ""},
		"without groups":        {"It is 10984 m deep [e1].", ""},
		"with blanks":           {"It is 10 984 metres deep [e1].", ""},
		"with points":           {"Er ist 10.984 Meter tief [e1].", ""},
		"blanks there":          {"It weighs 45,300 tons, of 12 and 300 [e2].", ""},
		"rounded":               {"It is 11,000 metres deep [e1], or 11 km.", ""},
		"in kilometres":         {"It is 10.98 km deep [e1].", ""},
		"invented":              {"It is 12,700 metres deep [e1].", "12,700 metres"},
		"a percent":             {"Salt is 3.5 % of it, or 3,5 Prozent [e1].", ""},
		"another percent":       {"Salt is 4.7 % of it [e1].", "4.7 %"},
		"spelled there":         {"A year brings 120,000 tons, or 120 thousand [e1].", ""},
		"not spelled there":     {"A year brings 450,000 tons [e1].", "450,000 tons"},
		"a thousand":            {"A run of 1,000 and of 1 000 men [e2].", ""},
		"a year":                {"It was sounded in 1875 [e1].", ""},
		"another year":          {"It was sounded in 1903 [e1].", "1903"},
		"of its page":           {"As of 2026 that holds [e1].", ""},
		"of when it came out":   {"In 2019 it was warm [e3].", ""},
		"a decade":              {"In the 1990s few came home, as in 1994 [e2].", "1994"},
		"half":                  {"50 % of the ships were lost [e2].", ""},
		"a range":               {"15–17 % came home [e2].", ""},
		"metres":                {"The run was 3 km [e2].", ""},
		"counted by the writer": {"There are 2 reasons for it, in 3 parts [e1].", ""},
		"how sure he is":        {"That is so with 80 % probability [e1].", ""},
		"of his own":            {"It is deep [e1], deeper than 99,000 others.", ""},
		"behind the citation":   {"It is 10,984 metres deep [e1], and I reckon with 20,000 to come.", ""},
		"led in":                {"As [e1] says, it is 20,000 metres deep.", "20,000 metres"},
		"in code":               {"Set `depth = 20000` for it to be deep [e1].", ""},
		"a name":                {"COVID-19, v2.150, 10:30 and a/400 do not matter to the depth [e1].", ""},
		"of several":            {"It is 10,984 metres deep and 50 % were lost [e1][e2].", ""},
		"quoted":                {"“Nobody had thought that it was so deep”, he said [e1].", ""},
		"quoted otherwise":      {"He said: \"nobody had THOUGHT,  that it was so   deep\" [e1].", ""},
		"quoted in part":        {"He said: «Nobody had thought … so deep, the [old] captain wrote» [e1].", ""},
		"never said":            {"He said: “Everybody knew that it was as deep as that” [e1].", "“Everybody knew that it was as deep as that”"},
		"a name in quotes":      {"The “sea of the long night” is deep [e1].", ""},
		"a title":               {"The book “The Sea of the Long Night and the Last Light” is of it [e1].", ""},
		"two years":             {"It went on in 1875–76 [e1].", ""},
		"in single marks":       {"He said: ‘nobody had thought that it was so deep’ [e1].", ""},
		"never said in single":  {"The captain’s log has ‘everybody’s crew knew it was deep’, he said [e1].", "“everybody’s crew knew it was deep”"},
		"single, and plural":    {"He wrote of ‘the very old dogs’ bowls that were left behind’ [e1].", ""},
		"single, and in double": {"He had “nobody had thought that ‘it was so deep’ at all” [e1].", "“nobody had thought that ‘it was so deep’ at all”"},
		"apostrophes":           {"In the ‘90s the dogs’ bowls, rock ’n’ roll and rock ‘n’ roll were in the captain’s and the boys’ boats, ‘twas said, for all the others’; Hawai‘i’s ‘Ōhi‘a had the sailors’ love [e1][e2].", ""},
		"elisions":              {"Give ‘em what they had ’til then, they were goin’ down and ‘Ali had all the others’ boats, the ships’ and the crews’ [e1].", ""},
		"single marks alone":    {"He had ‘all of that was left to them and the sea. Nobody’s boat was so deep [e1].", ""},
		"straight single marks": {"He said: 'everybody knew that it was as deep as that' [e1].", ""},
		"German single marks":   {"Es hieß ‚niemand hatte das so tief gedacht wie er‘ und die Leute’ [e1].", ""},
		"a measure":             {"A pipe of 5\" and one of 6\" were let down to the very deep ground there [e1].", ""},
		"of several sentences":  {"He wrote: “It was deep. Everybody had known that it was so deep.” [e1]", "“Everybody had known that it was so deep.”"},
		"said in sentences":     {"He wrote: “It was deep. Nobody had thought that it was so deep.” [e1]", ""},
		"beside marks":          {"“The very long and cold winter came” then [e4].", ""},
		"other units of time":   {"It took 1.5 hours over 30 years, and was gone in 14 days [e4].", ""},
		"powers and points":     {"Of 300 million and 5,000 cells, 1,000,000 in 1920×1080 for 1.5 cups, with p < 0.05 [e4].", ""},
		"the same powers":       {"Of 3x10^8 and 5×10³ cells in 1920 × 1080 for 1½ cups, with p < .05 [e4].", ""},
		"another time":          {"It took 2.5 hours [e4].", "2.5"},
		"metres of its own":     {"The rod is 1.5 m, the other 0.9 m [e4].", ""},
		"other metres":          {"The rod is 2.5 m [e4].", "2.5 m"},
		"the same sum":          {"They paid 2.4 million dollars, or 2,400,000 [e5].", ""},
		"another scale":         {"They paid $2.4 billion [e5].", "$2.4 billion"},
		"another currency":      {"They paid €2.4 million [e5].", "€2.4 million"},
		"another unit":          {"It is 10,984 feet deep [e5].", "10,984 feet"},
		"feet of it":            {"It is 36,037 feet, or 6.8 miles, deep [e5].", ""},
		"another month":         {"They left on 12 April 1998 [e5].", "12 April 1998"},
		"another day":           {"They left on 13 March 1998 [e5].", "13 March 1998"},
		"the same day":          {"They left on March 12, 1998, in March 1998, on 12.03.1998 [e5].", ""},
		"more exactly":          {"It is 10,894 metres deep [e5].", "10,894 metres"},
		"as about":              {"It is about 11,000 metres, or 11 km, or 10,984m, deep [e5].", ""},
		"another share":         {"They got 77% [e5].", "77%"},
		"a third":               {"They got 33 %, others 67 % or 33.3 % [e5].", ""},
		"a third of what":       {"They got 45 % [e5].", "45 %"},
		"no unit there":         {"It is 7.3 million dollars, and $7.3 million [e5].", ""},
		"scale in a table":      {"It is 7.3 million [e5].", ""},
		"mass in pounds":        {"Each was of 150 lb [e5].", ""},
		"thousands of tons":     {"They took 120k tons, or 120 kt, or 0.12 million tons, or 5 million tons, or 40–50 [e5].", ""},
		"no thousands of tons":  {"They took 130 kt [e5].", "130 kt"},
		"a bound":               {"It is over 10,900 m, more than 10 km, deep, and exceeds 10,900 metres [e5].", ""},
		"another bound":         {"It is over 12,000 m deep [e5].", "12,000 m"},
		"a short decade":        {"In the '90s they left, in the ’90s [e5].", ""},
		"another short decade":  {"In the '60s they left [e5].", "60s"},
		"names with numbers":    {"By RFC 9110, Section 2.1, and ISO 8601 they left [e5].", ""},
		"no citation of it":     {"It is so.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := Split(test.text)
			s := list[len(list)-1]
			if got := w.FindUnsupported(test.text, &s); got != test.want {
				t.Errorf("%q is unfounded in %q, want %q", got, test.text, test.want)
			}
		})
	}
}

// TestUnfoundedWice bounds false alarms: none on the page's own text, few on claims
// that annotators found supported.
func TestUnfoundedWice(t *testing.T) {
	supported, alarms := 0, 0
	for _, w := range readWice(t) {
		page := new(verbatim)
		for _, q := range w.toQuotes() {
			list := make(QuoteIndex)
			list.Add(q.ID, q.Text+"\n"+q.Context)
			page.merge(list[q.ID])
		}
		for _, line := range w.Evidence {
			text := line + " [e1]"
			for _, s := range Split(text) {
				if why := page.findUnsupported(citedText(text[s.Start:s.End])); why != "" && !strings.HasPrefix(line, "(meta") {
					t.Errorf("%q of the page itself is unfounded in %q", why, text)
				}
			}
		}
		if w.Label != "supported" {
			continue
		}
		supported++
		text := strings.TrimSuffix(w.Claim, ".") + " [e1]."
		for _, s := range Split(text) {
			if why := page.findUnsupported(citedText(text[s.Start:s.End])); why != "" && len(s.Cites) > 0 {
				alarms++
				t.Logf("%q in %q", why, text)
			}
		}
	}
	if t.Logf("%d of %d", alarms, supported); 20*alarms > supported {
		t.Errorf("%d of %d claims that are supported have something unfounded", alarms, supported)
	}
}

func FuzzUnfounded(f *testing.F) {
	for _, text := range []string{"It is 10,984 m deep, in 1875–76.", "“Nobody had … thought [so]” 3,5 % 1 000", "one hundred and twenty thousand, 4½ ١٢٣ 三百 ²", "as is said [e1] `x = 5` «a b c d e»"} {
		f.Add(text, "A quote of 12,000 half.")
	}
	f.Fuzz(func(t *testing.T, text, quote string) {
		for _, s := range Split(text) {
			w := make(QuoteIndex)
			w.Add("e1", quote)
			w.Add("", text)
			w.FindUnsupported(text, &s)
		}
	})
}
