package document

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/textkit/lexical"
)

func testCollection() *Collection {
	pages := []struct{ path, text string }{
		{"/n/boats.md", "# Boats\n\nThe harbour has forty boats. Most of them are old.\n\n## Repairs\n\nThe hull of the ferry was repaired in 2019. It cost nine thousand euros. The ferry sails twice a day.\n\n```sh\nrepair --hull ferry\n```\n"},
		{"/n/trees.md", "# Trees\n\nOaks grow slowly. An oak may live for a thousand years. The café under the oak closes at six.\n\n## Pruning\n\n- Prune fruit trees in winter.\n- Never prune a sick tree.\n"},
		{"/n/accounts.md", "# Accounts\n\nRevenue in 2023 was five million euros and the year was good. Revenue in 2024 was six million euros and the year was good. Our accountant is Ms. Ödegård-Łuk.\n"},
		{"/n/日記.md", "# 日記\n\n今日は京都の大学図書館へ行った。東京の天気は雨だった。\n"},
		{"/n/copy.md", "# Copy\n\nThe ferry sails twice a day. An oak may live for over a thousand years.\n"},
	}
	var docs []*Document
	for _, p := range pages {
		docs = append(docs, NewDocument(p.path, "name", Markdown(p.text)))
	}
	return NewCollection(docs)
}

func hitQuotes(hits []Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Quote)
	}
	return out
}

func TestSearch(t *testing.T) {
	for _, c := range []struct{ name, question, want string }{
		{"words", "how much did the hull cost", "It cost nine thousand euros."},
		{"stems", "repairing hulls", "The hull of the ferry was repaired in 2019."},
		{"accents in the text", "cafe closing", "The café under the oak closes at six."},
		{"accents in the question", "CAFÉ", "The café under the oak closes at six."},
		{"letters that are no accents", "odegard luk", "Our accountant is Ms. Ödegård-Łuk."},
		{"a number", "2024", "Revenue in 2024 was six million euros and the year was good."},
		{"heading", "pruning when sick", "Never prune a sick tree."},
		{"pairs", "thousand years oak", "An oak may live for a thousand years."},
		{"Japanese", "京都の図書館", "今日は京都の大学図書館へ行った。"},
		{"one letter", "雨", "東京の天気は雨だった。"},
		{"only stops", "most of them", "Most of them are old."},
		{"asked about", "What do the documents say about the ferry hull?", "The hull of the ferry was repaired in 2019."},
		{"name of the file", "trees slowly", "Oaks grow slowly."},
		{"nothing", "zebra", ""},
		{"no words", "?! ...", ""},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := testCollection().Search(c.question, 3, SearchOptions{})
			got := ""
			if len(hits) > 0 {
				got = hits[0].Quote
			}
			if got != c.want {
				t.Errorf("first hit %q, want %q; all: %q", got, c.want, hitQuotes(hits))
			}
			for _, h := range hits {
				if !h.Document.Verify(h.Quote, h.Start, h.End) || h.Score <= 0 || h.Score > 1 {
					t.Errorf("hit %+v", h)
				}
			}
		})
	}
}

