package claim

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A mutation is a claim with one detail that contradicts its source.
type mutation struct{ kind, text string }

func makeMutations(claim string, rng *rand.Rand) (list []mutation) {
	r := readSentence(claim, span{0, len(claim)}, "en")
	for _, f := range r.figures {
		if other := otherNumber(claim[f.start:f.end], rng); other != "" {
			list = append(list, mutation{"number", claim[:f.start] + other + claim[f.end:]})
		}
	}
	for _, d := range r.days {
		if other := otherDate(claim[d.start:d.end], rng); other != "" {
			list = append(list, mutation{"date", claim[:d.start] + other + claim[d.end:]})
		}
	}
	names := []string{"Hartmann", "Lisbon", "Okonkwo", "Vektor", "Pereira", "Tromsø", "Kawasaki", "Delgado"}
	for _, t := range r.terms {
		if t.name {
			list = append(list, mutation{"name", claim[:t.start] + names[rng.IntN(len(names))] + claim[t.end:]})
		}
	}
	if m := auxiliary.FindStringIndex(claim); m != nil && !negating.MatchString(claim) {
		list = append(list, mutation{"negation", claim[:m[1]] + " not" + claim[m[1]:]})
	}
	if m := negating.FindStringIndex(claim); m != nil {
		list = append(list, mutation{"negation", claim[:m[0]] + claim[m[1]:]})
	}
	return list
}

var (
	auxiliary = regexp.MustCompile(`\b(is|was|were|are|has|have|had|will|can|did|would)\b`)
	negating  = regexp.MustCompile(`\bnot |\bnever `)
	digits    = regexp.MustCompile(`[0-9]+`)
)

func otherNumber(said string, rng *rand.Rand) string {
	for _, pair := range [][2]string{{"two", "five"}, {"three", "nine"}, {"four", "seven"}, {"five", "eight"}, {"six", "ten"}, {"first", "fourth"}, {"second", "sixth"}, {"third", "eighth"}} {
		if rest, ok := strings.CutPrefix(strings.ToLower(said), pair[0]); ok {
			return pair[1] + rest
		}
	}
	at := digits.FindStringIndex(said)
	if at == nil {
		return ""
	}
	n, err := strconv.Atoi(said[at[0]:at[1]])
	if err != nil {
		return ""
	}
	return said[:at[0]] + strconv.Itoa(n+1+n/3+rng.IntN(3)) + said[at[1]:]
}

func otherDate(said string, rng *rand.Rand) string {
	months := strings.Fields("January February March April May June July August September October November December")
	if rng.IntN(2) == 0 {
		for i, m := range months {
			if strings.Contains(said, m) {
				return strings.Replace(said, m, months[(i+1+rng.IntN(10))%12], 1)
			}
		}
	}
	all := digits.FindAllStringIndex(said, -1)
	if len(all) == 0 {
		return ""
	}
	at := all[rng.IntN(len(all))]
	n, _ := strconv.Atoi(said[at[0]:at[1]])
	if n > 31 {
		n -= 1 + rng.IntN(9)
	} else {
		n = n%28 + 1
	}
	return said[:at[0]] + strconv.Itoa(n) + said[at[1]:]
}

