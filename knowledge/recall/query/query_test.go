package query

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOperators(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Query
		time       string
	}{
		{
			"all filters", "kind:post source:twitter tag:x before:2024-03 after:2024 coffee",
			Query{Text: "coffee", Words: []Word{{Text: "coffee"}}, Kinds: []string{"post"}, Sources: []string{"twitter"}, Tags: []string{"x"}}, "2024-01-01..2024-03-01",
		},
		{
			"phrase, prefix, not, must", `"exact phrase" post* -draft +final`,
			Query{
				Text: "exact phrase post final", Phrases: []string{"exact phrase"},
				Words: []Word{{Text: "exact"}, {Text: "phrase"}, {Text: "post", Prefix: true}, {Text: "draft", Not: true}, {Text: "final", Must: true}},
			}, "..",
		},
		{"value in quotes", `tag:"new york" trip`, Query{Text: "trip", Words: []Word{{Text: "trip"}}, Tags: []string{"new york"}}, ".."},
		{"curly quotes", "“exact phrase”", Query{Text: "exact phrase", Phrases: []string{"exact phrase"}, Words: []Word{{Text: "exact"}, {Text: "phrase"}}}, ".."},
		{"phrase that is not wanted", `-"old plan" budget`, Query{Text: "budget", Words: []Word{{Text: "old plan", Not: true}, {Text: "budget"}}}, ".."},
		{"words for a date", `before:yesterday after:"last week" hello`, Query{Text: "hello", Words: []Word{{Text: "hello"}}}, "2026-11-09..2026-11-17"},
		{"author", "from:anna hello", Query{Text: "hello", Words: []Word{{Text: "hello"}}, People: []string{"anna"}}, ".."},
		{"other names of kinds", "kind:notes type:docs x1", Query{Text: "x1", Words: []Word{{Text: "x1"}}, Kinds: []string{"journal", "document"}}, ".."},
		{"a date that is none", "before:lunch soup", Query{Text: "before:lunch soup", Words: []Word{{Text: "before"}, {Text: "lunch"}, {Text: "soup"}}}, ".."},
		{"an address", "https://example.org/page", Query{Text: "https://example.org/page", Words: []Word{{Text: "https"}, {Text: "example"}, {Text: "org"}, {Text: "page"}}}, ".."},
		{"hyphens", "e-mail - about", Query{Text: "e-mail - about", Words: []Word{{Text: "e"}, {Text: "mail"}}}, ".."},
		{"below zero", "ice at -5 degrees", Query{Text: "ice at -5 degrees", Words: []Word{{Text: "ice"}, {Text: "5"}, {Text: "degrees"}}}, ".."},
		{"an open quotation mark", `"left open`, Query{Text: `"left open`, Words: []Word{{Text: "left"}, {Text: "open"}}}, ".."},
		{"empty", "", Query{}, ".."},
		{"signs", "?!* +- ::", Query{Text: "* +-:"}, ".."},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Parse(c.text, now)
			if got := describeRange(q.Time); got != c.time || q.Time.Strict != (c.time != "..") {
				t.Errorf("the time is %s (strict: %v), want %s", got, q.Time.Strict, c.time)
			}
			q.Time, q.Class, q.Confidence, q.Why = Range{}, "", 0, ""
			if diff := cmp.Diff(c.want, q); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnchors(t *testing.T) {
	for _, c := range []struct {
		text string
		want *Anchor
		rest string
	}{
		{"what did we decide before the launch about pricing", &Anchor{"before", "launch", "before the launch"}, "what did we decide about pricing"},
		{"after the launch, what did we change", &Anchor{"after", "launch", "after the launch"}, "what did we change"},
		{"where was I working before I moved to Berlin", &Anchor{"before", "I moved to Berlin", "before I moved to Berlin"}, "where was I working"},
		{"expenses since our wedding", &Anchor{"after", "wedding", "since our wedding"}, "expenses"},
		{"who did I meet during the conference?", &Anchor{"around", "conference", "during the conference"}, "who did I meet?"},
		{"mood after Anna's visit", &Anchor{"after", "Anna's visit", "after Anna's visit"}, "mood"},
		{"was haben wir vor dem Umzug besprochen", &Anchor{"before", "Umzug", "vor dem Umzug"}, "was haben wir besprochen"},
		{"qu'est-ce qu'on a décidé avant le lancement", &Anchor{"before", "lancement", "avant le lancement"}, "qu'est-ce qu'on a décidé"},
		{"qué decidimos después del lanzamiento", &Anchor{"after", "lanzamiento", "después del lanzamiento"}, "qué decidimos"},
		{"who looked after the dog", nil, "who looked after the dog"},
		{"a street named after my uncle", nil, "a street named after my uncle"},
		{"before March 2024", nil, ""},
		{"since when do we use it", nil, "since when do we use it"},
	} {
		t.Run(c.text, func(t *testing.T) {
			q := Parse(c.text, now)
			if diff := cmp.Diff(c.want, q.Anchor); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if q.Text != c.rest {
				t.Errorf("got remaining text %q, want %q", q.Text, c.rest)
			}
		})
	}
}

func TestPeople(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // joined by ", "
	}{
		{"what did I promise Anna", "Anna"},
		{"what did i promise anna", "anna"},
		{"anna's birthday", "anna"},
		{"Who is Dr. Okafor?", "Dr. Okafor"},
		{"phone number of uncle Georg", "uncle Georg"},
		{"Maria Lopez and Tom Baker", "Maria Lopez, Tom Baker"},
		{"what did I promise Xochitl", "Xochitl"},
		{"what does Oyelaran think of it", "Oyelaran"},
		{"lunch with Xochitl", "Xochitl"},
		{"what did @rowan post", "@rowan"},
		{"did Oyelaran's wife call", "Oyelaran"},
		{"was hat Jonas gesagt", "Jonas"},
		{"was hat Camille über den Garten gesagt", "Camille"},
		{"compare Postgres and Redis", ""},
		{"trip to Berlin in May", ""},
		{"mark the page and will it work", ""},
		{"mail anna@example.org", ""},
		{"How is Kubernetes deployed", ""},
		{"why did Oyelaran leave", "Oyelaran"},
		{"does Python support threads", ""},
	} {
		t.Run(c.text, func(t *testing.T) {
			if got := strings.Join(Parse(c.text, now).People, ", "); got != c.want {
				t.Errorf("are %q, want %q", got, c.want)
			}
		})
	}
}

