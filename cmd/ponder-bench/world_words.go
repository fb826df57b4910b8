package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

type worldBuilder struct {
	*rand.Rand
	world
	names []string
}

func newWorldBuilder(seed uint64) *worldBuilder {
	b := &worldBuilder{Rand: rand.New(rand.NewPCG(seed, 0)), world: world{seed: seed}}
	name := b.newName()
	b.nodes = []node{{name: name, subject: name, asks: [2]string{
		fmt.Sprintf("What explains the rise and fall of %s?", name), fmt.Sprintf("Which causes explain why %s rose and fell?", name),
	}}}
	b.question = b.nodes[0].asks[0]
	return b
}

var syllables = strings.Fields(`bar bel bor dal den dor fal fen gar gol hal hem jor kar kel kor lam lin lor mar men mol nar nel nor
	pal pen pol ral rem rin sal sel sor tal tem tor val ven vor wal wen zel zor`)

// newName returns a name that no other name contains.
func (b *worldBuilder) newName() string {
	for {
		s := syllables[b.IntN(len(syllables))] + syllables[b.IntN(len(syllables))] + []string{"a", "en", "is", "o", "u"}[b.IntN(5)]
		s = strings.ToUpper(s[:1]) + s[1:]
		if !slices.ContainsFunc(b.names, func(n string) bool { return strings.Contains(n, s) || strings.Contains(s, n) }) {
			b.names = append(b.names, s)
			return s
		}
	}
}

var things = strings.Fields("guild mill harbour treaty bridge mine bank college fleet canal market library court census garrison foundry colony")

var questionForms = [][2]string{
	{"Why did %s fail?", "What was the reason that %s failed?"},
	{"Who paid for %s?", "By whom was %s paid for?"},
	{"When did %s begin?", "At what time did %s begin?"},
	{"How large was %s?", "What was the size of %s?"},
	{"What did %s depend on?", "On what did %s depend?"},
	{"How did %s change after the war?", "In what way did %s change after the war?"},
	{"What became of %s?", "What happened to %s in the end?"},
	{"Which sources speak about %s?", "Which sources mention %s?"},
}

func (b *worldBuilder) addNode() int {
	name := b.newName()
	subject := fmt.Sprintf("the %s %s", name, things[b.IntN(len(things))])
	form := questionForms[b.IntN(len(questionForms))]
	b.nodes = append(b.nodes, node{name: name, subject: subject, asks: [2]string{fmt.Sprintf(form[0], subject), fmt.Sprintf(form[1], subject)}})
	return len(b.nodes) - 1
}

// Facts in several wordings: @N is the subject, @F a name, @Y a year and @P a number.
var factForms = [][]string{
	{"@F paid for @N in @Y.", "@N was paid for by @F in @Y.", "In @Y, it was @F that paid for @N."},
	{"@F proves that @N began before @Y.", "That @N began before @Y is proved by @F.", "As @F proves, @N began before @Y."},
	{"Because of @F, @N grew by @P percent.", "@N grew by @P percent because of @F.", "@F made @N grow by @P percent."},
	{"@N failed when @F left in @Y.", "When @F left in @Y, @N failed.", "In @Y, @N failed since @F left."},
	{"@N got @P percent of its income from @F.", "@F gave @N @P percent of its income.", "@P percent of the income of @N came from @F."},
	{"@F moved @N to the coast in @Y.", "@N was moved to the coast by @F in @Y.", "In @Y, @F moved @N to the coast."},
	{"@N had @P members under @F.", "Under @F, @N had @P members.", "There were @P members in @N under @F."},
	{"@F wrote in @Y that @N was in debt.", "In @Y, @F wrote that @N was in debt.", "@N was in debt, as @F wrote in @Y."},
	{"@N was rebuilt by @F after the fire of @Y.", "After the fire of @Y, @F rebuilt @N.", "@F rebuilt @N after the fire of @Y."},
	{"@F took @N over for @P coins.", "For @P coins, @F took over @N.", "@N was taken over by @F for @P coins."},
}

// addFact adds a random fact to a node.
func (b *worldBuilder) addFact(at int, weight float64) {
	f := fact{node: at, name: b.newName(), weight: weight}
	swap := strings.NewReplacer("@F", f.name, "@N", b.nodes[at].subject, "@Y", fmt.Sprint(1500+b.IntN(400)), "@P", fmt.Sprint(2+b.IntN(97)))
	for _, form := range factForms[b.IntN(len(factForms))] {
		f.wordings = append(f.wordings, capitalizeFirst(swap.Replace(form)))
	}
	b.nodes[at].facts = append(b.nodes[at].facts, len(b.facts))
	b.facts = append(b.facts, f)
}

// Remarks without a claim.
var vagueForms = []string{
	"Little is known about %s.", "It is unclear whether %s mattered.", "There may have been many reasons why %s was as it was.",
	"One could look at %s from several sides.", "What is said about %s is contradictory.", "Perhaps %s was less important than it seems.",
	"It would help to know more about %s.", "Nothing certain can be said about %s.",
}

// capitalizeFirst capitalises the first letter.
func capitalizeFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// embeddedClause returns a sentence as part of another.
func embeddedClause(text string) string {
	text = strings.TrimSuffix(text, ".")
	for _, w := range []string{"The ", "In ", "After ", "When ", "Because ", "Under ", "There ", "That ", "As ", "For "} {
		if strings.HasPrefix(text, w) {
			return strings.ToLower(text[:1]) + text[1:]
		}
	}
	return text
}
