package query

import "strings"

var givenNames = readNames()

func readNames() map[string]bool {
	text, err := files.ReadFile("lexicon/names.txt")
	if err != nil {
		return nil // embedded, so never
	}
	_, list, _ := strings.Cut(string(text), "\n")
	names := make(map[string]bool)
	for name := range strings.FieldsSeq(list) {
		names[name] = true
	}
	return names
}

func (p *parser) findPeople() {
	for i := 0; i < len(p.list); {
		n := p.personLength(i)
		if n > 0 {
			addOnce(&p.q.People, p.sourceText(i, n))
		}
		i += max(n, 1)
	}
}

// personLength returns the number of tokens of a name at i.
func (p *parser) personLength(i int) int {
	t := p.tokenAt(i)
	if t.uses&operator != 0 || t.text == "@" && p.tokenAt(i+1).kind != word {
		return 0
	}
	if t.text == "@" && p.isTight(i+1) && t.space {
		return 2
	}
	if n := p.titledLength(i); n > 0 {
		return n
	}
	if t.kind != word || p.isMark(i+1, "@") && p.isTight(i+1) || !p.isName(i) {
		return 0
	}
	return 1 + p.surnameLength(i+1)
}

var titles = strings.Fields("dr mr mrs ms miss mx prof professor sir uncle aunt auntie cousin nurse coach herr frau onkel tante madame mme monsieur senor senora tio tia doctor")

// titledLength reads "Dr. Okafor", "uncle Georg".
func (p *parser) titledLength(i int) int {
	if !containsWord(titles, p.tokenAt(i).text) {
		return 0
	}
	at := i + 1
	if p.isMark(at, ".") && p.isTight(at) {
		at++
	}
	if t := p.tokenAt(at); t.kind != word || !t.upper && !givenNames[t.text] || t.uses != 0 {
		return 0
	}
	return at + 1 + p.surnameLength(at+1) - i
}

func (p *parser) surnameLength(i int) int {
	n := 0
	for n < 3 {
		t := p.tokenAt(i + n)
		if t.kind != word || !t.upper || t.first || t.uses != 0 || p.lex.hasWord(t.text) || p.lang == "de" && !givenNames[p.tokenAt(i).text] && n > 0 {
			break
		}
		n++
	}
	return n
}

func (p *parser) isName(i int) bool {
	t := p.tokenAt(i)
	if givenNames[t.text] && (t.upper || !p.lex.hasWord(t.text) && !isCommonWord(t.text)) {
		return !p.isThingName(i)
	}
	if !t.upper || t.caps || t.first || t.uses != 0 || p.lex.hasWord(t.text) || p.lang == "de" {
		return false
	}
	return p.followsAddress(i) || p.isSpeechVerb(i+1) || p.hasPossession(i+1)
}

// isCommonWord reports whether a small word is rarely a name.
func isCommonWord(w string) bool {
	switch w {
	case "mark", "jack", "robin", "bob", "sue", "max", "frank", "roman", "jean", "rosa", "bert", "milan", "jordan", "georgia", "victoria", "virginia", "florian", "mercedes", "kate", "ted", "carol", "clement",
		"dora", "viola", "stella", "gloria", "sam", "norma", "lea", "pilar", "rosario", "wei", "wang", "ken", "leo", "luc", "kai", "mei", "mia", "mila", "ben", "tara", "raj", "ali", "alba", "wayne", "scott", "axel", "pia", "san", "leon":
		return true
	}
	return false
}

// isThingName matches names of things: "Jordan river", "San Jose".
func (p *parser) isThingName(i int) bool {
	switch p.tokenAt(i + 1).text {
	case "river", "street", "road", "library", "framework", "mountains", "airport", "hotel", "avenue", "strasse", "platz", "benz":
		return true
	}
	return p.tokenAt(i-1).text == "san" || p.tokenAt(i-1).text == "saint"
}

