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
var starts, anywhere = readCues()

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
			to[strings.TrimSpace(phrase)] = cue{Class(field[0]), float64(digits(field[2])) / 10}
		}
	}
	return start, any
}

// classes are ordered: of equal sums the first wins.
var classes = []Class{HowTo, Temporal, Person, Overview, Fact}

func (p *parser) classify() {
	for_ := make(map[Class][]clue)
	add := func(c Class, weight float64, why string) { for_[c] = append(for_[c], clue{weight, why}) }
	p.cues(add)
	p.shape(add)
	p.whom(add)
	p.whenever(add)
	p.topic(add)
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
	p.q.Class, p.q.Confidence, p.q.Why = best, confidence(sums[best], second), because(for_[best])
}

// confidence grows with the lead of the best class.
func confidence(best, second float64) float64 {
	lead := best - second
	return 0.35 + 0.6*lead/(lead+1)
}

func because(list []clue) string {
	best := clue{why: "Nothing tells that it is anything else."}
	for _, c := range list {
		if c.weight > best.weight {
			best = c
		}
	}
	return best.why
}

func (p *parser) cues(add func(Class, float64, string)) {
	strongest := make(map[Class]clue)
	note := func(c cue, i, n int) {
		if c.weight > strongest[c.class].weight {
			strongest[c.class] = clue{c.weight, "It says “" + p.source(i, n) + "”."}
		}
	}
	begin := p.begin()
	for i := range p.list {
		if p.list[i].uses&operator != 0 {
			continue
		}
		for k := maxPhrase - 1; k >= 0; k-- {
			key := p.keys[i][k]
			if key == "" {
				continue
			}
			if c, ok := anywhere[key]; ok {
				note(c, i, p.ends[i][k]-i)
			}
			if c, ok := starts[key]; ok && i == begin {
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

// begin skips operators, times and courtesy.
func (p *parser) begin() int {
	for i := range p.list {
		t := &p.list[i]
		if t.kind == mark || t.uses&(operator|timed) != 0 && p.at(i+1).uses&timed != 0 || t.uses&operator != 0 || contains(courtesies, t.text) {
			continue
		}
		return i
	}
	return 0
}

var courtesies = strings.Fields("please hey hi so ok okay and but then also can could would you me show find bitte also und hallo donc alors et por favor y pues")

// shape adds clues from the first words.
func (p *parser) shape(add func(Class, float64, string)) {
	i := p.begin()
	first, second, third := p.at(i).text, p.at(i+1).text, p.at(i+2).text
	how := false
	switch p.lang {
	case "en":
		how = first == "how" && contains(auxiliaries, second) && contains(anyone, third) || gerund(p.at(i)) && third != ""
		if !how && first == "how" && contains(auxiliaries, second) {
			add(Overview, 1.8, "It asks how something is.")
		}
	case "de":
		last := p.at(len(p.list) - 1)
		how = first == "wie" && contains(anyone, third) || i == 0 && len(p.list) > 1 && len(p.list) < 5 && !last.upper && infinitive(last.text, "en", "ern", "eln")
	case "fr":
		how = first == "comment" && infinitive(second, "er", "ir", "re") || len(p.list) > 1 && infinitive(first, "er", "ir", "ire", "dre", "tre")
	case "es":
		how = first == "como" && (infinitive(second, "ar", "er", "ir") || second == "se" || second == "puedo") || len(p.list) > 1 && infinitive(first, "ar", "er", "ir")
	}
	if how {
		add(HowTo, 3, "It asks how one does something.")
	}
}

// Words of questions about a general method.
var (
	anyone      = strings.Fields("i we you one someone somebody people ich man wir")
	auxiliaries = strings.Fields("do does can could should would is are was were did might")
)

// gerund reports whether t is like "removing".
func gerund(t token) bool {
	switch t.text {
	case "meeting", "morning", "evening", "building", "something", "anything", "everything", "nothing", "recurring", "upcoming", "existing", "running", "spring", "during", "king", "ring", "string", "emerging", "regarding", "concerning", "wedding", "parking", "housing", "training", "being":
		return false
	}
	return len(t.text) > 5 && strings.HasSuffix(t.text, "ing")
}

func infinitive(w string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return len(w) > 3 && strings.HasSuffix(w, end) })
}

func (p *parser) whom(add func(Class, float64, string)) {
	switch {
	case len(p.q.People) > 0:
		add(Person, 2.6, "It names "+p.q.People[0]+".")
		if i := p.begin(); p.about(i) {
			add(Person, 3, "It asks about "+p.q.People[0]+".")
		}
	case p.kin():
		add(Person, 2.6, "It is of somebody who is near.")
	}
}

// about matches "tell me about" and a name.
func (p *parser) about(i int) bool {
	for k := i; k < len(p.list) && k < i+6; k++ {
		switch p.at(k).text {
		case "about", "uber", "sur", "sobre", "is", "ist", "est", "es":
			at := p.skip(senseArticle, k+1)
			n := p.person(at)
			return n > 0 && (at+n >= len(p.list) || p.is(at+n, "?.!"))
		}
	}
	return false
}

func (p *parser) whenever(add func(Class, float64, string)) {
	switch {
	case p.q.Time.Text != "" && !p.q.Time.Strict:
		add(Temporal, 2.4, "It is about a time: "+p.q.Time.Text+".")
	case p.q.Anchor != nil:
		add(Temporal, 2.2, "It is about the time "+p.q.Anchor.Text+".")
	default:
		return
	}
	if len(p.q.Words) == 0 || !p.subject() {
		add(Temporal, 4, "It names a time and nothing else.")
		return
	}
	for i := range p.list {
		switch p.list[i].text {
		case "happened", "happen", "do", "doing", "did", "working", "gemacht", "geschah", "passiert", "fait", "hice", "paso":
			add(Temporal, 0.8, "It asks what there was at a time.")
			return
		}
	}
}

// subject reports whether the query has more than a time.
func (p *parser) subject() bool {
	return slices.ContainsFunc(p.q.Words, func(w Word) bool {
		return !w.Time && w.Text != "everything" && w.Text != "notes" && w.Text != "anything"
	})
}

func (p *parser) topic(add func(Class, float64, string)) {
	said, verb := 0, false
	for i := range p.list {
		t := &p.list[i]
		if t.kind == mark || t.uses&(operator|timed) != 0 {
			verb = verb || t.text == "?"
			continue
		}
		said++
		verb = verb || contains(asking[p.lang], t.text)
	}
	if said > 1 && !verb && p.own() {
		add(Fact, 1.7, "It names one thing of somebody's own.")
	}
	if said > 0 && said <= 8 && !verb {
		add(Overview, 1.5, "It names a subject and asks nothing.")
	}
}

// own reports whether the query names a particular thing: "our provider", "status of
// the puppy".
func (p *parser) own() bool {
	first := p.at(p.begin()).text
	if contains(possessives, first) && !strings.HasSuffix(p.at(p.begin()+1).text, "s") {
		return true
	}
	for i := range p.list {
		t := p.at(i + 1).text
		if p.at(i).text == "of" && (t == "the" || contains(possessives, t)) || p.lang == "en" && t == "for" && first == "the" {
			return true
		}
	}
	return false
}

var asking = map[string][]string{
	"en": strings.Fields("what who whom whose which where when why how is are was were do does did can could will would should has have had i we you"),
	"de": strings.Fields("was wer wem wen wo wann warum wie welche welcher welches ist sind war waren hat habe haben kann soll ich wir"),
	"fr": strings.Fields("que qu qui quoi quel quelle quels quelles ou quand comment pourquoi est sont a ai je j nous"),
	"es": strings.Fields("que quien quienes cual cuando donde como es son esta fue he ha yo"),
}
