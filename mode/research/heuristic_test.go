package research

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// questions with effort, web queries and first terms; empty fields are not checked.
var questions = []struct {
	question, effort string
	web              []string
	terms            string
}{
	// Factual.
	{"What is the capital of France?", trivial, []string{"capital France"}, "France, capital"},
	{"2+2", trivial, []string{"2+2"}, ""},
	{"what is 12 * 7?", trivial, nil, ""},
	{"How much is 15 % of 80?", trivial, nil, ""},
	{"(3 + 4) / 2", trivial, nil, ""},
	{"Was ist 3 mal 4?", trivial, nil, ""},
	{"who is marie curie", trivial, []string{"marie curie"}, "marie, curie"},
	{"Who wrote “Moby-Dick”?", trivial, []string{`wrote "Moby-Dick"`}, "Moby-Dick, wrote"},
	{"When was the Berlin Wall built?", trivial, []string{"Berlin Wall built"}, "Berlin Wall, built"},
	{"How tall is Mount Everest?", trivial, []string{"How tall Mount Everest"}, "Mount Everest, tall"},
	{"Define entropy", trivial, []string{"entropy"}, "entropy"},
	{"What is photosynthesis?", trivial, []string{"photosynthesis"}, "photosynthesis"},
	{"What does HTTP stand for?", trivial, nil, "HTTP, stand"},
	{"Please tell me: what is the capital of Peru?", trivial, []string{"capital Peru"}, "Peru, capital"},
	{"Could you tell me who invented the telephone?", trivial, nil, ""},
	{"Was ist die Hauptstadt von Österreich?", trivial, []string{"Hauptstadt Österreich"}, "Hauptstadt, Österreich"},
	{"Wie hoch ist der Mount Everest?", trivial, nil, "Mount Everest, hoch"},
	{"Wer hat das Telefon erfunden?", trivial, []string{"Telefon erfunden"}, ""},
	{"Quelle est la capitale de l'Espagne ?", trivial, []string{"capitale Espagne"}, "Espagne, capitale"},
	{"Qu'est-ce que la photosynthèse ?", trivial, nil, "photosynthèse"},
	{"Qui a écrit Les Misérables ?", trivial, nil, ""},
	{"¿Cuál es la capital de Italia?", trivial, []string{"capital Italia"}, "Italia, capital"},
	{"¿Quién escribió Don Quijote?", trivial, nil, "Don Quijote, escribió"},
	{"什么是光合作用？", trivial, []string{"光合作用"}, "光合作用"},
	{"法国的首都是什么？", trivial, nil, ""},
	{"光合成とは？", trivial, []string{"光合成"}, "光合成"},

	{"how many legs does a spider have", trivial, []string{"legs spider"}, ""},
	{"100 / 7", trivial, []string{"100 / 7"}, ""},
	{"珠穆朗玛峰有多高？", trivial, nil, ""},
	{"Wann wurde Goethe geboren?", trivial, []string{"Goethe geboren"}, ""},

	// Neither.
	{"How do I boil eggs?", normal, nil, "boil, eggs"},
	{"What is the best laptop for students?", normal, []string{"best laptop students"}, ""},
	{"latest news on the Artemis program", normal, []string{"latest news Artemis program"}, "Artemis, news, program"},
	{"What is the current price of copper?", normal, []string{"current price copper"}, "price, copper"},
	{"How does TCP slow start work since 2015?", normal, []string{"How TCP slow start work since 2015"}, "TCP, 2015, slow, start, work"},
	{"What did I say about \"deep work\" last week?", normal, []string{`"deep work" last week`}, "deep work"},
	{"foods without gluten", normal, []string{"foods without gluten"}, "foods, gluten"},
	{"IT security at WHO", normal, []string{"IT security WHO"}, "IT, WHO, security"},
	{"C++ templates in node.js", normal, []string{"C++ templates node.js"}, "C++, templates, node.js"},
	{"Are vaccines safe?", normal, nil, "vaccines, safe"},
	{"side effects of ibuprofen", normal, []string{"side effects ibuprofen"}, "side, effects, ibuprofen"},
	{"Was hat die Regierung letzte Woche beschlossen?", normal, []string{"Regierung letzte Woche beschlossen"}, "Regierung, beschlossen"},
	{"Wie backe ich Brot ohne Hefe?", normal, []string{"Wie backe Brot ohne Hefe"}, ""},
	{"Comment installer un chauffe-eau ?", normal, []string{"Comment installer chauffe-eau"}, "installer, chauffe-eau"},
	{"¿Qué pasó en Chile la semana pasada?", normal, nil, "Chile, pasó"},
	{"最近的火星任务", normal, nil, ""},
	{"富士山の高さは何メートルですか？", "", []string{"富士山 メートル"}, "富士山, メートル"},

	// Multi-step.
	{"Is Rust faster than Go?", deep, []string{"Rust faster Go", "Rust", "Go"}, "Rust, Go, faster"},
	{"PostgreSQL vs MySQL", deep, []string{"PostgreSQL vs MySQL", "PostgreSQL", "MySQL"}, "PostgreSQL, MySQL"},
	{"What is the difference between PostgreSQL and MySQL for small teams?", deep, []string{"difference between PostgreSQL MySQL small teams", "PostgreSQL small teams", "MySQL small teams"}, "PostgreSQL, MySQL, small, teams"},
	{"Should I use Postgres or MySQL?", deep, []string{"use Postgres MySQL", "Postgres", "MySQL"}, "Postgres, MySQL, use"},
	{"Kubernetes versus Nomad for a team of five", deep, []string{"Kubernetes versus Nomad team five", "Kubernetes team five", "Nomad team five"}, ""},
	{"¿Es mejor alquilar o comprar una casa?", deep, nil, ""},
	{"Is it better to rent or buy a house in Berlin?", deep, []string{"better rent buy house Berlin", "better rent Berlin", "buy house Berlin"}, ""},
	{"why is the sky blue", deep, []string{"why sky blue"}, "sky, blue"},
	{"How should a small company back up its data?", deep, nil, ""},
	{"Give me a thorough report on heat pumps", deep, nil, ""},
	{"Who invented the telephone and when did he die?", deep, []string{"invented telephone die", "invented telephone"}, ""},
	{"What is Kafka? How does it store messages?", deep, nil, "Kafka, store, messages"},
	{"impact of interest rates on housing", deep, nil, ""},
	{"pros and cons of nuclear energy", deep, nil, ""},
	{"I have a small garden on a slope with heavy clay that stays wet until the end of May, and I would love to grow tomatoes, beans and some herbs there without building any terraces", deep, nil, ""},
	{"Was ist der Unterschied zwischen Wärmepumpe und Gasheizung im Altbau?", deep, []string{"Unterschied Wärmepumpe Gasheizung Altbau", "Wärmepumpe Altbau", "Gasheizung Altbau"}, "Wärmepumpe, Gasheizung, Altbau"},
	{"Ist Holz besser als Gas zum Heizen?", deep, nil, ""},
	{"Warum steigen die Mieten in Berlin seit 2015?", deep, nil, ""},
	{"Pourquoi le ciel est-il bleu ?", deep, nil, "ciel, bleu"},
	{"Quelle est la différence entre un virus et une bactérie ?", deep, []string{"différence virus bactérie", "virus", "bactérie"}, "virus, bactérie"},
	{"¿Cuál es la diferencia entre un virus y una bacteria?", deep, []string{"diferencia virus bacteria", "virus", "bacteria"}, "virus, bacteria"},
	{"¿Por qué el cielo es azul?", deep, nil, "cielo, azul"},
	{"为什么天空是蓝色的？", deep, []string{"天空 蓝色"}, "天空, 蓝色"},
	{"苹果和香蕉的区别是什么？", deep, []string{"苹果 香蕉", "苹果", "香蕉"}, "苹果, 香蕉"},
	{"東京と大阪の違いは？", deep, []string{"東京 大阪", "東京", "大阪"}, "東京, 大阪"},
	{"Compare lithium-ion vs sodium-ion batteries: cost, safety and lifetime", deep, nil, "lithium-ion, sodium-ion, batteries, cost, safety, lifetime"},
	{"What did Dr. Smith say about GPT-4 in March 2024? How much does it cost? Who else was there? Why?", deep, nil, "Dr, Smith, GPT-4, 2024, cost"},
}