// followsAddress matches verbs of addressing or meeting before i.
func (p *parser) followsAddress(i int) bool {
	switch before := p.tokenAt(i - 1).text; before {
	case "promise", "promised", "tell", "told", "ask", "asked", "meet", "met", "owe", "owed", "thank", "thanked", "invite", "invited", "lend", "lent", "email", "emailed", "remind", "visit", "visited",
		"message", "messaged", "texted", "married", "hire", "hired", "uncle", "aunt", "friend", "colleague", "neighbour", "neighbor", "advise", "advised", "congratulate":
		return true
	case "did":
		return p.lang == "en" && p.tokenAt(i+1).kind == word && !p.tokenAt(i+1).upper
	case "with", "to", "from", "and":
		return p.isNearMeeting(i - 2)
	}
	return false
}

func (p *parser) isNearMeeting(i int) bool {
	for _, k := range []int{i, i - 1} {
		switch strings.TrimSuffix(p.tokenAt(k).text, "s") {
		case "meeting", "met", "meet", "talk", "talked", "spoke", "speak", "call", "lunch", "dinner", "coffee", "conversation", "chat", "discussed", "discus", "email", "message", "letter",
			"gift", "present", "argument", "argued", "interview", "advice", "feedback", "married", "promise", "promised", "agreed", "worked", "lived", "sent", "gave", "said", "wrote", "written", "lent", "owe", "told":
			return true
		}
	}
	return false
}

func (p *parser) isSpeechVerb(i int) bool {
	t := p.tokenAt(i).text
	switch strings.TrimSuffix(strings.TrimSuffix(t, "s"), "ed") {
	case "say", "said", "think", "thought", "tell", "told", "ask", "want", "mention", "promise", "promis", "recommend", "wrote", "write", "suggest", "like", "invite", "invit", "lend", "lent", "complain",
		"email", "propose", "propos", "agree", "agre", "feel", "felt", "prefer", "believe", "live", "eat", "ate", "know", "knew", "promisd", "hate", "love", "lov", "offer", "answer", "marry", "marri", "allergic", "reply", "repli", "worry", "worri":
		return true
	}
	return false
}

// hasPossession matches "'s" before possessions of people.
func (p *parser) hasPossession(i int) bool {
	if !p.isMark(i, "'") || !p.isTight(i) || p.tokenAt(i+1).text != "s" {
		return false
	}
	for k := i + 2; k < i+4; k++ {
		switch p.tokenAt(k).text {
		case "birthday", "opinion", "phone", "email", "address", "wife", "husband", "mother", "father", "sister", "brother", "son", "daughter", "parents", "idea", "advice", "feedback", "promise", "objections",
			"wedding", "partner", "job", "suggestion", "comments", "thoughts", "view", "views", "boss", "kids", "children", "number", "favourite", "favorite", "name", "words", "plan", "plans", "house", "letter", "boyfriend", "girlfriend":
			return true
		}
	}
	return false
}

// mentionsKin matches "my sister", "Grandpa".
func (p *parser) mentionsKin() bool {
	for i := range p.list {
		t := p.tokenAt(i)
		if t.kind != word || t.uses&(operator|timed) != 0 {
			continue
		}
		if containsWord(parents, t.text) {
			return true
		}
		if containsWord(relatives, t.text) && (containsWord(possessives, p.tokenAt(i-1).text) || containsWord(possessives, p.tokenAt(i-2).text)) {
			return true
		}
	}
	return false
}

var (
	parents   = strings.Fields("mum mom mama mami dad daddy papa grandpa grandma granny grandfather grandmother oma opa maman papi papy mamie abuela abuelo mutti vati")
	relatives = strings.Fields(`mother father sister brother wife husband son daughter boss manager partner boyfriend girlfriend friend colleague neighbour neighbor doctor therapist dentist
		landlord teacher aunt uncle cousin niece nephew accountant lawyer coach mentor ex parents kids children mutter vater schwester bruder frau mann chef chefin freund freundin kollege
		kollegin nachbar nachbarin arzt mere pere soeur frere femme mari chef ami amie collegue voisin medecin madre padre hermana hermano mujer marido jefe jefa amigo amiga medico vecino hijo hija`)
	possessives = strings.Fields("my our his her their mein meine meinem meiner meinen unser unsere mon ma mes notre mi mis nuestro nuestra")
)