func TestRecent(t *testing.T) {
	for text, want := range map[string]bool{
		"latest invoice": true, "my last meeting with Tom": true, "most recent photo": true, "what did we discuss recently": true, "the last time it rained": true,
		"neueste Rechnung": true, "dernière fois": true, "what is her last name": false, "what did I do last week": false, "old invoice": false, "at last some rain": false,
	} {
		if got := Parse(text, now).Recent; got != want {
			t.Errorf("%q: recent is %v, want %v", text, got, want)
		}
	}
}

// Words of absolute dates stay in Words; relative ones do not.
func TestWordsOfTimes(t *testing.T) {
	for text, want := range map[string][]Word{
		"budget in March 2024":     {{Text: "budget"}, {Text: "March", Time: true}, {Text: "2024", Time: true}},
		"budget of last week":      {{Text: "budget"}},
		"budget before the launch": {{Text: "budget"}, {Text: "launch", Time: true, Event: true}},
		"photos of last summer":    {{Text: "photos"}, {Text: "summer", Time: true}},
	} {
		if diff := cmp.Diff(want, Parse(text, now).Words); diff != "" {
			t.Errorf("%q: -want +got:\n%s", text, diff)
		}
	}
}

func TestBoundaries(t *testing.T) {
	zone := time.FixedZone("east", 9*3600)
	for _, c := range []struct{ name, now, text, want string }{
		{"first day of the year", "2027-01-01T00:00:00Z", "last week", "2026-12-21..2026-12-28"},
		{"first week of the year", "2027-01-01T00:00:00Z", "this week", "2026-12-28..2027-01-04"},
		{"yesterday was last year", "2027-01-01T08:00:00Z", "yesterday", "2026-12-31..2027-01-01"},
		{"last month was last year", "2027-01-31T08:00:00Z", "last month", "2026-12-01..2027-01-01"},
		{"a month after a long one", "2026-03-31T08:00:00Z", "last month", "2026-02-01..2026-03-01"},
		{"next month after a long one", "2026-01-31T08:00:00Z", "next month", "2026-02-01..2026-03-01"},
		{"last quarter was last year", "2026-02-10T08:00:00Z", "last quarter", "2025-10-01..2026-01-01"},
		{"on a Monday", "2026-11-16T08:00:00Z", "since Monday", "2026-11-16.."},
		{"last Monday on a Monday", "2026-11-16T08:00:00Z", "last Monday", "2026-11-09..2026-11-10"},
		{"this week on a Sunday", "2026-11-22T08:00:00Z", "this week", "2026-11-16..2026-11-23"},
		{"last weekend on a Sunday", "2026-11-22T08:00:00Z", "last weekend", "2026-11-14..2026-11-16"},
		{"leap day", "2024-02-29T08:00:00Z", "a year ago today", "2023-02-28..2023-03-01"},
		{"yesterday was a leap day", "2024-03-01T08:00:00Z", "yesterday", "2024-02-29..2024-03-01"},
		{"no leap year", "2023-03-01T08:00:00Z", "yesterday", "2023-02-28..2023-03-01"},
		{"the latest leap day", "2102-06-01T08:00:00Z", "on 29 February", "2096-02-29..2096-03-01"},
		{"leap month", "2024-06-01T08:00:00Z", "in February", "2024-02-01..2024-03-01"},
		{"this month is the latest", "2026-03-01T00:00:00Z", "in March", "2026-03-01..2026-04-01"},
		{"one day before", "2026-02-28T23:59:59Z", "in March", "2025-03-01..2025-04-01"},
		{"last summer in summer", "2026-07-10T08:00:00Z", "last summer", "2025-06-01..2025-09-01"},
		{"this winter in January", "2026-01-10T08:00:00Z", "this winter", "2025-12-01..2026-03-01"},
		{"winter in January", "2026-01-10T08:00:00Z", "in winter", "2025-12-01..2026-03-01"},
		{"last Christmas on its second day", "2026-12-25T08:00:00Z", "last Christmas", "2025-12-24..2025-12-27"},
		{"between over the new year", "2026-06-10T08:00:00Z", "between May and July", "2025-05-01..2025-08-01"},
		{"winter of weeks", "2021-01-03T08:00:00Z", "this week", "2020-12-28..2021-01-04"},
		{"week 53", "2021-02-03T08:00:00Z", "week 53", "2020-12-28..2021-01-04"},
		{"before all time", "2026-01-01T00:00:00Z", "10000 years ago", "..0001-07-01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := describeRange(Parse(c.text, at).Time); got != c.want {
				t.Errorf("%q is %s, want %s", c.text, got, c.want)
			}
		})
	}
	late := time.Date(2026, 11, 18, 23, 30, 0, 0, time.UTC).In(zone) // the 19th in that zone
	if got := Parse("today", late).Time; !got.From.Equal(time.Date(2026, 11, 19, 0, 0, 0, 0, zone)) {
		t.Errorf("today begins %v, in another zone", got.From)
	}
}