var borneOut = []struct{ claim, quote, context string }{
	{"The bridge was opened on 12 May 1932 and cost £4.2 million.", "After eight years of work the bridge was opened to traffic on May 12, 1932. The total cost was 4,200,000 pounds, most of it paid by the state.", "Harbour Bridge"},
	{"Marie Keller won the 1998 Oslo Marathon in 2 hours 31 minutes.", "Marie Keller of Switzerland won the Oslo Marathon in 1998. Her time of 2 hours 31 minutes stood for a decade.", ""},
	{"The population of Arlen grew by 12 percent between 2001 and 2011.", "Between 2001 and 2011 the population of Arlen grew by 12%, the fastest growth in the county.", "Arlen"},
	{"The committee did not approve the merger in March 2015.", "In March 2015 the committee did not approve the merger, citing concerns over prices.", "Merger of Alpha and Beta"},
	{"Vitamin C was first isolated by Albert Szent-Györgyi in 1928.", "In 1928, vitamin C was first isolated by the Hungarian biochemist Albert Szent-Györgyi.", "Vitamin C"},
	{"The river is 1,320 km long and flows through Austria, Hungary and Serbia.", "The river flows through Austria, Hungary and Serbia. It is 1320 km long.", "The river"},
	{"The survey of 3,559 teachers was published in the Journal of Education in June 2019.", "A survey of 3,559 teachers, published in June 2019 in the Journal of Education, found that most were content.", ""},
	{"Tesla delivered 343,830 cars in the third quarter of 2022.", "Tesla delivered 343,830 cars in the third quarter of 2022, the company said.", "Tesla deliveries"},
	{"The vaccine was approved by the European Medicines Agency on 21 December 2020.", "On 21 December 2020 the vaccine was approved by the European Medicines Agency (EMA).", ""},
	{"The castle was never captured during the siege of 1643.", "During the siege of 1643 the castle was never captured, though its walls were badly damaged.", "Corfe"},
	{"Nordhavn has two libraries and seven schools.", "There are seven schools and two libraries in Nordhavn.", "Nordhavn"},
	{"Anna Lind was elected mayor of Uppsala in 2006.", "Anna Lind was elected mayor of Uppsala in 2006 with 54 percent of the vote.", ""},
	{"The drug was not associated with a higher risk of stroke in the trial of 12,000 patients.", "In the trial of 12,000 patients, the drug was not associated with a higher risk of stroke.", ""},
	{"The museum was visited by about 1.5 million people in 2018.", "In 2018 the museum was visited by 1,523,000 people.", "City Museum"},
	{"Berlin has been the capital of Germany since 3 October 1990.", "Since 3 October 1990, Berlin has been the capital of reunified Germany.", "Berlin"},
}

type tally struct{ all, caught map[string]int }

func (y *tally) add(kind string, caught bool) {
	y.all[kind]++
	if caught {
		y.caught[kind]++
	}
}

func (y *tally) String() (s string) {
	for _, k := range []string{"number", "date", "name", "negation"} {
		s += fmt.Sprintf("%s %d/%d ", k, y.caught[k], y.all[k])
	}
	return s
}

func (y *tally) caughtRate() float64 {
	n, m := 0, 0
	for k := range y.all {
		n, m = n+y.caught[k], m+y.all[k]
	}
	return float64(n) / float64(m)
}

// countMutations counts the mutations of a claim that lower its verdict or score.
func (y *tally) countMutations(t *testing.T, c *Corpus, claim string, rng *rand.Rand) {
	before := c.Verify(Sentence{Text: claim})
	for _, m := range makeMutations(claim, rng) {
		after := c.Verify(Sentence{Text: m.text})
		caught := after.Verdict != Supported
		if before.Verdict != Supported {
			caught = after.Score < before.Score
		}
		y.add(m.kind, caught)
		if !caught && testing.Verbose() {
			t.Logf("not caught (%s, %.2f to %.2f): %s", m.kind, before.Score, after.Score, m.text)
		}
	}
}

func newTally() *tally { return &tally{make(map[string]int), make(map[string]int)} }

func TestMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	y := newTally()
	for _, w := range borneOut {
		c := NewCorpus([]Quote{{ID: "e1", Text: w.quote, Context: w.context}})
		if f := c.Verify(Sentence{Text: w.claim}); f.Verdict != Supported {
			t.Errorf("%s: %s (%.2f): %s", w.claim, f.Verdict, f.Score, f.Reason)
		}
		y.countMutations(t, c, w.claim, rng)
	}
	t.Logf("caught, of claims that were written for this: %v", y)
	if y.caughtRate() < 0.95 {
		t.Errorf("%.3f caught", y.caughtRate())
	}
}

func TestMutationsOfWice(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	strong, weak := newTally(), newTally()
	n := 0
	for _, w := range readWice(t) {
		if w.Label != "supported" {
			continue
		}
		c := NewCorpus(w.toQuotes())
		y := weak
		if c.Verify(Sentence{Text: w.Claim}).Verdict == Supported {
			y = strong
			n++
		}
		y.countMutations(t, c, w.Claim, rng)
	}
	t.Logf("caught, of %d claims that were supported: %v; with a lower score, of the others: %v", n, strong, weak)
	if strong.caughtRate() < 0.95 {
		t.Errorf("%.3f caught", strong.caughtRate())
	}
}
