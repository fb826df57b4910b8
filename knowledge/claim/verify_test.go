package claim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name, claim, quote, context string
		want                        Verdict
		reason                      string // substring
	}{
		{"as it stands", "The tower is 324 metres tall.", "The tower is 324 metres tall and was built in 1889.", "", Supported, ""},
		{"another number", "The survey covered 10,000 teachers.", "The survey covered 3,559 teachers.", "", Contradicted, "3,559, not 10,000"},
		{"rounded", "The survey covered about 3,500 teachers.", "The survey covered 3,559 teachers.", "", Supported, ""},
		{"near", "The survey covered 3,500 teachers.", "The survey covered 3,559 teachers.", "", Qualified, "3,559"},
		{"in words", "The firm has 1.5 thousand workers.", "The firm has 1,500 workers.", "", Supported, ""},
		{"percent", "Half a year later 45% of voters agreed.", "Half a year later 45 percent of voters agreed.", "", Supported, ""},
		{"another percentage", "Prices rose by 45% in Kenya.", "Prices rose by 12 percent in Kenya.", "", Contradicted, "12 percent"},
		{"currency", "The fine was $2.5 million.", "The fine was 2,500,000 dollars.", "", Supported, ""},
		{"another month", "The bridge opened in May 2011.", "The bridge opened in March 2011.", "", Contradicted, "March 2011, not May 2011"},
		{"day in words", "The treaty was signed on 4 July 1921.", "The treaty was signed on July 4th, 1921.", "", Supported, ""},
		{"day in digits", "The treaty was signed on 4 July 1921.", "Signed: 1921-07-04. The treaty was signed in public.", "", Supported, ""},
		{"another name", "Wellington was chosen as the capital of New Zealand.", "Auckland was chosen as the capital of New Zealand.", "", Qualified, "names wellington"},
		{"subject in the title", "Wellington was chosen for its central location.", "It was chosen for its central location.", "Wellington", Supported, ""},
		{"negated", "The drug does not reduce pain.", "The drug reduces pain.", "", Contradicted, "negation"},
		{"not negated", "The drug reduces pain in adults.", "The drug does not reduce pain in adults.", "", Contradicted, "denies it"},
		{"opposite", "Unemployment increased in Spain last quarter.", "Unemployment decreased in Spain last quarter.", "", Contradicted, ""},
		{"hedged", "The drug reduces pain in adults.", "The drug may reduce pain in adults.", "", Qualified, "may"},
		{"hedged in both", "The drug may reduce pain in adults.", "The drug may reduce pain in adults.", "", Supported, ""},
		{"all of some", "All patients recovered within a week.", "Some patients recovered within a week.", "", Qualified, "some, not all"},
		{"only", "Only women were admitted to the college.", "Women were admitted to the college.", "", Qualified, "only"},
		{"cause of link", "Coffee causes better sleep in adults.", "Coffee is associated with better sleep in adults.", "", Qualified, "associated"},
		{"places changed", "Brazil defeated Germany in the final.", "Germany defeated Brazil in the final.", "", Contradicted, ""},
		{"passive", "Brazil was defeated by Germany in the final.", "Germany defeated Brazil in the final.", "", Supported, ""},
		{"nothing", "Penguins live in Antarctica.", "The stock market fell on Monday.", "", Unverified, ""},
		{"concluded", "This suggests that the survey covered teachers of many schools and regions.", "The survey covered teachers. It was held in schools.", "", Inference, "concluded"},
		{"German", "Die Brücke wurde 1932 eröffnet und kostete 4 Millionen Euro.", "Nach acht Jahren Bauzeit wurde die Brücke 1932 eröffnet. Sie kostete 4.000.000 Euro und wurde vom Staat bezahlt.", "", Supported, ""},
		{"German, negated", "Die Firma hat den Vertrag nicht verlängert.", "Die Firma hat den Vertrag verlängert.", "", Contradicted, ""},
		{"French", "Le pont a été inauguré le 3 mai 1998.", "Le 3 mai 1998, le pont a été inauguré par le maire.", "", Supported, ""},
		{"Spanish, another year", "El puente fue inaugurado en 1998.", "El puente fue inaugurado en 2003 por el alcalde de la ciudad.", "", Contradicted, "2003, not 1998"},
		{"Chinese", "这座桥于1932年5月开放通车。", "经过八年的施工，这座桥于1932年5月开放通车，总费用由国家支付。", "", Supported, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := Verify(Sentence{Text: c.claim, Factual: true}, []Quote{{ID: "e1", Text: c.quote, Context: c.context}})
			if f.Verdict != c.want || !strings.Contains(f.Reason, c.reason) {
				t.Errorf("%s (%.2f): %s; want %s: %s", f.Verdict, f.Score, f.Reason, c.want, c.reason)
			}
			for _, p := range append(f.Quotes, f.Against...) {
				if p.Start < 0 || p.End > len(c.quote) || p.Start >= p.End || p.Evidence != "e1" {
					t.Errorf("passage %+v", p)
				}
			}
		})
	}
}

