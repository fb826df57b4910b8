package claim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// makeQuotes returns quotes with separate voices. "title:: " sets the context; equal "voice>
// " prefixes mark copies.
func makeQuotes(texts ...string) (list []Quote) {
	for i, text := range texts {
		q := Quote{ID: fmt.Sprintf("e%d", i+1), Text: text, Voice: fmt.Sprintf("own%d", i)}
		if voice, rest, ok := strings.Cut(q.Text, "> "); ok {
			q.Voice, q.Text = voice, rest
		}
		if title, rest, ok := strings.Cut(q.Text, ":: "); ok {
			q.Context, q.Text = title, rest
		}
		list = append(list, q)
	}
	return list
}

func formatConflicts(list []ponder.Conflict) (lines []string) {
	for _, c := range list {
		var sides []string
		for _, s := range c.Sides {
			sides = append(sides, fmt.Sprintf("%s x%d", s.Value, s.Voices))
		}
		lines = append(lines, strings.Join(strings.Fields(c.Attribute+" "+c.Time+" "+c.Unit), " ")+": "+strings.Join(sides, " | "))
	}
	return lines
}

func TestConflictsAbout(t *testing.T) {
	for _, c := range []struct {
		name, question string
		quotes         []Quote
		want           []string
	}{
		{"numbers", "What is the population of Broken Bow?", makeQuotes("As of 2010, there were 3,559 people residing in Broken Bow.", "In 2010 Broken Bow had a population of 10,000."), []string{"population 2010: 10,000 x1 | 3,559 x1"}},
		{"years", "What is the population of Broken Bow?", makeQuotes("In 2010 Broken Bow had a population of 3,559.", "In 2020 Broken Bow had a population of 3,506."), nil},
		{"a year on one side only", "What is the population of Broken Bow?", makeQuotes("In 2010 Broken Bow had a population of 3,559.", "Broken Bow has a population of 10,000."), nil},
		{"rounded", "What is the population of Broken Bow?", makeQuotes("Broken Bow has about 3,500 inhabitants.", "Broken Bow has 3,559 inhabitants."), nil},
		{"rounded in millions", "What is the population of Tolmark?", makeQuotes("Tolmark has a population of 10.9 million.", "The population of Tolmark is 10,935,000."), nil},
		{"not rounded to that", "What is the population of Tolmark?", makeQuotes("Tolmark has a population of 10.9 million.", "The population of Tolmark is 12,500,000."), []string{"population: 10.9 million x1 | 12,500,000 x1"}},
		{"a bound", "What is the population of Tolmark?", makeQuotes("Tolmark has a population of over 10,000.", "The population of Tolmark is 12,000."), nil},
		{"beyond a bound", "What is the population of Tolmark?", makeQuotes("Tolmark has a population of over 10,000.", "The population of Tolmark is 8,000."), []string{"population: 8,000 x1 | over 10,000 x1"}},
		{"units that convert", "How long is the river Sarn?", makeQuotes("The Sarn has a length of 98 km.", "The Sarn is 61 miles long."), nil},
		{"units that do not", "How long is the river Sarn?", makeQuotes("The Sarn has a length of 98 km.", "The Sarn is 98 miles long."), []string{"length m: 98 km x1 | 98 miles x1"}},
		{"feet and metres", "How high is Mount Adra?", makeQuotes("Mount Adra is 3,280 feet high.", "Mount Adra has a height of 1,000 m."), nil},
		{"money of two kinds", "How much did the bridge of Velm cost?", makeQuotes("The bridge of Velm cost $4 million.", "The bridge of Velm cost €5 million."), nil},
		{"money", "How much did the bridge of Velm cost?", makeQuotes("The bridge of Velm cost $4 million.", "The bridge of Velm cost $9 million."), []string{"cost USD: $4 million x1 | $9 million x1"}},
		{"places of one name", "What is the population of Blue Lake?", makeQuotes("Blue Lake, Michigan:: Blue Lake had a population of 1,990 in 2000.", "Blue Lake, Kansas:: Blue Lake had a population of 428 in 2000."), nil},
		{"places of one name, in the text", "What is the population of Blue Lake?", makeQuotes("Blue Lake, Michigan, had a population of 1,990 in 2000.", "Blue Lake, Kansas, had a population of 428 in 2000."), nil},
		{"another thing", "What is the population of Broken Bow?", makeQuotes("Broken Bow has a population of 3,559.", "Broken Bow is near Ansley. Ansley has a population of 441."), nil},
		{"the density", "What is the population of Broken Bow?", makeQuotes("Broken Bow has a population of 3,559.", "In Broken Bow the population density was 1,008 people per square mile."), nil},
		{"a date", "When was Ada Byron born?", makeQuotes("Ada Byron was born on 10 December 1815.", "Ada Byron (12 March 1816 – 27 November 1852) was a mathematician."), []string{"born: 10 December 1815 x1 | 12 March 1816 x1"}},
		{"a date and its year", "When was Ada Byron born?", makeQuotes("Ada Byron was born on 10 December 1815.", "Ada Byron was born in 1815."), nil},
		{"a date in other words", "When was the Velm bridge opened?", makeQuotes("The Velm bridge was opened on March 3, 2024.", "The Velm bridge was opened on 3 March 2024.", "The Velm bridge opened 2024-03-03."), nil},
		{"about a year", "When was the Bonner House built?", makeQuotes("The Bonner House was built about 1835.", "The Bonner House was built in 1837."), nil},
		{"about other years", "When was the Bonner House built?", makeQuotes("The Bonner House was built about 1835.", "The Bonner House was built about 1935."), []string{"built: 1835 x1 | 1935 x1"}},
		{"founded and built", "When was the school of Arn founded?", makeQuotes("The school of Arn was founded in 1912.", "The school of Arn was built in 1920."), nil},
		{"a name", "Who directed the film \"Red Sand\"?", makeQuotes("Red Sand is a 1979 film directed by Mahesh Bhatt.", "Red Sand was directed by Raj Kapoor."), []string{"director: Mahesh Bhatt x1 | Raj Kapoor x1"}},
		{"a name in short", "Who wrote \"Red Sand\"?", makeQuotes("Red Sand is a novel by Muriel Spark.", "Red Sand was written by M. Spark."), nil},
		{"a term", "What sport is the Velm Cup associated with?", makeQuotes("The Velm Cup is a cricket competition.", "The Velm Cup is an ice hockey tournament."), []string{"sport: cricket x1 | ice hockey x1"}},
		{"a term and what it is of", "What sport is the Velm Cup associated with?", makeQuotes("The Velm Cup is a rugby union competition.", "The Velm Cup is a rugby tournament."), nil},
		{"many terms", "What sport is Velm known for?", makeQuotes("Velm is a town.", "Sports: Baseball Basketball Golf in Velm.", "Velm is a cricket town."), nil},
		{"a place", "Where is the Arn School located?", makeQuotes("The Arn School is located in Thimphu, Bhutan.", "The Arn School is located in Kathmandu, Nepal."), []string{"location: Kathmandu, Nepal x1 | Thimphu, Bhutan x1"}},
		{"a place in a place", "Where is the Arn School located?", makeQuotes("The Arn School is located in Thimphu, Bhutan.", "The Arn School is located in Bhutan."), nil},
		{"yes and no", "Is coffee safe in pregnancy?", makeQuotes("Coffee is safe in pregnancy.", "Coffee is not safe in pregnancy."), []string{"statement: Coffee is not safe in pregnancy. x1 | Coffee is safe in pregnancy. x1"}},
		{"rose and fell", "Did exports of Velm rise?", makeQuotes("Exports of Velm rose last year.", "Exports of Velm fell last year."), []string{"statement: Exports of Velm fell last year. x1 | Exports of Velm rose last year. x1"}},
		{"copies", "When was the Arn School founded?", makeQuotes("a> The Arn School was founded in 1912.", "a> The Arn School was founded in 1912.", "a> The Arn School was founded in 1912.", "b> The Arn School was founded in 1850.", "c> The Arn School was founded in 1850."), []string{"founded: 1850 x2 | 1912 x1"}},
		{"a sentence that was changed", "When was the Arn School founded?", makeQuotes("a> In the valley stands a school that Duke Henry founded in 1912 for the sons of miners.", "a> In the valley stands a school that Duke Henry founded in 1850 for the sons of miners.", "The Arn School is in Velm."), []string{"founded: 1850 x1 | 1912 x1"}},
		{"German", "Wie viele Einwohner hat Velm?", makeQuotes("Velm hat 3.559 Einwohner.", "Die Einwohnerzahl von Velm liegt bei 10.000."), []string{"population: 10.000 x1 | 3.559 x1"}},
		{"German, one number in two ways", "Wie viele Einwohner hat Velm?", makeQuotes("Velm hat 3.559 Einwohner.", "Velm has 3,559 inhabitants."), nil},
		{"German dates", "Wann wurde Anna Arn geboren?", makeQuotes("Anna Arn wurde am 3. März 1924 geboren.", "Anna Arn (geboren 5. Mai 1925) war eine Malerin."), []string{"born: 3. März 1924 x1 | 5. Mai 1925 x1"}},
		{"German, yes and no", "Ist die Brücke von Velm sicher?", makeQuotes("Die Brücke von Velm ist sicher.", "Die Brücke von Velm ist nicht sicher."), []string{"statement: Die Brücke von Velm ist nicht sicher. x1 | Die Brücke von Velm ist sicher. x1"}},
		{"French", "Combien d'habitants a Velm ?", makeQuotes("Velm compte 3 559 habitants.", "Velm compte 10 000 habitants."), []string{"population: 10 000 x1 | 3 559 x1"}},
		{"French dates", "Quand Anna Arn est-elle née ?", makeQuotes("Anna Arn est née le 3 mars 1924.", "Anna Arn est née le 5 mai 1925."), []string{"born: 3 mars 1924 x1 | 5 mai 1925 x1"}},
		{"Spanish", "¿Cuántos habitantes tiene Velm?", makeQuotes("Velm tiene 3.559 habitantes.", "La población de Velm es de 10.000."), []string{"population: 10.000 x1 | 3.559 x1"}},
		{"Spanish dates", "¿Cuándo nació Anna Arn?", makeQuotes("Anna Arn nació el 3 de marzo de 1924.", "Anna Arn nació el 5 de mayo de 1925."), []string{"born: 3 de marzo de 1924 x1 | 5 de mayo de 1925 x1"}},
		{"a date in two languages", "When was Anna Arn born?", makeQuotes("Anna Arn wurde am 3. März 1924 geboren.", "Anna Arn was born on March 3, 1924."), nil},
		{"how many, of what no table has", "How many goals did Anna Arn score?", makeQuotes("Anna Arn scored 31 goals.", "In all, Anna Arn has 28 goals."), []string{"goals score: 28 x1 | 31 x1"}},
		{"when, of what no table has", "When was the Beacon Mill last worked?", makeQuotes("The Beacon Mill was last worked in 1921.", "The Beacon Mill last worked in 1955."), []string{"last worked: 1921 x1 | 1955 x1"}},
		{"who, of what no table has", "Who painted the Velm altar?", makeQuotes("The Velm altar was painted by Anna Arn.", "The Velm altar was painted by Karl Roe in his youth."), []string{"painted altar: Anna Arn x1 | Karl Roe x1"}},
		{"two attributes", "How many inhabitants has Velm and how large is its area?", makeQuotes("Velm has 3,559 inhabitants. Velm has an area of 12 km².", "Velm has 9,000 inhabitants. Velm has an area of 40 km²."), []string{"area m2: 12 km² x1 | 40 km² x1", "population: 3,559 x1 | 9,000 x1"}},
		{"two words and two minutes", "Is the pace of Red Sand good?", makeQuotes("The pace of Red Sand is good every two lines.", "The pace of Red Sand is good every two minutes."), nil},
		{"metres as they were measured", "Why do reports of the depth of the Sarn Trough differ?", makeQuotes("The Sarn Trough is 7,935 metres deep at Velm Deep, a survey of 2021 says.", "Velm Deep in the Sarn Trough was measured at 7,994 metres in 2010."), []string{"depth m: 7,935 metres x1 | 7,994 metres x1"}},
		{"heights of two years", "How high is the Arn Tower?", makeQuotes("The Arn Tower was 312 metres high in 1889.", "The Arn Tower has been 330 metres high since 2022."), nil},
		{"what is measured is not told", "How high is the Velm bridge?", makeQuotes("The Velm bridge is 60 metres high.", "The Velm bridge measures 1,200 metres."), nil},
		{"nothing", "When was the Arn School founded?", nil, nil},
		{"no question", "", makeQuotes("Velm has 12 inhabitants.", "Velm has 5000 inhabitants."), []string{"population: 12 x1 | 5000 x1"}},
		{"no digits and no words", "What?", makeQuotes("", "…", "?!"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, formatConflicts(ConflictsAbout(c.question, c.quotes))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	day := func(y int) time.Time { return time.Date(y, 1, 2, 0, 0, 0, 0, time.UTC) }
	quotes := makeQuotes("The Arn School was founded in 1912.", "The Arn School was founded in 1850.", "It was founded in 1850.", "Velm has 7 inhabitants.")
	quotes[0].Published, quotes[1].Published = day(2026), day(2001)
	quotes[2].Context, quotes[2].Published = "Arn School", day(1999)
	want := []ponder.Conflict{{Subject: "Arn School", Attribute: "founded", Sides: []ponder.Side{
		{Value: "1850", Voices: 2, Newest: day(2001), Quotes: []ponder.Passage{{Evidence: "e2", Start: 0, End: 35}, {Evidence: "e3", Start: 0, End: 23}}},
		{Value: "1912", Voices: 1, Newest: day(2026), Quotes: []ponder.Passage{{Evidence: "e1", Start: 0, End: 35}}},
	}}}
	if diff := cmp.Diff(want, Conflicts(quotes)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func conflictQuotes() []Quote {
	return makeQuotes("The Arn School was founded in 1912. It has 300 seats.", "The Arn School was founded in 1850.", "b> The Arn School was established in 1850 by monks.", "b> The Arn School was established in 1850 by monks.",
		"Velm has 3,559 inhabitants.", "Velm has about 3,500 inhabitants.", "Velm has 9,000 inhabitants.", "The bridge of Velm is safe.", "The bridge of Velm is not safe.", "Red Sand is a film directed by Raj Kapoor.", "Red Sand was directed by Mahesh Bhatt.")
}

func TestConflictsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	quotes := conflictQuotes()
	questions := []string{"When was the Arn School founded?", "How many inhabitants has Velm?", "Is the bridge of Velm safe?", ""}
	for _, q := range questions {
		want := ConflictsAbout(q, quotes)
		if len(want) == 0 {
			t.Errorf("%q has no conflict", q)
		}
		for range 20 {
			r.Shuffle(len(quotes), func(i, k int) { quotes[i], quotes[k] = quotes[k], quotes[i] })
			if diff := cmp.Diff(want, ConflictsAbout(q, quotes)); diff != "" {
				t.Fatalf("%q: -want +got:\n%s", q, diff)
			}
		}
	}
}

func TestConflictsOfCopies(t *testing.T) {
	quotes := conflictQuotes()
	want := formatConflicts(Conflicts(quotes))
	for i := range quotes {
		q := quotes[i]
		q.ID += "copy"
		if diff := cmp.Diff(want, formatConflicts(Conflicts(append(quotes[:len(quotes):len(quotes)], q)))); diff != "" {
			t.Errorf("a copy of %q: -want +got:\n%s", q.Text, diff)
		}
	}
}

func TestConflictsAreOfSources(t *testing.T) {
	for _, q := range conflictQuotes() {
		twice := q
		twice.ID, twice.Voice = "again", "another"
		if got := Conflicts([]Quote{q, twice}); got != nil {
			t.Errorf("%q disagrees with itself: %v", q.Text, got)
		}
	}
	text := map[string]string{}
	for _, q := range conflictQuotes() {
		text[q.ID] = q.Text
	}
	for _, c := range Conflicts(conflictQuotes()) {
		for _, s := range c.Sides {
			for _, p := range s.Quotes {
				if c.Attribute != "statement" && !strings.Contains(text[p.Evidence][p.Start:p.End], s.Value) && !strings.Contains(s.Value, "3,5") {
					t.Errorf("%q is not in %q", s.Value, text[p.Evidence][p.Start:p.End])
				}
			}
		}
	}
}

func TestConflictsTakeLittle(t *testing.T) {
	var quotes []Quote
	for i := range 400 {
		text := ""
		for k := 0; len(text) < 4<<10; k++ {
			text += fmt.Sprintf("Town%d Velm has a population of %d in 20%02d, and the mill was built in %d by the duke. ", k%7, i*k, k%30, 1800+i%100)
		}
		quotes = append(quotes, Quote{ID: fmt.Sprint(i), Text: text, Voice: fmt.Sprint(i)})
	}
	if got := len(ConflictsAbout("What is the population of Velm?", quotes)); got > maxConflicts {
		t.Errorf("%d conflicts", got)
	}
}

func BenchmarkConflictsAbout(b *testing.B) {
	var quotes []Quote
	for i := range 400 {
		text := ""
		for k := 0; len(text) < 4<<10; k++ {
			text += fmt.Sprintf("Town%d Velm has a population of %d in 20%02d, and the mill was built in %d by the duke. ", k%7, i*k, k%30, 1800+i%100)
		}
		quotes = append(quotes, Quote{ID: fmt.Sprint(i), Text: text, Voice: fmt.Sprint(i)})
	}
	for b.Loop() {
		ConflictsAbout("What is the population of Velm?", quotes)
	}
}

func FuzzConflicts(f *testing.F) {
	f.Add("When was the Arn School founded?", "The Arn School was founded in 1912.", "The Arn School was founded in 1850.")
	f.Add("Wie hoch ist der Adra?", "Adra: 3.280,5 m (2010)", "\xff\xfe 1,2,3.4.5 million km²")
	f.Add("", "5", "$")
	f.Fuzz(func(t *testing.T, question, a, b string) {
		quotes := []Quote{{ID: "a", Text: a, Voice: "a"}, {ID: "b", Text: b, Voice: "b", Context: question}}
		got := ConflictsAbout(question, quotes)
		if diff := cmp.Diff(got, ConflictsAbout(question, []Quote{quotes[1], quotes[0]})); diff != "" {
			t.Errorf("the order matters: %s", diff)
		}
		for _, c := range append(got, Conflicts(quotes)...) {
			if len(c.Sides) < 2 {
				t.Errorf("a conflict of %d sides", len(c.Sides))
			}
			for _, s := range c.Sides {
				for _, p := range s.Quotes {
					if p.Start < 0 || p.Start >= p.End || p.Evidence == "a" && p.End > len(a) || p.Evidence == "b" && p.End > len(b) {
						t.Errorf("no passage: %v", p)
					}
				}
			}
		}
	})
}

func Conflicts(quotes []Quote) []ponder.Conflict {
	quotes, lines := prepareQuotes(quotes)
	every := func([]lexeme) bool { return true }
	all := append(findOpposites(quotes, lines, every), findConflicts(quotes, lines)...)
	return sortConflicts(append(all, findRelatedConflicts(quotes, lines, every, all)...))
}
