package thread

import (
	"fmt"
	"ponder/internal/textkit"
	"testing"

	"ponder"
)

// past holds sessions with questions and answers.
var past = []summary{
	{Question: "Should a small team move from Postgres to a distributed database?", Answer: "No. Until a single node is outgrown, replication and backups of Postgres are simpler and cheaper. Sharding costs joins and transactions."},
	{Question: "Why do coral reefs bleach, and can they recover?", Answer: "Heat makes corals expel their algae. They recover if the heat passes within weeks; repeated heatwaves leave no time."},
	{Question: "How can we reduce the churn of our monthly subscribers?", Answer: "Most subscribers leave in the first month, so onboarding matters most. Annual plans and reminders before renewal help."},
	{Question: "Is it better to rent or to buy a flat in Berlin at today's interest rates?", Answer: "Renting is cheaper below a holding time of about eleven years. Rates above 4 percent push that further out."},
	{Question: "What explains the fall of the Western Roman Empire?", Answer: "No single cause. Fiscal weakness, civil wars and pressure on the frontiers fed each other."},
	{Question: "Warum ist der Strompreis in Deutschland höher als in Frankreich?", Answer: "Abgaben, Netzentgelte und der Preis von Gas erklären den größten Teil des Unterschieds; Kernkraft in Frankreich den Rest."},
	{Question: "为什么天空是蓝色的？", Answer: "因为瑞利散射：短波长的光被空气分子散射得更多。"},
	{Question: "What makes a good question?", Answer: "It is specific, it can be answered, and its answer changes what one does next."},
	{Question: "Does intermittent fasting extend life?", Answer: "In mice it does, moderately. In people there is no proof; benefits are those of eating less."},
	{Question: "How should a compiler allocate registers quickly?", Answer: "Linear scan is nearly as good as graph colouring and far faster; SSA form makes it optimal in parts."},
}

func TestRelated(t *testing.T) {
	for _, c := range []struct {
		name, question string
		want           int // index in past; -1 is none
	}{
		{"the same", "Why do coral reefs bleach, and can they recover?", 1},
		{"other words", "Can coral reefs recover after they bleach?", 1},
		{"narrower", "Do repeated heatwaves stop corals from recovering?", 1},
		{"a part of it", "Is Postgres enough for a small team?", 0},
		{"turned around", "Buy or rent a flat in Berlin?", 3},
		{"the subject alone", "fall of the Roman Empire", 4},
		{"long", "We run a subscription business with monthly plans. Each month about six percent of subscribers cancel. Which measures reduce the churn of monthly subscribers most, and how would we know?", 2},
		{"German", "Wieso zahlt man in Deutschland mehr für Strom als in Frankreich, und wird der Strompreis sinken?", 5},
		{"Chinese", "天空为什么是蓝色的", 6},
		{"health", "Does fasting make people live longer, as intermittent fasting does in mice?", 8},
		{"technical", "Which register allocation is best for a fast compiler?", 9},

		{"nothing to do with it", "How do tides generate electricity?", -1},
		{"words of any question", "What is the best way to make a good decision?", -1},
		{"one word in common", "Which small garden plants need no water?", -1},
		{"a team, but another question", "How does a football team train for a final?", -1},
		{"a month", "Why does the moon take a month around the earth?", -1},
		{"other empire", "How did the Mongols treat merchants?", -1},
		{"rates of another kind", "What heart rates are healthy at rest?", -1},
		{"another why", "Why is the sea salty?", -1},
		{"no words", "??", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := relatedSessions(c.question, past, 3)
			best, score := -1, 0.0
			if len(got) > 0 {
				score = got[0].score
				for i := range past {
					if past[i].Question == got[0].Question {
						best = i
					}
				}
			}
			if best != c.want {
				t.Errorf("got %d with %.2f, want %d", best, score, c.want)
			}
			for _, only := range past {
				for _, m := range relatedSessions(c.question, []summary{only}, 3) {
					if c.want < 0 || m.Question != past[c.want].Question {
						t.Errorf("alone, %q gets %.2f", only.Question, m.score)
					}
				}
			}
		})
	}
}

// BenchmarkRelated ranks the maximum number of sessions.
func BenchmarkRelated(b *testing.B) {
	var many []summary
	for i := range maxSessions {
		s := past[i%len(past)]
		s.Question += fmt.Sprintf(" (case %d)", i)
		for len(s.Answer) < maxAnswer {
			s.Answer += fmt.Sprintf(" In case %d it was %d. %s", i, i*i, s.Answer[:100*len(s.Answer)/200])
		}
		s.Answer, s.thread = textkit.TruncateBytes(s.Answer, maxAnswer), ponder.ThreadID(fmt.Sprint(i))
		many = append(many, s)
	}
	for b.Loop() {
		if len(relatedSessions("Can coral reefs recover after they bleach?", many, 3)) != 3 {
			b.Fatal("not found")
		}
	}
}
