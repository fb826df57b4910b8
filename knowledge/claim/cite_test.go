package claim

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func isGathered(id string) bool { return id == "e1" || id == "e2" || id == "e3" }

func isFetched(url string) bool { return url == "https://a.example/x" || url == "https://b.example" }

func TestCitations(t *testing.T) {
	for _, c := range []struct {
		name, in, out string
		removed       []string
	}{
		{"known", "It is red [e1]. And [e2, e3].", "It is red [e1]. And [e2][e3].", nil},
		{"unknown", "It is red [e9]. Blue [e1, e9].", "It is red. Blue [e1].", []string{"[e9]"}},
		{"forms", "A 【e1】 b (e2) c [source: e3] d [E1] e (see e2) f [Sources: e1; e2].", "A [e1] b [e2] c [e3] d [e1] e [e2] f [e1][e2].", nil},
		{"ranges", "A [e1–e3]. B [e2-e5]. C [e1-3].", "A [e1][e2][e3]. B [e2][e3]. C [e1][e2][e3].", []string{"[e4]", "[e5]"}},
		{"numbers", "A [12]. B [1, 2] c.[3] D [^1] e 【4†source】 f \\[7\\].", "A. B c. D e f.", []string{"[12]", "[1, 2]", "[3]", "[^1]", "【4†source】", "\\[7\\]"}},
		{"footnote", "A[^1].\n\n[^1]: Smith 2020, https://fake.example/p\n", "A.\n\n\n", []string{"[^1]", "[^1]: Smith 2020, https://fake.example/p"}},
		{"links", "See [the page](https://fake.example/p \"t\") and [x](https://a.example/x).", "See the page and [x](https://a.example/x).", []string{"https://fake.example/p"}},
		{"image", "![a map](http://fake.example/m.png)", "a map", []string{"http://fake.example/m.png"}},
		{"raw", "At https://fake.example/p, or www.fake.example (https://b.example).", "At, or (https://b.example).", []string{"https://fake.example/p", "www.fake.example"}},
		{"autolink", "At <https://fake.example> and <https://b.example>.", "At and <https://b.example>.", []string{"<https://fake.example>"}},
		{"tags", `An <a href="https://fake.example">anchor</a> here.`, "An anchor here.", []string{`<a href="https://fake.example">`}},
		{"labels", "See [it][1] there.\n\n[1]: https://fake.example/p\n", "See it there.\n\n\n", []string{"[1]: https://fake.example/p"}},
		{"numbered link", "Red [1](https://fake.example/p).", "Red.", []string{"https://fake.example/p", "[1]"}},
		{"emptied", "It is red (see https://fake.example/p).", "It is red.", []string{"https://fake.example/p"}},
		{"doi", "It is red (doi:10.1000/xyz123).", "It is red.", []string{"doi:10.1000/xyz123"}},
		{"marks", "It is red [e1] [contradicted by e9].", "It is red [e1].", []string{"marks"}},
		{"nested", "A [e[e9]9] b.", "A b.", []string{"[e9]"}},
		{"in words", "A [as e9 says] b.", "A [as says] b.", []string{"[as e9 says]"}},
		{"prose", "It grew (12) by 3/4 in 2019 [sic] and/or 5 km/h, i.e. `a[1]` more.", "It grew (12) by 3/4 in 2019 [sic] and/or 5 km/h, i.e. `a[1]` more.", nil},
		{"tasks", "- [x] done\n- [ ] open", "- [x] done\n- [ ] open", nil},
		{"entities", "Red &#91;e9&#93; and h\u200bttps://fake.example/p.", "Red and.", []string{"[e9]", "https://fake.example/p"}},
		{"other brackets", "A {e9} b ⟦e9⟧ c 〔e9〕 d «e9» e {e1}.", "A b c d e [e1].", []string{"[e9]"}},
		{"look-alikes", "A [е97] b [ｅ９９] c [e٣] d [e９５] f [eⅫ] g [e⁹] h [e₉] i [e②].", "A b c [e3] d f g h i [e2].", []string{"[e97]", "[e99]", "[e95]", "[e12]", "[e9]"}},
		{"raised", "Red ① and ⑫ or ¹² and ⁽³⁾, in 1875.¹² <sup>12</sup>", "Red and or and, in 1875.", []string{"①", "⑫", "¹²", "⁽³⁾", "<sup>12</sup>"}},
		{"exponents", "It has 5 m², 10⁻³ km², m<sup>2</sup>, e² and x³.", "It has 5 m², 10⁻³ km², m<sup>2</sup>, e² and x³.", nil},
		{"parted", "Red [e 99] b [e-99] c [E.99] d [e_99] f [e 1].", "Red b c d f [e1].", []string{"[e99]"}},
		{"plain", "It was sounded e99. It was e1. The source e99, and evidence 7.", "It was sounded. It was [e1].", []string{"e99", "source e99", "evidence 7"}},
		{"chess", "In chess, 1. e4 is a move.", "In chess, 1. e4 is a move.", nil},
		{"places", "Red [p. 12] b [n. 4] c [12a] d [12, p. 4] f [**12**] g [web:3].", "Red b c d f g.", []string{"[p. 12]", "[n. 4]", "[12a]", "[12, p. 4]", "[**12**]", "[web:3]"}},
		{"machines", "Red \ue200cite\ue202turn0search3\ue201. Blue \\cite{smith2021} [@smith2021].", "Red. Blue.", []string{"citeturn0search3", "\\cite{smith2021}", "[@smith2021]"}},
		{"with words", `Red [e1 p. 99]. Blue [e1, "invented quote"]. Green (12).`, "Red [e1]. Blue [e1]. Green.", []string{"[e1 p. 99]", `[e1, "invented quote"]`, "(12)"}},
		{"authors", "Red (Smith, 2021). Blue (NASA, 2024; WHO, 2023), and (Smith et al., 2020, p. 4).", "Red. Blue, and.", []string{"(Smith, 2021)", "(NASA, 2024; WHO, 2023)", "(Smith et al., 2020, p. 4)"}},
		{"no authors", "Twelve (12) in (Paris, 2024) games in Rome (2021).", "Twelve (12) in (Paris, 2024) games in Rome (2021).", nil},
		{"hosts", "Red evil-data.com b sub.evil-data.org c b.example d evil-data.com:8080/x.", "Red b c b.example d.", []string{"evil-data.com", "sub.evil-data.org", "evil-data.com:8080/x"}},
		{"odd addresses", "Red a.zzz/x b 93.184.216.34/x c localhost:8080/x d https:/evil.com f https:evil.com g //evil.com/x.", "Red b c d f g.", []string{"a.zzz/x", "93.184.216.34/x", "localhost:8080/x", "https:/evil.com", "https:evil.com", "//evil.com/x"}},
		{"disguised addresses", "Red evil[.]com/x b evil.com⁄y c evil․com/z d https：／／evil.test.", "Red b c d.", []string{"evil.com/x", "evil.com/y", "evil.com/z", "https://evil.test"}},
		{"no addresses", "In main.go, report.md and node.js, e.g. v1.2.3, i.e. 3.5 km/h; U.S./Canada.", "In main.go, report.md and node.js, e.g. v1.2.3, i.e. 3.5 km/h; U.S./Canada.", nil},
		{"ruins", "See https://x.test and http://y.test and www.z.test. It is red **[e86]**. More is at x.test/y today.\n\n- See x.test/y\n", "It is red.\n\n", []string{"https://x.test", "http://y.test", "www.z.test", "[e86]", "x.test/y"}},
		{"comment", "It is red.<!-- The trench is\n9 km deep --> It is blue.", "It is red. It is blue.", []string{"<!-- The trench is 9 km deep -->"}},
		{"a list of sources", "It is red [e1].\n\n## Sources\n\n1. Smith, J. (2021), Nature\n\n## More\n\nIt is blue.\n", "It is red [e1].\n\n## More\n\nIt is blue.\n", []string{"## Sources", "1. Smith, J. (2021), Nature"}},
		{"a list under bold", "It is red.\n\n**Quellen:**\n\n* Smith\n", "It is red.\n\n", []string{"**Quellen:**", "* Smith"}},
		{"a line of sources", "It is red.\n\nSources: Invented journal, vol 4\n\nIt is blue.", "It is red.\n\n\nIt is blue.", []string{"Sources: Invented journal, vol 4"}},
		{"a list, then the answer", "Sources:\n- Smith\n\nIt is red.", "It is red.", []string{"Sources:", "- Smith"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, removed := CleanCitations(c.in, isGathered, isFetched)
			if out != c.out || !slices.Equal(removed, c.removed) {
				t.Errorf("got %q, removed %q\nwant %q, removed %q", out, removed, c.out, c.removed)
			}
			if again, more := CleanCitations(out, isGathered, isFetched); again != out || len(more) > 0 {
				t.Errorf("again: %q, removed %q", again, more)
			}
		})
	}
}