func TestHit(t *testing.T) {
	h := testCollection().Search("which year was the ferry's hull repaired", 1, SearchOptions{})[0]
	type view struct {
		ID, Title, Section, Context string
		Terms                       []string
	}
	got := view{h.ID(), h.Document.Title, h.Section(), h.Context(), h.Terms}
	want := view{h.Document.Hash[:12] + ":68-111", "Boats", "Repairs", h.Quote + " It cost nine thousand euros. The ferry sails twice a day.\n\nrepair --hull ferry", []string{"ferry", "hull", "repaired"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hit (-want +got):\n%s", diff)
	}
}

// TestPassage checks that a passage is the paragraph of the hit, and more of a short section.
func TestPassage(t *testing.T) {
	sentence := func(n int) string {
		return fmt.Sprintf("Sentence %d tells of the harbour and its trade in a few words.", n)
	}
	paragraph := func(from, to int) string {
		var list []string
		for n := from; n < to; n++ {
			list = append(list, sentence(n))
		}
		return strings.Join(list, " ")
	}
	for _, c := range []struct {
		name, text string
		want       string // first and last sentence
	}{
		{"a short section", "# Port\n\n## A\n\n" + paragraph(1, 3) + "\n\nThe walrus came. It left.\n\n" + paragraph(3, 5) + "\n\n## B\n\n" + paragraph(5, 9), sentence(1) + "|" + sentence(4)},
		{"a full paragraph", "# Port\n\n" + paragraph(1, 6) + "\n\n" + paragraph(6, 12) + " The walrus came. " + paragraph(12, 19) + "\n\n" + paragraph(19, 22), sentence(6) + "|" + sentence(18)},
		{"a long paragraph", "# Port\n\n" + paragraph(1, 30) + " The walrus came. " + paragraph(30, 60), sentence(20) + "|" + sentence(37)},
		{"a list", "# Port\n\n- First thing.\n- The walrus came.\n- Last thing.\n", "First thing.|Last thing."},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDocument("/d.md", "d", Markdown(c.text))
			h := NewCollection([]*Document{d}).Search("When did the walrus come?", 1, SearchOptions{})[0]
			got := h.Context()
			first, last, _ := strings.Cut(c.want, "|")
			if !strings.HasPrefix(got, first) || !strings.HasSuffix(got, last) || !strings.Contains(got, "The walrus came.") || len(got) > maxPassage {
				t.Errorf("%d bytes:\n%s\nwant %s", len(got), got, c.want)
			}
		})
	}
}

// TestQuestionsAreNoAnswers ranks an answer above a copy of the question.
func TestQuestionsAreNoAnswers(t *testing.T) {
	for _, c := range []struct{ name, text, question, want string }{
		{"English", "Is tea healthy for us? Tea is healthy for most people.", "Is tea healthy for us?", "Tea is healthy for most people."},
		{"Chinese", "喝茶是否有益健康？适量喝茶有益健康，这是研究发现的。", "喝茶是否有益健康？", "适量喝茶有益健康，这是研究发现的。"},
		{"Arabic", "الشاي مفيد للصحة عندنا؟ الشاي مفيد للصحة عند معظم الناس.", "الشاي مفيد للصحة", "الشاي مفيد للصحة عند معظم الناس."},
		{"Chinese colon", "- 喝茶有益健康的理由：\n- 茶有抗氧化物，喝茶有益健康。", "喝茶有益健康", "茶有抗氧化物，喝茶有益健康。"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := hitQuotes(NewCollection([]*Document{NewDocument("/d.md", "d", Markdown(c.text))}).Search(c.question, 9, SearchOptions{}))
			if len(got) != 2 || got[0] != c.want {
				t.Errorf("hits %q, want %q first", got, c.want)
			}
		})
	}
}