func TestQuestions(t *testing.T) {
	for _, tt := range questions {
		t.Run(tt.question, func(t *testing.T) {
			if got := classifyEffort(tt.question); tt.effort != "" && got != tt.effort {
				t.Errorf("effort %s, want %s", got, tt.effort)
			}
			web, _ := heuristicQueries(tt.question)
			if diff := cmp.Diff(tt.web, web); tt.web != nil && diff != "" {
				t.Errorf("queries (-want +got):\n%s", diff)
			}
			if got := strings.Join(keyTerms(tt.question), ", "); tt.terms != "" && got != tt.terms {
				t.Errorf("terms %q, want %q", got, tt.terms)
			}
			checkBounds(t, tt.question)
		})
	}
}

func checkBounds(t *testing.T, question string) {
	t.Helper()
	web, memory := heuristicQueries(question)
	terms := keyTerms(question)
	for name, list := range map[string][]string{"web": web, "memory": memory} {
		if len(list) > maxQueries {
			t.Errorf("%s has %d queries", name, len(list))
		}
		if len(list) == 0 && cleanQuery(question) != "" {
			t.Errorf("%s has no query for %q", name, question)
		}
	}
	if len(terms) > maxTerms {
		t.Errorf("%d terms", len(terms))
	}
	for _, s := range append(append(web, memory...), terms...) {
		if len(s) > maxItem || s == "" || !utf8.ValidString(s) || strings.ContainsAny(s, "\n\x1b") {
			t.Errorf("%q is out of bounds", s)
		}
	}
	switch classifyEffort(question) {
	case trivial, normal, deep:
	default:
		t.Errorf("effort %q", classifyEffort(question))
	}
}