func TestOpenComments(t *testing.T) {
	out, removed := CleanCitations(strings.Repeat("<!-- It is red. ", 2_000), isGathered, isFetched)
	if strings.Contains(out, "<!--") || len(removed) != 1 || !strings.HasPrefix(strings.TrimSpace(out), "It is red.") {
		t.Errorf("%.40q, removed %q", out, removed)
	}
}

var (
	anyID    = regexp.MustCompile(`\[\s*([eE][0-9]{1,9})\s*\]|【\s*([eE][0-9]{1,9})\s*】|\(\s*(e[0-9]{1,9})\s*\)`)
	anyNum   = regexp.MustCompile(`\[\^?[0-9]+\]([^(]|$)`)
	anyOther = regexp.MustCompile(`[{⟦〔«][eE][4-9][}⟧〕»]|\[[еｅ][0-9]+\]|\[@[a-z]+\]|\\cite\{[a-z]*\}|(^| )turn0search3|<!--|[\x{e000}-\x{f8ff}]|(^| )evil\.com($|[ /])|(^| )[a-z]+\.zzz/x`)
	anyURL   = regexp.MustCompile(`(?i)\bhttps?://[a-z0-9.]+[^\s<>()\[\]"\x60|]*`)
)

func FuzzCitations(f *testing.F) {
	for _, s := range []string{
		"A [e1] b [e9] 【e2†x】 [12](https://x.example/p) <https://a.example/x> [^1]\n\n[^1]: https://b.example\n[q]: http://c.example\n[z][q]",
		"[e[e9]9] (e9) [see e9] https://ahttps://x.example [[e9]] \\[9\\] ![a](http://x.example)",
		"A {e9} ⟦e8⟧ [е97] [ｅ９９] [e٣] e99 [e 99] ¹² ① (12). <sup>12</sup> [@k] \\cite{k} (Smith, 2021). evil.com a.zzz/x <!-- x --> **[e9]**,, (e9,)",
		"- See x.test/y.\n\nSources: a\n## References\n- x\n\n**Quellen**\n//x.test https:x.test evil[.]com \ue200cite\ue202turn0search3",
		"[unveri[unverified]fied] https://a.example/x) [a](https://b.example) | x [e1-e9] |",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, _ := CleanCitations(text, isGathered, isFetched)
		for _, m := range anyID.FindAllStringSubmatch(out, -1) {
			if !isGathered(strings.ToLower(m[1] + m[2] + m[3])) {
				t.Fatalf("%q is left in %q of %q", m[0], out, text)
			}
		}
		for _, m := range anyURL.FindAllString(out, -1) {
			if !isKnownAddress(m) {
				t.Fatalf("%q is left in %q of %q", m, out, text)
			}
		}
		if m := anyNum.FindString(out); m != "" && !strings.ContainsAny(out, "`~") {
			t.Fatalf("%q is left in %q of %q", m, out, text)
		}
		if m := anyOther.FindString(out); m != "" && !strings.ContainsAny(out, "`~") {
			t.Fatalf("%q is left in %q of %q", m, out, text)
		}
		for _, s := range Split(out) {
			for _, id := range s.Cites {
				if !isGathered(id) {
					t.Fatalf("%q is cited in %q of %q", id, out, text)
				}
			}
		}
		if again, _ := CleanCitations(out, isGathered, isFetched); again != out {
			t.Fatalf("%q becomes %q", out, again)
		}
	})
}

func isKnownAddress(url string) bool {
	for n := len(url); n > 0; n-- {
		if isFetched(url[:n]) {
			return !strings.ContainsAny(url[n:], "/?#") || strings.Trim(url[n:], ".,;:!?'*_~") == ""
		}
	}
	return false
}
