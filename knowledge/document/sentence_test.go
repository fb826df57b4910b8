package document

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// texts have bars at sentence ends.
var texts = map[string]string{
	"plain":               "The tide came in.| Nobody had moved the boat.",
	"question":            "Who moved it?| My brother did.",
	"exclamation":         "Mind the step!| It is loose.",
	"title":               "Dr. Weber met Mrs. Okafor at noon.| They spoke for an hour.",
	"title at the end":    "He studied under Prof. Lindqvist.| She did too.",
	"initials":            "The plan by J. R. Hartley was dropped.| Nobody minded.",
	"pronoun I":           "It was decided by Ben and I.| Then we left.",
	"name after I":        "We read Albert I. Jones that year.| It was dull.",
	"decimal":             "It rose by 3.5 percent.| Prices fell.",
	"money":               "She paid $4.99.| It was too much.",
	"version":             "Use v1.4.0 of it.| Older ones fail.",
	"address":             "See example.com/a.b?c=d.e for more.| Then go on.",
	"mail":                "Write to anna.b@example.org.| She answers.",
	"file name":           "Open main.go and look.| It is short.",
	"company":             "Acme Inc. sells rope.| Widget Co. buys it.",
	"company at the end":  "He works for Acme Inc.| The pay is good.",
	"acronym":             "The U.S. Senate voted.| It passed.",
	"acronym at the end":  "They moved to the U.S.| The children stayed.",
	"time of day":         "We met at 5 p.m. on Monday.| We left at 6 p.m.| The rain had stopped.",
	"degree":              "She has a Ph.D. in botany.| He has none.",
	"for example":         "Take a metal, e.g. Iron or i.e. Copper.| Heat it.",
	"et al":               "As Rossi et al. (2019) wrote, it holds.| Others disagree.",
	"et cetera":           "Bring rope, tape, etc. and be early.| Bring water, food, etc.| We start at eight.",
	"versus":              "In Marbury vs. Madison it was settled.| So it stayed.",
	"figure":              "It is drawn in Fig. 3 and on p. 12.| Look there.",
	"number sign":         "He took No. 7 home.| Did she?| No.| She took none.",
	"month":               "It began on Jan. 5 and ended in Dec.| The year was over.",
	"saint":               "They met at St. Paul's.| He lives on Main St.| She lives there too.",
	"ellipsis goes on":    "I thought ... well, never mind.| Go.",
	"ellipsis ends":       "I had hoped....| She went.",
	"one-sign ellipsis":   "I wonder…| Perhaps not… but who knows.",
	"left out":            "It was [...] a long day.| We slept.",
	"quoted":              "“It is late.”| He rose.",
	"quoted and said":     "“Is it late?” he asked.| “Yes!” she said.",
	"quote marks":         `He said "stop."| Then he left.`,
	"bracketed":           "It was cold (very cold.) that day.| We froze.",
	"whole in brackets":   "It was cold.| (It often is.)| We froze.",
	"footnotes":           "It was so.[1]| It was not.[2][3]| It is now.¹| Done.",
	"many signs":          "What?!| No!!!| Yes.",
	"numbered":            "1. Open the lid.| Then wait.",
	"lettered":            "a. Open the lid.",
	"year":                "It ended in 1999.| The rest is known.",
	"small letter":        "Version 2. was better, iPhone. or not.",
	"thousands":           "There were 1.234.567 of them.| All were sold.",
	"German":              "Das gilt z.B. Für Wasser, d.h. Immer.| Hr. Müller kam.",
	"German day":          "Die Mauer fiel am 9. November 1989.| Das war ein Donnerstag.",
	"German days":         "Vom 8. bis 9. November und am 9. 11. 1989 war es so.| Danach nicht mehr.",
	"German century":      "Im 19. Jahrhundert wuchs die Stadt.| Im 20. nicht mehr.",
	"German ordinal":      "Der 14. Dalai Lama wohnt im 3. Stock.| Er ist der 14.| Die Treppe ist alt.",
	"German ordinal ends": "Er kam am 9.| Die Mauer fiel.| Danach ging er am 12.| Es war kalt.",
	"German letters":      "Es gibt Obst, z. B. Äpfel, u. a. Birnen (i. d. R. Quitten).| Sie sind gesund.",
	"German letters end":  "Er isst Äpfel, Birnen u. a.| Die sind gesund.",
	"German era":          "Cäsar starb 44 v. Chr. in Rom.| Augustus starb 14 n. Chr.| Es war im August.",
	"German million":      "Es kostet 5 Mio. Euro.| Der Rest kostet 3 Mrd.| Das ist viel.",
	"German street":       "Sie wohnt in der Hauptstr. 5 und hat die Hausnr. 7.| Sie wohnt in der Hauptstr.| Danach nicht.",
	"German low quotes":   "Er sagte „Dr. Weber kommt“ und ging.| „Prof. Ott auch.“",
	"age":                 "He was 19.| She left.",
	"age of mine":         "I am 19.| Nobody minds.",
	"score":               "He scored 12.| Smith scored 14.",
	"room":                "Er wohnt in Zimmer 12.| Hunde sind verboten.",
	"Spanish short":       "Las EE. UU. y México firmaron el tratado núm. 5.| Fue en 1848.",
	"Italian short":       "Il dott. Rossi e la sig. Bianchi vivono a Roma.| Sono felici.",
	"French short":        "Il vivait en 50 av. J.-C. à Rome.| Il est mort en 40 av. J.-C.| Elle aussi.| Mmes. Dupont et Curie aussi.",
	"Dutch short":         "Dhr. Jansen woont bijv. Amsterdam of Utrecht.| Hij werkt.",
	"Russian short":       "Он живёт на ул. Ленина в г. Москва с 1990 г.| Там хорошо.",
	"Polish short":        "Mieszka przy ul. Marszałkowskiej 5.| To blisko.",
	"Turkish century":     "Bu 19. Yüzyıl eseridir.| Eskidir.",
	"full-wide number":    "約３．１４倍になった。|終わりは１９９９．|そうだ。",
	"full-wide numbered":  "１．はじめに述べる。",
	"Spanish":             "¿Quién es?| ¡Nadie!| Pues vamos.",
	"Hindi":               "यह एक है।| वह दो है।",
	"Arabic":              "أين هو؟| هو هنا.",
	"Burmese":             "ဗမာစာသည် ဘာသာစကားဖြစ်သည်။| ၎င်းသည် လှပသည်။|တတိယ။",
	"Ethiopic":            "ኢትዮጵያ በአፍሪካ ቀንድ ትገኛለች።| ዋና ከተማዋ ምንድን ነው፧|አዲስ አበባ ናት።",
	"Armenian":            "Հայաստանը երկիր է։| Երևանը մայրաքաղաքն է։| Երրորդ։",
	"Khmer":               "ភាសាខ្មែរ ជាភាសា។| វាស្អាត។|ចប់៕",
	"Mongolian":           "ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ᠃| ᠰᠠᠶᠢᠨ᠃",
	"Greek":               "Τι είναι αυτό;| Είναι ένα βιβλίο\u037e| Ναι, είναι.| Καλό.",
	"Chinese":             "今天下雨。|我们在家。|你呢？|很好！",
	"Chinese quoted":      "他说：“走吧。”|然后走了。",
	"Japanese":            "雨です。|家にいます。",
	"Japanese said":       "「行こう。」と言った。|それだけ。",
	"half spaced Chinese": "今天下雨。 |我们在家。",
	"semicolon":           "The alpha (α); The beta; Then γ is it.",
	"Greek goes on":       "Τι είναι αυτό; είπε.",
	"nothing to end":      "a line without an end",
	"only signs":          "...",
	"dash":                "It works.| — So they say.",
	"star":                "It works.| *Nobody* knows why.",
}