func TestTimeIsKept(t *testing.T) {
	for _, tt := range []struct{ question, when string }{
		{"What is the difference between Rust and Go since 2021?", "since 2021"},
		{"Who won the election and what did they promise last month?", "last month"},
		{"Vergleiche Strom und Gas im Jahr 2023", "2023"},
		{"Qui a gagné la semaine dernière et pourquoi est-ce important ?", "semaine dernière"},
		{"What did Ada say in March 2024?", "in March 2024"},
		{"news of the 1990s", "1990s"},
		{"What happened 3 days ago in Rome and why is it important?", "3 days ago"},
	} {
		web, memory := heuristicQueries(tt.question)
		for _, q := range append(web, memory...) {
			if !strings.Contains(q, tt.when) {
				t.Errorf("%q: %q lacks %q", tt.question, q, tt.when)
			}
		}
	}
}

func TestPrivateWordsAreNotAsked(t *testing.T) {
	key := "sk-" + "ant-api03-" + strings.Repeat("aB3dE6gH", 8)
	for _, private := range []string{"bob@example.com", key, "https://bob:hunter2@example.com/x", strings.Repeat("x9", 60)} {
		web, memory := heuristicQueries("Is " + private + " known to the council of Rome?")
		for _, s := range append(append(web, memory...), keyTerms("Is "+private+" known to the council of Rome?")...) {
			if strings.Contains(s, private) || strings.Contains(s, "hunter2") || strings.Contains(s, "redacted") {
				t.Errorf("%q is asked", s)
			}
		}
		if !strings.Contains(web[0], "council Rome") {
			t.Errorf("%q lost its subject", web[0])
		}
	}
}

func FuzzQuestion(f *testing.F) {
	for _, tt := range questions {
		f.Add(tt.question)
	}
	for _, s := range []string{"", "?", "   ", "\xff\xfe", strings.Repeat("why ", 3000), "\"\"\"\"", "“", "、、、", "a or b or c or d", strings.Repeat("的", 5000), "\x1b[31mred", "« »", "and and and what"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, question string) { checkBounds(t, question) })
}

func BenchmarkQuestion(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, tt := range questions {
			heuristicQueries(tt.question)
			keyTerms(tt.question)
			classifyEffort(tt.question)
		}
	}
}
