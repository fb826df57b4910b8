package query

import (
	"slices"
	"strings"
)

// A cue is the weight of a phrase.
type cue struct {
	class  Class
	weight float64
}

type clue struct {
	weight float64
	why    string
}

// Cues by phrase, from lexicon/classes.txt.
var startCues, anyCues = readCues()

func readCues() (start, any map[string]cue) {
	start, any = make(map[string]cue), make(map[string]cue)
	text, err := files.ReadFile("lexicon/classes.txt")
	if err != nil {
		return start, any // embedded, so never
	}
	for line := range strings.Lines(string(text)) {
		head, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		field := strings.Fields(head)
		if !ok || len(field) != 3 || field[0] == "#" {
			continue
		}
		to := any
		if field[1] == "start" {
			to = start
		}
		for phrase := range strings.SplitSeq(list, ",") {
			to[strings.TrimSpace(phrase)] = cue{Class(field[0]), float64(parseDigits(field[2])) / 10}
		}
	}
	return start, any
}

// classes are ordered: of equal sums the first wins.
var classes = []Class{HowTo, Temporal, Person, Overview, Fact}

func (p *parser) classifyQuery() {
	for_ := make(map[Class][]clue)
	add := func(c Class, weight float64, why string) { for_[c] = append(for_[c], clue{weight, why}) }
	p.addCueClues(add)
	p.addShapeClues(add)
	p.addPersonClues(add)
	p.addTimeClues(add)
	p.addTopicClues(add)
	best, second := Fact, 0.0
	sums := make(map[Class]float64)
	for _, c := range classes {
		for _, clue := range for_[c] {
			sums[c] += clue.weight
		}
		if sums[c] > sums[best] {
			best = c
		}
	}
	for _, c := range classes {
		if c != best {
			second = max(second, sums[c])
		}
	}
	p.q.Class, p.q.Confidence, p.q.Why = best, classConfidence(sums[best], second), strongestReason(for_[best])
}

// classConfidence grows with the lead of the best class.
func classConfidence(best, second float64) float64 {
	lead := best - second
	return 0.35 + 0.6*lead/(lead+1)
}

func strongestReason(list []clue) string {
	best := clue{why: "It matches no other class."}
	for _, c := range list {
		if c.weight > best.weight {
			best = c
		}
	}
	return best.why
}

func (p *parser) addCueClues(add func(Class, float64, string)) {
	strongest := make(map[Class]clue)
	note := func(c cue, i, n int) {
		if c.weight > strongest[c.class].weight {
			strongest[c.class] = clue{c.weight, "It contains “" + p.sourceText(i, n) + "”."}
		}
	}
	begin := p.firstContent()
	for i := range p.list {
		if p.list[i].uses&operator != 0 {
			continue
		}
		for k := maxPhrase - 1; k >= 0; k-- {
			key := p.keys[i][k]
			if key == "" {
				continue
			}
			if c, ok := anyCues[key]; ok {
				note(c, i, p.ends[i][k]-i)
			}
			if c, ok := startCues[key]; ok && i == begin {
				note(c, i, p.ends[i][k]-i)
			}
		}
	}
	for _, c := range classes {
		if s, ok := strongest[c]; ok {
			add(c, s.weight, s.why)
		}
	}
}

// firstContent skips operators, times and courtesy.
func (p *parser) firstContent() int {
	for i := range p.list {
		t := &p.list[i]
		if t.kind == mark || t.uses&(operator|timed) != 0 && p.tokenAt(i+1).uses&timed != 0 || t.uses&operator != 0 || containsWord(courtesies, t.text) {
			continue
		}
		return i
	}
	return 0
}

var courtesies = strings.Fields("please hey hi so ok okay and but then also can could would you me show find bitte also und hallo donc alors et por favor y pues")

// addShapeClues adds clues from the first words.
func (p *parser) addShapeClues(add func(Class, float64, string)) {
	i := p.firstContent()
	first, second, third := p.tokenAt(i).text, p.tokenAt(i+1).text, p.tokenAt(i+2).text
	how := false
	switch p.lang {
	case "en":
		how = first == "how" && containsWord(auxiliaries, second) && containsWord(generalSubjects, third) || isGerund(p.tokenAt(i)) && third != ""
		if !how && first == "how" && containsWord(auxiliaries, second) {
			add(Overview, 1.8, "It asks for a description.")
		}
	case "de":
		last := p.tokenAt(len(p.list) - 1)
		how = first == "wie" && containsWord(generalSubjects, third) || i == 0 && len(p.list) > 1 && len(p.list) < 5 && !last.upper && isInfinitive(last.text, "en", "ern", "eln")
	case "fr":
		how = first == "comment" && isInfinitive(second, "er", "ir", "re") || len(p.list) > 1 && isInfinitive(first, "er", "ir", "ire", "dre", "tre")
	case "es":
		how = first == "como" && (isInfinitive(second, "ar", "er", "ir") || second == "se" || second == "puedo") || len(p.list) > 1 && isInfinitive(first, "ar", "er", "ir")
	}
	if how {
		add(HowTo, 3, "It asks how to do something.")
	}
}