func TestSentences(t *testing.T) {
	for name, marked := range texts {
		t.Run(name, func(t *testing.T) {
			var want []string
			for part := range strings.SplitSeq(marked, "|") {
				want = append(want, strings.TrimSpace(part))
			}
			text := strings.ReplaceAll(marked, "|", "")
			var got []string
			for _, s := range splitSentences(text) {
				got = append(got, text[s.start:s.end])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sentences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSentencesAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"clauses":    strings.Repeat("one thing and another thing, ", 100),
		"words":      strings.Repeat("word ", 1000),
		"one word":   strings.Repeat("x", 5000),
		"wide":       strings.Repeat("漢字", 1000),
		"wide marks": strings.Repeat("漢字、", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			kept := 0
			for _, s := range splitSentences(text) {
				if s.end-s.start > MaxSentence || s.end <= s.start || !utf8.ValidString(text[s.start:s.end]) {
					t.Errorf("sentence %d-%d %q", s.start, s.end, text[s.start:s.end])
				}
				kept += s.end - s.start
			}
			if want := len(text) * 9 / 10; kept < want {
				t.Errorf("%d bytes of %d are in sentences", kept, len(text))
			}
		})
	}
}

func FuzzSentences(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = oneLine(text)
		checkSpans(t, text, splitSentences(text))
	})
}

func checkSpans(t *testing.T, text string, spans []span) {
	t.Helper()
	at := 0
	for _, s := range spans {
		if s.start < at || s.end <= s.start || s.end > len(text) || s.end-s.start > MaxSentence {
			t.Fatalf("span %v after %d in %d bytes", s, at, len(text))
		}
		if gap := strings.Trim(text[at:s.start], " \n"); gap != "" {
			t.Fatalf("left out %q", gap)
		}
		if !utf8.ValidString(text[s.start:s.end]) {
			t.Fatalf("a letter is cut in %q", text[s.start:s.end])
		}
		at = s.end
	}
	if rest := strings.Trim(text[at:], " \n"); rest != "" {
		t.Fatalf("left out %q", rest)
	}
}

func TestAsks(t *testing.T) {
	for _, c := range []struct {
		sentence string
		want     bool
	}{
		{"Is it so?", true}, {"It is:", true}, {"是吗？", true}, {"如下：", true}, {"هل هو؟", true}, {"Τι είναι αυτό;", true},
		{"Τι είναι αυτό\u037e", true}, {"ምንድን ነው፧", true},
		{"It is so.", false}, {"It is so;", false}, {"是。", false}, {"", false}, {";", false},
	} {
		if got := IsQuestion(c.sentence); got != c.want {
			t.Errorf("%q asks: %v", c.sentence, got)
		}
		if c.want && quoteQuality(Prose, c.sentence, 9, len(c.sentence)) != 75 {
			t.Errorf("%q is worth %d", c.sentence, quoteQuality(Prose, c.sentence, 9, len(c.sentence)))
		}
	}
}