// TestScoreOfNeighbours bounds the scores of sentences found by context.
func TestScoreOfNeighbours(t *testing.T) {
	for _, c := range []struct {
		name, text, question string
		want                 map[string]bool // score is at least 0.3
	}{
		{"goes on", "The old wall of Berlin was a border. It fell in 1989 on a cold night.", "When did the Berlin wall fall?",
			map[string]bool{"The old wall of Berlin was a border.": true, "It fell in 1989 on a cold night.": false}},
		{"everything around it", "# Steamship company\n\nThe steamship company began in 1829. Other sentences stand here without any relation. The steamship company began in spring.",
			"When did the steamship company begin?",
			map[string]bool{"The steamship company began in 1829.": true, "The steamship company began in spring.": true, "Other sentences stand here without any relation.": false}},
		{"only stops", "Most of them are old boats. Nobody knows how old boats get.", "of them",
			map[string]bool{"Most of them are old boats.": true, "Nobody knows how old boats get.": false}},
		{"one letter", "東京の天気は雨だった。家にいて本を読んだ。", "雨", map[string]bool{"東京の天気は雨だった。": true, "家にいて本を読んだ。": false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]bool{}
			for _, h := range NewCollection([]*Document{NewDocument("/d.md", "d", Markdown(c.text))}).Search(c.question, 9, SearchOptions{}) {
				got[h.Quote] = h.Score >= 0.3
				if h.Score >= 0.3 != (len(h.Terms) > 0) {
					t.Errorf("%q has %q and scores %.2f", h.Quote, h.Terms, h.Score)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSearchOptions(t *testing.T) {
	c := testCollection()
	t.Run("near duplicates are one", func(t *testing.T) {
		all := strings.Join(hitQuotes(c.Search("ferry oak thousand years", 20, SearchOptions{})), "\n")
		if strings.Count(all, "sails twice") != 1 || strings.Count(all, "thousand years") != 1 {
			t.Errorf("hits:\n%s", all)
		}
	})
	t.Run("numbers differ", func(t *testing.T) {
		all := hitQuotes(c.Search("revenue in million euros", 20, SearchOptions{}))
		if len(all) < 2 || !strings.HasPrefix(all[0], "Revenue") || !strings.HasPrefix(all[1], "Revenue") {
			t.Errorf("hits: %q", all)
		}
	})
	t.Run("excluded", func(t *testing.T) {
		var ids, seen []string
		for range 20 {
			hits := c.Search("ferry", 1, SearchOptions{Exclude: ids})
			if len(hits) == 0 {
				break
			}
			if slices.Contains(seen, hits[0].Quote) {
				t.Fatalf("%q came again", hits[0].Quote)
			}
			ids, seen = append(ids, hits[0].ID()), append(seen, hits[0].Quote)
		}
		if len(seen) < 2 || len(seen) > 10 {
			t.Errorf("seen: %q", seen)
		}
	})
	t.Run("foreign ids", func(t *testing.T) {
		bad := []string{"", ":", "x", "0123456789ab:1-2", "0123456789ab:-1-2", c.Documents()[0].RangeID(0, 3), c.Documents()[0].Hash[:12] + ":99999999999999999999-3"}
		if diff := cmp.Diff(hitQuotes(c.Search("ferry", 5, SearchOptions{})), hitQuotes(c.Search("ferry", 5, SearchOptions{Exclude: bad}))); diff != "" {
			t.Errorf("ids of nothing changed the hits:\n%s", diff)
		}
	})
	t.Run("per source", func(t *testing.T) {
		seen := map[string]int{}
		for _, h := range c.Search("ferry oak boats trees", 20, SearchOptions{PerSource: 1}) {
			if seen[h.Document.Source]++; seen[h.Document.Source] > 1 {
				t.Errorf("two hits of %s", h.Document.Source)
			}
		}
		if len(seen) < 3 {
			t.Errorf("sources: %v", seen)
		}
	})
	t.Run("least", func(t *testing.T) {
		all, some := c.Search("ferry hull", 20, SearchOptions{}), c.Search("ferry hull", 20, SearchOptions{MinRelativeScore: 0.5})
		if len(some) == 0 || len(some) >= len(all) {
			t.Errorf("%d hits of %d", len(some), len(all))
		}
	})
	t.Run("none wanted", func(t *testing.T) {
		if hits := c.Search("ferry", 0, SearchOptions{}); hits != nil {
			t.Errorf("hits: %v", hits)
		}
		if hits := NewCollection(nil).Search("ferry", 3, SearchOptions{}); hits != nil {
			t.Errorf("hits in nothing: %v", hits)
		}
	})
}

func TestManyCopies(t *testing.T) {
	var docs []*Document
	for i := range 5000 {
		text := fmt.Sprintf("All rights to this rope are reserved.\n\nPage %d tells of other things, as pages do.", i)
		docs = append(docs, NewDocument(fmt.Sprint(i), "", Markdown(text)))
	}
	docs = append(docs, NewDocument("last", "", Markdown("A rope that is long enough may reach the sea.")))
	got := hitQuotes(NewCollection(docs).Search("rope", 2, SearchOptions{}))
	slices.Sort(got)
	want := []string{"A rope that is long enough may reach the sea.", "All rights to this rope are reserved."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestSearchIsTheSameEachTime(t *testing.T) {
	p := newProse(3)
	var docs []*Document
	for i := range 20 {
		docs = append(docs, NewDocument(fmt.Sprint(i), "", Markdown(p.randomPage(5000))))
	}
	question := p.randomSentence()
	ids := func() (out []string) {
		for _, h := range NewCollection(docs).Search(question, 20, SearchOptions{Diversity: 0.5}) {
			out = append(out, fmt.Sprint(h.ID(), h.Score))
		}
		return out
	}
	want := ids()
	if len(want) != 20 {
		t.Fatalf("%d hits", len(want))
	}
	for range 5 {
		if diff := cmp.Diff(want, ids()); diff != "" {
			t.Errorf("hits differ:\n%s", diff)
		}
	}
}

func TestSearchConcurrently(t *testing.T) {
	c := testCollection()
	want := hitQuotes(c.Search("ferry hull", 5, SearchOptions{}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := hitQuotes(c.Search("ferry hull", 5, SearchOptions{})); !slices.Equal(got, want) {
					t.Errorf("hits %q, want %q", got, want)
				}
				c.Rank("oak", 3)
			}
		})
	}
	wg.Wait()
}

func TestRank(t *testing.T) {
	var got []string
	for _, r := range testCollection().Rank("old oak trees", 2) {
		got = append(got, r.Document.Source)
	}
	if diff := cmp.Diff([]string{"/n/trees.md", "/n/copy.md"}, got); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if got := testCollection().Rank("zebra", 5); got != nil {
		t.Errorf("documents of nothing: %v", got)
	}
}

func TestPostings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	type pair struct {
		number int32
		freq   uint8
	}
	var want []pair
	p := postings{last: -1}
	for n := int32(r.IntN(3)); n < 1_000_000_000; n = n*2 + int32(r.IntN(40)) + 1 {
		times := 1 + r.IntN(400)*r.IntN(2)
		for range times {
			p.add(n)
		}
		want = append(want, pair{n, uint8(min(times, 255))})
	}
	p.flush()
	var got []pair
	for _, k := range p.appendPostings(nil, math.MaxInt32) {
		got = append(got, pair{k.At, uint8(k.Freq)})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); diff != "" {
		t.Errorf("postings (-want +got):\n%s", diff)
	}
	if int(p.units) != len(want) {
		t.Errorf("%d units, want %d", p.units, len(want))
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"words", "The cat's 3.5-litre bowl_x", "the cat 3 5 litr bowl x"},
		{"accents", "Ångström Straße ŁÓDŹ naïve", "angstrom strass lodz naiv"},
		{"decomposed", "cafe\u0301", "cafe"},
		{"Greek", "ΟΔΟΣ οδός", "οδοσ οδοσ"},
		{"Cyrillic", "Ёлка ЙОД", "елка иод"},
		{"Arabic", "مُحَمَّد", "محمد"},
		{"Chinese", "人工智能A1", "人工 工智 智能 a1"},
		{"half wide", "ｶﾀｶﾅ", "カタ タカ カナ"},
		{"full wide letters", "ＡＢＣ", "abc"},
		{"Korean", "한국어", "한국 국어"},
		{"Thai", "ไทย", "ไท ทย"},
		{"no word", strings.Repeat("x", 100) + " y", "y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			lexical.Tokens(c.text, func(tok lexical.Token) { got = append(got, indexTerm(c.text[tok.Start:tok.End])) })
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("terms %q, want %q", s, c.want)
			}
		})
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("# A\n\nOne two. Three four.", "two")
	f.Add("日本語の文。", "日本")
	f.Fuzz(func(t *testing.T, text, question string) {
		d := NewDocument("/d.md", "d", Markdown(text))
		c := NewCollection([]*Document{d})
		for _, h := range c.Search(question, 10, SearchOptions{Diversity: 0.5}) {
			if !d.Verify(h.Quote, h.Start, h.End) || !(h.Score > 0 && h.Score <= 1) {
				t.Fatalf("hit %+v", h)
			}
			c.Topics(h, question, 4)
			start, end := h.Passage()
			if start > h.Start || end < h.End || end-start > max(maxPassage, h.End-h.Start) {
				t.Fatalf("passage %d-%d of %d-%d", start, end, h.Start, h.End)
			}
		}
		KeyTerms(text, 5)
	})
}
