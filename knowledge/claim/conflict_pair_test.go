package claim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConflictsOfTwo(t *testing.T) {
	for _, c := range []struct{ name, one, other, want string }{
		{"a place in another", "Velm in Kansas has 9,000 inhabitants.", "Velm, the seat of Arn County, has 41,000 inhabitants.", ""},
		{"a place in another, with a comma", "Velm in Kansas has 9,000 inhabitants.", "Velm, Ohio, has 41,000 inhabitants.", ""},
		{"a place in the same", "Velm in Kansas has 9,000 inhabitants.", "Velm, Kansas, has 41,000 inhabitants.", "population: 41,000 x1 | 9,000 x1"},
		{"a month is no place", "Velm in May had 9,000 inhabitants.", "Velm, Ohio, had 41,000 inhabitants.", "population: 41,000 x1 | 9,000 x1"},
		{"people of two callings", "Jay Arn, a painter, was born in 1950.", "Jay Arn, the Swedish surgeon, was born in 1923.", ""},
		{"people of one calling", "Jay Arn, a painter, was born in 1950.", "Jay Arn, the Swedish painter, was born in 1923.", "born: 1923 x1 | 1950 x1"},
		{"within a margin", "Mount Adra is 3,280 ± 4 metres high.", "Mount Adra is 3,283 metres high.", ""},
		{"within a margin with units", "Mount Adra is 3,280 m ± 4 m high.", "Mount Adra is 3,283 metres high.", ""},
		{"within a share", "Mount Adra is 3,280 m ± 1% high.", "Mount Adra is 3,300 metres high.", ""},
		{"beyond a margin", "Mount Adra is 3,280 plus or minus 4 metres high.", "Mount Adra is 3,310 metres high.", "height m: 3,280 plus or minus 4 metres x1 | 3,310 metres x1"},
		{"within a range", "Mount Adra is 3,200 to 3,300 metres high.", "Mount Adra is 3,280 metres high.", ""},
		{"beyond a range", "Mount Adra is 3,200–3,300 metres high.", "Mount Adra is 3,680 metres high.", "height m: 3,200–3,300 metres x1 | 3,680 metres x1"},
		{"metres that differ a little", "The Sarn Trough is 7,935 metres deep.", "The Sarn Trough is 7,984 metres deep.", "depth m: 7,935 metres x1 | 7,984 metres x1"},
		{"a metre that was cut", "The Sarn Trough is 7,935 metres deep.", "The Sarn Trough is 7,935.8 metres deep.", ""},
		{"a little, in other units", "The Sarn Trough is 7,935 metres deep.", "The Sarn Trough is 26,000 feet deep.", ""},
		{"a part of it", "Revenue of Velm Steel in Asia was $3 billion in 2021.", "Revenue of Velm Steel was $8 billion in 2021.", ""},
		{"the same part of it", "Revenue of Velm Steel in Asia was $3 billion in 2021.", "Revenue of Velm Steel in Asia was $8 billion in 2021.", "revenue 2021 USD: $3 billion x1 | $8 billion x1"},
		{"employees somewhere", "Velm Steel employs 900 people in the Netherlands.", "Velm Steel employs 7,000 people.", ""},
		{"statements of other places", "Filters reduce noise in offices.", "Filters do not reduce noise outdoors.", ""},
		{"statements of other people", "The vaccine protects against fever among infants.", "The vaccine does not protect against fever among nurses.", ""},
		{"statements of one place", "Filters reduce noise in offices.", "Filters do not reduce noise in offices.", "statement: Filters do not reduce noise in offices. x1 | Filters reduce noise in offices. x1"},
		{"deaths", "The storm killed 23 people.", "The storm killed 32 people.", "number: 23 x1 | 32 x1"},
		{"deaths in a place", "In Velm 23 people drowned in the storm of 1921.", "32 people drowned in Velm in the storm of 1921.", "number 1921: 23 x1 | 32 x1"},
		{"a bound of deaths", "The storm killed at least 23 people.", "The storm killed 32 people.", ""},
		{"a share", "62% of members backed the merger.", "41% of members backed the merger.", "number %: 41% x1 | 62% x1"},
		{"a share of two things", "62% of members backed the merger.", "41% of members opposed the merger.", ""},
		{"a time", "The lamp lasts 30 hours.", "The lamp lasts only 20 hours.", "number s: 20 hours x1 | 30 hours x1"},
		{"a time in two units", "The lamp lasts 30 hours.", "The lamp lasts 1,800 minutes.", ""},
		{"a time of day", "The library closes at 8 pm.", "The library closes at 9 pm.", "number: 8 x1 | 9 x1"},
		{"halves of a day", "The library closes at 8 am.", "The library closes at 9 pm.", ""},
		{"French", "Le pont de Velm mesure 320 mètres.", "Le pont de Velm mesure 410 mètres.", "number m: 320 mètres x1 | 410 mètres x1"},
		{"types that are numbered", "The pump treats type 1 faults.", "The pump treats type 2 faults.", ""},
		{"missions that are numbered", "Sarn 11 pilots reached the pole.", "Sarn 12 pilots reached the pole.", ""},
		{"two numbers", "Of the 40 ships, 12 sank.", "Of the 40 ships, 28 sank.", ""},
		{"what it is, is not known", "It lasted 3 hours in the rain.", "It lasted 5 hours in the rain.", ""},
		{"another time", "The strike cost 12 million dollars last year.", "The strike cost 15 million dollars last year.", ""},
		{"pages of other things", "Arn ferry:: The trip takes 3 hours.", "Velm railway:: The trip takes 5 hours.", ""},
		{"pages of one thing", "Arn ferry:: The trip takes 3 hours.", "The ferry of Velm:: The trip takes 5 hours.", "number s: 3 hours x1 | 5 hours x1"},
		{"the day of an event", "The pact was ratified on 4 July 1911.", "The pact was ratified on 14 July 1911.", "date: 14 July 1911 x1 | 4 July 1911 x1"},
		{"the day of an event, with its weekday", "The truce began on Monday, 5 June 2023.", "The truce began on Tuesday, 6 June 2023.", "date: 5 June 2023 x1 | 6 June 2023 x1"},
		{"the month of an event", "The pact was ratified on 4 July 1911.", "The pact was ratified in July 1911.", ""},
		{"the year of an event", "The siege of Velm ended in 1412.", "The siege of Velm ended in 1421.", "date: 1412 x1 | 1421 x1"},
		{"an event of each year", "The Velm Games began on 3 May 2021.", "The Velm Games began on 5 May 2022.", ""},
		{"what happens often", "The council of Velm met on 3 May 1921.", "The council of Velm met on 13 May 1921.", ""},
		{"a capital", "The capital of Velmland is Arn.", "Roe is the capital of Velmland.", "name: Arn x1 | Roe x1"},
		{"an office", "Velm Steel's CEO is Anna Arn.", "The CEO of Velm Steel is Karl Roe.", "name: Anna Arn x1 | Karl Roe x1"},
		{"an office in German", "Die Hauptstadt von Velmland ist Arn.", "Die Hauptstadt von Velmland ist Roe.", "name: Arn x1 | Roe x1"},
		{"an office at two times", "Anna Arn was the mayor of Velm.", "Karl Roe was the mayor of Velm.", ""},
		{"an office of several", "Anna Arn is the vice president of Velm Steel.", "Karl Roe is the vice president of Velm Steel.", ""},
		{"members", "Anna Arn is a member of the council of Velm.", "Karl Roe is a member of the council of Velm.", ""},
		{"a superlative", "Mount Adra is the steepest mountain in Velmland.", "Mount Sarn is the steepest mountain in Velmland.", "name: Mount Adra x1 | Mount Sarn x1"},
		{"the first", "Anna Arn was the first woman on Mount Adra.", "The first woman on Mount Adra was Eva Roe.", "name: Anna Arn x1 | Eva Roe x1"},
		{"superlatives of two kinds", "Arn is the largest town in Velmland by area.", "Roe is the largest town in Velmland by population.", ""},
		{"a share that was rounded", "The filter cut noise in 40% of offices.", "The filter cut noise in 40.3% of offices.", ""},
		{"what an office holder has", "Anna Arn is the king's niece in Velmland.", "Eva Arn is the king's niece in Velmland.", ""},
		{"events of one kind", "The mayor signed the order on 3 May 2021.", "The mayor signed the order on 5 June 2021.", ""},
		{"a name in short", "A. Arn is the mayor of Velm.", "Anna Arn is the mayor of Velm.", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, quotes := range [][]Quote{makeQuotes(c.one, c.other), makeQuotes(c.other, c.one)} {
				if diff := cmp.Diff(c.want, strings.Join(formatConflicts(Conflicts(quotes)), "; ")); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestConflictsOfOneVoice(t *testing.T) {
	quotes := makeQuotes("The Sarn is 98 km long.", "Velm> The Sarn is 120 km long.", "Velm> The Sarn is 120 km long. It rises near Arn.", "Velm> The Sarn, a river, is 120 km long.", "The Sarn is 120 km long, people say.")
	got := Conflicts(quotes)
	if len(got) != 1 || len(got[0].Sides) != 2 {
		t.Fatalf("%v", formatConflicts(got))
	}
	var ids []string
	for _, p := range got[0].Sides[0].Quotes {
		ids = append(ids, p.Evidence)
	}
	if diff := cmp.Diff([]string{"e3", "e5", "e4"}, ids); diff != "" || got[0].Sides[0].Voices != 2 {
		t.Errorf("%d voices; -want +got:\n%s", got[0].Sides[0].Voices, diff)
	}
}

func TestConflictSubject(t *testing.T) {
	quotes := makeQuotes("In 2010 Broken Mill in Ohio had a population of 3,559.", "In 2010 Broken Mill, Ohio, had a population of 10,000.")
	for question, want := range map[string]string{
		"Compare the population of Broken Mill, Ohio":                 "Broken Mill Ohio",
		"compare broken mill ohio population":                         "Broken Mill Ohio",
		"Tell me how sources differ on the population of Broken Mill": "Broken Mill",
		"Please list what sources say of Broken Mill's population":    "Broken Mill",
		"what do reports say about the population of broken mill":     "Broken Mill",
	} {
		got := ConflictsAbout(question, quotes)
		if len(got) != 1 || got[0].Subject != want {
			t.Errorf("%q: %v", question, got)
		}
	}
}
