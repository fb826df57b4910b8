package evidence

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// loadArticles returns real articles, or reports without the data set.
func loadArticles(t *testing.T) (list []string) {
	t.Helper()
	js, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "extraction", "ground-truth.json"))
	if err != nil {
		return reports
	}
	var all map[string]struct {
		Body string `json:"articleBody"`
	}
	if err := json.Unmarshal(js, &all); err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n := len(strings.Fields(a.Body)); n >= 120 && n < 5000 {
			list = append(list, a.Body)
		}
	}
	slices.Sort(list)
	return list
}

// A copier makes copies as publishers of agency text do.
type copier struct{ *rand.Rand }

func (c copier) pickOne(list ...string) string { return list[c.IntN(len(list))] }

func (c copier) makeOriginal(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	day, month := 1+c.IntN(28), c.IntN(12)
	out := []string{fmt.Sprintf("Published on %d %s 20%02d.", day, monthNames[0][month], 10+c.IntN(15))}
	for i, p := range paragraphs {
		if i > 0 && i%4 == 0 {
			out = append(out, "## "+c.pickOne("What happened next", "The background", "Who is affected", "What the experts say", "A long history"))
		}
		out = append(out, p)
	}
	return strings.Join(out, "\n\n")
}

var monthNames = [][]string{
	strings.Fields("January February March April May June July August September October November December"),
	strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember"),
}

var dates = regexp.MustCompile(`(\d{1,2}) (January|February|March|April|May|June|July|August|September|October|November|December) (\d{4})|(January|February|March|April|May|June|July|August|September|October|November|December) (\d{1,2}), (\d{4})`)

func (c copier) changeDates(text string) string {
	way := c.IntN(4)
	return dates.ReplaceAllStringFunc(text, func(d string) string {
		f := strings.Fields(strings.ReplaceAll(d, ",", ""))
		if f[0][0] > '9' {
			f[0], f[1] = f[1], f[0]
		}
		m := slices.Index(monthNames[0], f[1])
		switch way {
		case 0:
			return fmt.Sprintf("%s %s, %s", f[1], f[0], f[2])
		case 1:
			return fmt.Sprintf("%s. %s %s", f[0], monthNames[1][m], f[2])
		case 2:
			return fmt.Sprintf("%s-%02d-%02s", f[2], m+1, f[0])
		}
		return strings.Join(f, " ")
	})
}

func (c copier) changeHeadings(text string) string {
	lines := strings.Split(text, "\n\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], "## ") {
			lines[i] = "## " + c.pickOne("Events unfold", "How it came to this", "The people concerned", "Voices from research", "Looking back")
		}
	}
	return strings.Join(lines, "\n\n")
}

func (c copier) addByline(text string) string {
	return c.pickOne("By Jane Doe, Staff Writer\n\n", "LONDON (AGENCY) — ", "(Reporting by John Roe; editing by Jane Doe)\n\n", "Von unserem Korrespondenten\n\n") + text +
		c.pickOne("", "\n\nCopyright 2024 The Agency. All rights reserved. This material may not be published, broadcast, rewritten or redistributed.", "\n\nRead more: Subscribe to our newsletter for the day's top stories.")
}