// Where a change of clocks removes midnight, the day begins at one.
func TestDaysWithoutMidnight(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Skip("no time zones on this machine")
	}
	q := Parse("on 4 November 2018", time.Date(2018, 11, 20, 12, 0, 0, 0, zone))
	if d := q.Time.To.Sub(q.Time.From); d < 22*time.Hour || d > 25*time.Hour || q.Time.From.IsZero() {
		t.Errorf("the day is %v long, from %v", d, q.Time.From)
	}
}

// Time is linear in the text, up to a limit.
func TestLongTexts(t *testing.T) {
	for _, word := range []string{"last ", "the end of ", "before the ", "2024-", "kind:", `"a`, "between May and ", "-", "first week of ", "anna ", "é", "vor drei "} {
		q := Parse(strings.Repeat(word, 200_000), now)
		if len(q.Text) > maxBytes+maxTokens || len(q.Words) > maxTokens+1 {
			t.Errorf("%q: %d bytes and %d words are left", word, len(q.Text), len(q.Words))
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"what did I do last week", "between May and July 2023", `tag:"x y" -"z" +w*`, "am 5.3.2024 vor drei Wochen", "aujourd'hui il y a 3 mois", "before the launch, Dr. Anna's",
		"2024-03-05T10:20:00Z", "the 1990s '98 Q2-2023", "\xff\xfe before:", "late mid early first half of the end of 2023", "last 10000 centuries", "9999-12-31 since 3000",
	} {
		f.Add(text, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		q := Parse(text, time.Unix(at%(1<<38), 0).UTC())
		for _, end := range []time.Time{q.Time.From, q.Time.To} {
			if y := end.Year(); y < 1 || y > 10_000 {
				t.Errorf("%q: the year %d", text, y)
			}
		}
		if !q.Time.Strict && !q.Time.From.IsZero() && !q.Time.To.IsZero() && q.Time.To.Before(q.Time.From) {
			t.Errorf("%q: ends before it begins: %v", text, q.Time)
		}
		if q.Confidence < 0 || q.Confidence > 1 || q.Class == "" || q.Why == "" {
			t.Errorf("%q: class %q, %f, %q", text, q.Class, q.Confidence, q.Why)
		}
		if q.Anchor != nil && (q.Anchor.Event == "" || !strings.Contains(strings.ToValidUTF8(text, "\uFFFD"), q.Anchor.Text)) {
			t.Errorf("%q: anchor %+v", text, q.Anchor)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse("what did Anna promise me about the garden between May and July last year", now)
	}
}

// Words for events are left out beside a time.
func TestWhateverHappened(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"what happened in March 2024", ""},
		{"what did I do on 18 November", ""},
		{"what was going on last week", ""},
		{"what was there in May 2026", ""},
		{"was ist im März 2024 passiert", ""},
		{"what happened with the boiler in March 2024", "boiler"},
		{"what happened to the boiler", "happened boiler"},
		{"what did we find before the launch", "find"},
		{"find the boiler", "boiler"},
	} {
		t.Run(c.text, func(t *testing.T) {
			var got []string
			for _, w := range Parse(c.text, now).Words {
				if !w.Time {
					got = append(got, w.Text)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("looks for %q, want %q", got, c.want)
			}
		})
	}
}
