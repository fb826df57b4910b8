package claim

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// claims reports whether a sentence claims something. A question, a greeting, or talk
// about the answer itself claims nothing, if there is nothing beside it that could be
// wrong: no number or name, and no clause of another matter.
func claims(said string) bool {
	said = strings.ReplaceAll(said, "’", "'")
	switch {
	case asked(said):
		return !asks(said)
	case count(said) < 2:
		return hasNumber(said)
	case opensList(said):
		return false
	}
	for i, clause := range clauses(said) {
		if !idle(clause) && (i == 0 || !meta(clause)) {
			return true
		}
	}
	return false
}

// opensList reports whether a sentence only says that a list follows.
func opensList(said string) bool {
	last, _ := utf8.DecodeLastRuneInString(said)
	return (last == ':' || last == '：') && count(said) <= 12 && !hasNumber(said) && !named(said, 2)
}

// clauses returns the parts of a sentence that can be talk each by itself.
func clauses(said string) []string {
	return clauseEnds.Split(said, 50)
}

var clauseEnds = regexp.MustCompile(`[;:；：](?:\s|$)|\s[—–-]\s|—|,\s(?:(?:but|and|so|or|yet|however|although|though|while|whereas|because|since|aber|und|denn|weil|obwohl|mais|et|car|donc|pero|y|porque|aunque)\s)`)

// idle reports whether a clause is a greeting, or talk about the answer.
func idle(clause string) bool {
	clause = strings.TrimSpace(clause)
	clause = strings.TrimSpace(clause[len(leadIn.FindString(clause)):])
	if count(clause) == 0 || greets(clause) || denies(clause) {
		return true
	}
	m := talkLead.FindString(clause)
	if m == "" {
		return false
	}
	tail := clause[len(m):]
	if at := topic.FindStringIndex(tail); at != nil && !hasNumber(tail[at[0]:]) {
		tail = tail[:at[0]]
	}
	return meta(tail)
}

// greets reports whether a clause is said to the reader.
func greets(clause string) bool {
	m := greeting.FindString(clause)
	if m == "" {
		return false
	}
	tail := clause[len(m):]
	return meta(tail) || addressee.MatchString(tail)
}

// denies reports whether a clause says what the sources do not say. What they are said
// not to say may have names and numbers only where they are not taken for granted.
func denies(clause string) bool {
	m, german := denial.FindString(clause), false
	if m == "" {
		m, german = germanDenial.FindString(clause), true
	}
	if m == "" {
		return false
	}
	what := strings.TrimSpace(clause[len(m):])
	switch {
	case limited.MatchString(what):
		return false
	case indirect.MatchString(what) || onTopic.MatchString(what) && !hasNumber(what):
		return true
	case german:
		return !hasNumber(what) && !named(what, 2)
	}
	return !hasNumber(what) && !named("- "+what, 1)
}

// meta reports whether all words of a text speak of answers, or of nothing in particular.
// Only what is counted of an answer is a number.
func meta(s string) bool {
	ok, number := true, false
	lexical.Tokens(s, func(t lexical.Token) {
		w := strings.ToLower(s[t.Start:t.End])
		noun := metaNouns[w]
		if number && !noun && !metaWords[w] {
			ok = false
		}
		switch {
		case len(w) <= 2 && numbered(w):
			number = true
			return
		case noun:
			number = false
		case !metaWords[w] && !stopped(w):
			ok = false
		}
	})
	return ok && !number
}

// stopped reports whether a word says nothing by itself in one of the languages that are
// read best.
func stopped(w string) bool {
	for _, lang := range []lexical.Language{"en", "de", "fr", "es"} {
		if lexical.Stop(w, lang) {
			return true
		}
	}
	return false
}

// asked reports whether a sentence ends as a question.
func asked(said string) bool {
	said = strings.TrimRight(said, "\"'”»)* ")
	return strings.HasSuffix(said, "?") || strings.HasSuffix(said, "？") || strings.HasSuffix(said, "؟")
}

// asks reports whether a question only asks: it takes nothing for granted that could be
// wrong.
func asks(said string) bool {
	if hasNumber(said) || granted.MatchString(said) || why.MatchString(said) && named(said, 1) {
		return false
	}
	first := strings.ToLower(said[:len(said)-len(strings.TrimLeftFunc(said, unicode.IsLetter))])
	return first == "" || askWords[first] || !named(said, 1) && !(stopped(first) && !askWords[first])
}

// hasNumber reports whether there is a number in a text, in digits of any script.
func hasNumber(s string) bool { return strings.IndexFunc(s, unicode.IsNumber) >= 0 }

// named reports whether there are n words with a capital one after the other in a text
// behind its first, or an acronym anywhere.
func named(s string, n int) bool {
	found, row, first := false, 0, true
	lexical.Tokens(s, func(t lexical.Token) {
		w := s[t.Start:t.End]
		r, size := utf8.DecodeRuneInString(w)
		next, _ := utf8.DecodeRuneInString(w[size:])
		switch {
		case !unicode.IsUpper(r) || w == "I" || strings.HasPrefix(w, "I'"):
			row = 0
		case unicode.IsUpper(next):
			found = true
		case !first:
			row++
		}
		found = found || row >= n
		first = false
	})
	return found
}

// headingClaims reports whether a heading claims something: it has a number that is not its own,
// or a finite verb.
func headingClaims(said string) bool {
	said = strings.ReplaceAll(said, "’", "'")
	if asked(said) {
		return !asks(said)
	}
	said = numbering.ReplaceAllString(said, "")
	if hasNumber(said) {
		return true
	}
	first, finite := true, false
	lexical.Tokens(said, func(t lexical.Token) {
		w := strings.ToLower(said[t.Start:t.End])
		if first && askWords[w] && !finiteAux[w] {
			finite = true // as "What is known"
		}
		first = false
	})
	return !finite && verbed(said) && !idle(said)
}

// verbed reports whether there is a finite verb behind the first word of a text.
func verbed(said string) bool {
	first, found := true, false
	lexical.Tokens(said, func(t lexical.Token) {
		w := strings.ToLower(said[t.Start:t.End])
		found = found || !first && (finiteAux[w] || finiteVerbs[w])
		first = false
	})
	return found
}

// columns reports whether the first row of a table claims something; years over columns
// do not.
func columns(said string) bool {
	var rest []string
	for cell := range strings.SplitSeq(said, ";") {
		if cell = strings.TrimSpace(cell); len(cell) != 4 || !numbered(cell) {
			rest = append(rest, cell)
		}
	}
	return headingClaims(strings.Join(rest, "; "))
}

// prosaic reports whether what is set as code is prose.
func prosaic(said string) bool {
	marks := 0
	for _, r := range said {
		if strings.ContainsRune("{}()[]=<>$_\\/|+*&#@;`\"", r) {
			marks++
		}
	}
	stops := 0
	lexical.Tokens(said, func(t lexical.Token) {
		if w := said[t.Start:t.End]; stopped(strings.ToLower(w)) && len(w) > 1 {
			stops++
		}
	})
	n := count(said)
	return n >= 4 && stops*8 >= n && marks*5 <= n || lexical.Unspaced(firstRune(said))
}

// count returns how many words a text has.
func count(s string) (n int) {
	lexical.Tokens(s, func(lexical.Token) { n++ })
	return n
}