func TestSeveralQuotes(t *testing.T) {
	c := NewCorpus([]Quote{
		{ID: "e1", Text: "Anna Lind was born in Uppsala.", Context: "Anna Lind"},
		{ID: "e2", Text: "Anna Lind studied physics at Lund University from 1990."},
		{ID: "e3", Text: "It rained for days."},
	})
	f := c.Verify(Sentence{Text: "Anna Lind was born in Uppsala and studied physics at Lund University."})
	if f.Verdict != Supported && f.Verdict != Qualified || len(f.Quotes) != 2 {
		t.Errorf("%s (%.2f) by %v: %s", f.Verdict, f.Score, f.Quotes, f.Reason)
	}
	p := c.Verify(Sentence{Text: "She studied physics at Lund University.", Cites: []string{"e2"}}).Quotes
	if len(p) == 0 || p[0].Evidence != "e2" {
		t.Errorf("rests on %v", p)
	}
}

func TestPublished(t *testing.T) {
	q := Quote{ID: "e1", Text: "The centre opened its doors on 14 June.", Published: time.Date(2019, 6, 15, 0, 0, 0, 0, time.UTC)}
	if f := Verify(Sentence{Text: "The centre opened its doors on 14 June 2019."}, []Quote{q}); f.Verdict != Supported {
		t.Errorf("%s: %s", f.Verdict, f.Reason)
	}
	if f := Verify(Sentence{Text: "The centre opened its doors on 14 June 2017."}, []Quote{q}); f.Verdict == Supported {
		t.Errorf("another year is %s", f.Verdict)
	}
}

func TestInference(t *testing.T) {
	quotes := []Quote{{ID: "e1", Text: "The number of bees in Bavaria fell by 30 percent between 2000 and 2010. Farmers in Bavaria used more pesticides in those years."}}
	list := Split("The number of bees in Bavaria fell by 30 percent between 2000 and 2010 [e1]. Farmers in Bavaria used more pesticides in those years [e1]. Therefore pesticides are a likely reason why bees in Bavaria became fewer.")
	f := NewCorpus(quotes).VerifyAll(list)
	want := []Verdict{Supported, Supported, Inference}
	for i := range f {
		if f[i].Verdict != want[i] {
			t.Errorf("%s: %s (%.2f), %s", list[i].Text, f[i].Verdict, f[i].Score, f[i].Reason)
		}
	}
}

func TestJudged(t *testing.T) {
	all := []Verdict{Supported, Qualified, Contradicted, Unverified, Inference}
	for _, mismatch := range []bool{false, true} {
		for _, v := range all {
			for _, said := range append(all, "nonsense") {
				f := Finding{Verdict: v, Score: 0.4, mismatch: mismatch, Reason: "seen"}
				f.Quotes = append(f.Quotes, verifyPassage)
				g := f.ApplyVerdict(said, "because\nof it")
				switch {
				case v == Qualified && g.Verdict == Contradicted:
					t.Error("qualified becomes contradicted")
				case v == Contradicted && g.Verdict != Contradicted:
					t.Errorf("contradicted becomes %s", g.Verdict)
				case mismatch && v != Supported && g.Verdict == Supported:
					t.Errorf("%s with a mismatch becomes supported", v)
				case !mismatch && v == Unverified && said == Supported && (g.Verdict != Supported || g.Reason != "because of it" || g.Score < supportedFrom):
					t.Errorf("unverified becomes %+v", g)
				case g.Verdict == v && fmt.Sprint(g) != fmt.Sprint(f):
					t.Errorf("%s is changed to %+v by %s", v, g, said)
				}
			}
		}
	}
}

var verifyPassage = NewCorpus([]Quote{{ID: "e1", Text: "It is red."}}).Verify(Sentence{Text: "It is red."}).Quotes[0]

func FuzzVerify(f *testing.F) {
	f.Add("The 3rd bridge, not the 2nd, opened on 4 July 1921 for $2.5 million.", "On 1921-07-04 it opened. 2,5 Mio. €\nIt may not be 50%.", "The bridge (1932)")
	f.Add("这座桥于1932年5月3日开放。", "1932年5月 3日 ١٩٣٢ １２％ 10⁶ 1.2.3.4 99999999999999999999", "年月日")
	f.Fuzz(func(t *testing.T, claim, quote, context string) {
		c := NewCorpus([]Quote{{ID: "e1", Text: quote, Context: context}, {ID: "e2", Text: context, Context: quote}})
		g := c.Verify(Sentence{Text: claim, Cites: []string{"e2"}})
		if !(g.Score >= 0 && g.Score <= 1) || g.Verdict == "" || g.Reason == "" {
			t.Fatalf("%+v", g)
		}
		for _, p := range append(g.Quotes, g.Against...) {
			text := quote
			if p.Evidence == "e2" {
				text = context
			}
			if p.Start < 0 || p.End > len(text) || p.Start >= p.End {
				t.Fatalf("passage %+v of %d bytes", p, len(text))
			}
		}
		if h := c.Verify(Sentence{Text: claim, Cites: []string{"e2"}}); fmt.Sprint(h) != fmt.Sprint(g) {
			t.Fatalf("%+v, and again %+v", g, h)
		}
	})
}

func Verify(s Sentence, quotes []Quote) Finding { return NewCorpus(quotes).Verify(s) }