// Words of questions about a general method.
var (
	generalSubjects = strings.Fields("i we you one someone somebody people ich man wir")
	auxiliaries     = strings.Fields("do does can could should would is are was were did might")
)

// isGerund reports whether t is like "removing".
func isGerund(t token) bool {
	switch t.text {
	case "meeting", "morning", "evening", "building", "something", "anything", "everything", "nothing", "recurring", "upcoming", "existing", "running", "spring", "during", "king", "ring", "string", "emerging", "regarding", "concerning", "wedding", "parking", "housing", "training", "being":
		return false
	}
	return len(t.text) > 5 && strings.HasSuffix(t.text, "ing")
}

func isInfinitive(w string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return len(w) > 3 && strings.HasSuffix(w, end) })
}

func (p *parser) addPersonClues(add func(Class, float64, string)) {
	switch {
	case len(p.q.People) > 0:
		add(Person, 2.6, "It names "+p.q.People[0]+".")
		if i := p.firstContent(); p.asksAboutPerson(i) {
			add(Person, 3, "It asks about "+p.q.People[0]+".")
		}
	case p.mentionsKin():
		add(Person, 2.6, "It mentions a relative or an acquaintance.")
	}
}

// asksAboutPerson matches "tell me about" and a name.
func (p *parser) asksAboutPerson(i int) bool {
	for k := i; k < len(p.list) && k < i+6; k++ {
		switch p.tokenAt(k).text {
		case "about", "uber", "sur", "sobre", "is", "ist", "est", "es":
			at := p.skipSense(senseArticle, k+1)
			n := p.personLength(at)
			return n > 0 && (at+n >= len(p.list) || p.isMark(at+n, "?.!"))
		}
	}
	return false
}

func (p *parser) addTimeClues(add func(Class, float64, string)) {
	switch {
	case p.q.Time.Text != "" && !p.q.Time.Strict:
		add(Temporal, 2.4, "It refers to a time: "+p.q.Time.Text+".")
	case p.q.Anchor != nil:
		add(Temporal, 2.2, "It refers to the time "+p.q.Anchor.Text+".")
	default:
		return
	}
	if len(p.q.Words) == 0 || !p.hasSubject() {
		add(Temporal, 4, "It contains only a time.")
		return
	}
	for i := range p.list {
		switch p.list[i].text {
		case "happened", "happen", "do", "doing", "did", "working", "gemacht", "geschah", "passiert", "fait", "hice", "paso":
			add(Temporal, 0.8, "It asks about events of a time.")
			return
		}
	}
}

// hasSubject reports whether the query has more than a time.
func (p *parser) hasSubject() bool {
	return slices.ContainsFunc(p.q.Words, func(w Word) bool {
		return !w.Time && w.Text != "everything" && w.Text != "notes" && w.Text != "anything"
	})
}

func (p *parser) addTopicClues(add func(Class, float64, string)) {
	said, verb := 0, false
	for i := range p.list {
		t := &p.list[i]
		if t.kind == mark || t.uses&(operator|timed) != 0 {
			verb = verb || t.text == "?"
			continue
		}
		said++
		verb = verb || containsWord(questionWords[p.lang], t.text)
	}
	if said > 1 && !verb && p.namesOwnThing() {
		add(Fact, 1.7, "It names a possession of a person.")
	}
	if said > 0 && said <= 8 && !verb {
		add(Overview, 1.5, "It names a subject without a question.")
	}
}

// namesOwnThing reports whether the query names a particular thing: "our provider", "status of
// the puppy".
func (p *parser) namesOwnThing() bool {
	first := p.tokenAt(p.firstContent()).text
	if containsWord(possessives, first) && !strings.HasSuffix(p.tokenAt(p.firstContent()+1).text, "s") {
		return true
	}
	for i := range p.list {
		t := p.tokenAt(i + 1).text
		if p.tokenAt(i).text == "of" && (t == "the" || containsWord(possessives, t)) || p.lang == "en" && t == "for" && first == "the" {
			return true
		}
	}
	return false
}

var questionWords = map[string][]string{
	"en": strings.Fields("what who whom whose which where when why how is are was were do does did can could will would should has have had i we you"),
	"de": strings.Fields("was wer wem wen wo wann warum wie welche welcher welches ist sind war waren hat habe haben kann soll ich wir"),
	"fr": strings.Fields("que qu qui quoi quel quelle quels quelles ou quand comment pourquoi est sont a ai je j nous"),
	"es": strings.Fields("que quien quienes cual cuando donde como es son esta fue he ha yo"),
}