func (c copier) changeQuoteMarks(text string) string {
	return strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", " – ", " - ", " — ", " – ", "...", "…", `"`, "“").Replace(text)
}

func (c copier) dropParagraph(text string) string {
	p := strings.Split(text, "\n\n")
	if len(p) < 4 {
		return text
	}
	i := 1 + c.IntN(len(p)-2)
	return strings.Join(slices.Delete(p, i, i+1), "\n\n")
}

func (c copier) keepStart(text string) string {
	list := strings.SplitAfter(text, " ")
	return strings.Join(list[:len(list)*(33+c.IntN(34))/100], "")
}

func (c copier) keepHead(text string) string {
	p, n, i := strings.Split(text, "\n\n"), 0, 0
	for i < len(p) && n < 40 {
		n += len(strings.Fields(p[i]))
		i++
	}
	return strings.Join(p[:i], "\n\n")
}

func (c copier) makeCopies(text string) []string {
	return []string{
		c.keepStart(text), c.keepHead(text), c.changeHeadings(text), c.changeDates(text), c.addByline(text), c.dropParagraph(text), c.changeQuoteMarks(text),
		c.addByline(c.changeQuoteMarks(c.changeDates(c.changeHeadings(c.keepStart(text))))), c.changeQuoteMarks(c.changeDates(c.dropParagraph(c.keepHead(text)))),
	}
}

const template = "\n\nSign up to our daily newsletter and never miss a story. You can unsubscribe at any time. By signing up you agree to our terms of service and privacy policy. " +
	"Most read today in this section. Share this article on social media or by email. We use cookies to improve your experience on this site. Contact the newsroom with tips, corrections and complaints."

type tally struct{ right, wrong, missed float64 }

func (t tally) precision() float64 { return t.right / max(1, t.right+t.wrong) }
func (t tally) recall() float64    { return t.right / max(1, t.right+t.missed) }

// countPairs counts clustered pairs against pairs of one original; a negative original
// has no copies.
func countPairs(texts []string, original []int) (t tally) {
	pieces := make([]Piece, len(texts))
	for i, text := range texts {
		pieces[i] = Piece{ID: fmt.Sprint(i), URL: fmt.Sprintf("https://site%d.example/a", i), Text: text}
	}
	ids := Cluster(pieces)
	for i := range ids {
		for k := range i {
			same := original[i] == original[k] && original[i] >= 0
			switch {
			case same && ids[i] == ids[k]:
				t.right++
			case same:
				t.missed++
			case ids[i] == ids[k]:
				t.wrong++
			}
		}
	}
	return t
}

// TestClustersOfArticles clusters articles with nine copies each, template pages, and
// abstracts on one subject.
func TestClustersOfArticles(t *testing.T) {
	c := copier{rand.New(rand.NewPCG(3, 4))}
	var texts []string
	var original []int
	add := func(i int, text string) { texts, original = append(texts, text), append(original, i) }
	all := loadArticles(t)
	for i, text := range all[:min(len(all), 100)] {
		text = c.makeOriginal(text)
		add(i, text)
		if i%4 == 3 { // pages of one site
			add(i, text+template)
			continue
		}
		for _, copied := range c.makeCopies(text) {
			add(i, copied)
		}
	}
	for _, text := range loadTexts() {
		add(-1, text)
	}
	got := countPairs(texts, original)
	t.Logf("%d texts: precision %.4f, recall %.4f", len(texts), got.precision(), got.recall())
	if got.precision() < 0.95 || got.recall() < 0.95 {
		t.Errorf("precision %.4f, recall %.4f", got.precision(), got.recall())
	}
}

// loadTexts returns texts without copies, some on one subject.
func loadTexts() (list []string) {
	list = append(list, reports...)
	js, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "ir", "cranfield", "corpus.jsonl"))
	if err != nil {
		return list
	}
	for line := range strings.Lines(string(js)) {
		var doc struct {
			Text string `json:"text"`
		}
		if json.Unmarshal([]byte(line), &doc) == nil && len(strings.Fields(doc.Text)) > 30 && len(list) < 300 {
			list = append(list, doc.Text)
		}
	}
	return list
}

// TestClustersOfPassages clusters passages of articles and of their copies with other
// cuts.
func TestClustersOfPassages(t *testing.T) {
	c := copier{rand.New(rand.NewPCG(5, 6))}
	for _, size := range []int{1, 2, 3, 5} {
		var texts []string
		var original []int
		for i, text := range loadArticles(t) {
			s := regexp.MustCompile(`[.!?]["”]?\s+`).Split(strings.Join(strings.Fields(text), " "), -1)
			if len(s) < size+4 {
				continue
			}
			at := c.IntN(len(s) - size - 2)
			passage := func(from, to int) string { return strings.Join(s[from:to], ". ") + "." }
			if len(strings.Fields(passage(at, at+size))) < 8 {
				continue
			}
			base := passage(at, at+size)
			list := []string{base, c.changeQuoteMarks(base), c.changeDates(base), base[:len(base)*8/10] + " ...", passage(at, at+size+1), "AGENCY — " + c.changeQuoteMarks(base)}
			for _, p := range list {
				texts, original = append(texts, p), append(original, i)
			}
			texts, original = append(texts, passage(at+size+1, min(len(s), at+2*size+1))+" Sign up to our newsletter."), append(original, -1)
		}
		got := countPairs(texts, original)
		t.Logf("%d sentences, %d texts: precision %.4f, recall %.4f", size, len(texts), got.precision(), got.recall())
		if got.precision() < 0.95 || got.recall() < 0.95 {
			t.Errorf("of %d sentences precision is %.4f, recall %.4f", size, got.precision(), got.recall())
		}
	}
}
