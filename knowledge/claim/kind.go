package claim

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// statesFact reports whether a sentence states a fact. Questions, greetings and remarks
// about the answer do not, unless they have a number, a name or another clause that
// can be wrong.
func statesFact(said string) bool {
	said = strings.ReplaceAll(said, "’", "'")
	switch {
	case isQuestion(said):
		return !isPlainQuestion(said)
	case countWords(said) < 2:
		return hasNumber(said)
	case opensList(said):
		return false
	}
	for i, clause := range splitClauses(said) {
		if !isIdle(clause) && (i == 0 || !isMeta(clause)) {
			return true
		}
	}
	return false
}

func opensList(said string) bool {
	last, _ := utf8.DecodeLastRuneInString(said)
	return (last == ':' || last == '：') && countWords(said) <= 12 && !hasNumber(said) && !hasNames(said, 2)
}

func splitClauses(said string) []string {
	return clauseEnds.Split(said, 50)
}

var clauseEnds = regexp.MustCompile(`[;:；：](?:\s|$)|\s[—–-]\s|—|,\s(?:(?:but|and|so|or|yet|however|although|though|while|whereas|because|since|aber|und|denn|weil|obwohl|mais|et|car|donc|pero|y|porque|aunque)\s)`)

func isIdle(clause string) bool {
	clause = strings.TrimSpace(clause)
	clause = strings.TrimSpace(clause[len(leadIn.FindString(clause)):])
	if countWords(clause) == 0 || isGreeting(clause) || isDenial(clause) {
		return true
	}
	m := talkLead.FindString(clause)
	if m == "" {
		return false
	}
	tail := clause[len(m):]
	if at := topicPhrase.FindStringIndex(tail); at != nil && !hasNumber(tail[at[0]:]) {
		tail = tail[:at[0]]
	}
	return isMeta(tail)
}

func isGreeting(clause string) bool {
	m := greeting.FindString(clause)
	if m == "" {
		return false
	}
	tail := clause[len(m):]
	return isMeta(tail) || addressee.MatchString(tail)
}

// isDenial reports whether a clause states what sources lack. Names and numbers are
// allowed only where the clause does not presuppose them.
func isDenial(clause string) bool {
	m, german := denialLead.FindString(clause), false
	if m == "" {
		m, german = germanDenial.FindString(clause), true
	}
	if m == "" {
		return false
	}
	what := strings.TrimSpace(clause[len(m):])
	switch {
	case limitWords.MatchString(what):
		return false
	case indirectQuestion.MatchString(what) || aboutTopic.MatchString(what) && !hasNumber(what):
		return true
	case german:
		return !hasNumber(what) && !hasNames(what, 2)
	}
	return !hasNumber(what) && !hasNames("- "+what, 1)
}

// isMeta reports whether all words concern answers or nothing in particular. Numbers may
// only count parts of an answer.
func isMeta(s string) bool {
	ok, number := true, false
	lexical.Tokens(s, func(t lexical.Token) {
		w := strings.ToLower(s[t.Start:t.End])
		noun := metaNouns[w]
		if number && !noun && !metaWords[w] {
			ok = false
		}
		switch {
		case len(w) <= 2 && isDigitString(w):
			number = true
			return
		case noun:
			number = false
		case !metaWords[w] && !isStopWord(w):
			ok = false
		}
	})
	return ok && !number
}

func isStopWord(w string) bool {
	return slices.ContainsFunc([]lexical.Language{"en", "de", "fr", "es"}, func(lang lexical.Language) bool { return lexical.Stop(w, lang) })
}

func isQuestion(said string) bool {
	said = strings.TrimRight(said, "\"'”»)* ")
	return strings.HasSuffix(said, "?") || strings.HasSuffix(said, "？") || strings.HasSuffix(said, "؟")
}

func isPlainQuestion(said string) bool {
	if hasNumber(said) || presupposition.MatchString(said) || whyQuestion.MatchString(said) && hasNames(said, 1) {
		return false
	}
	first := strings.ToLower(said[:len(said)-len(strings.TrimLeftFunc(said, unicode.IsLetter))])
	return first == "" || askWords[first] || !hasNames(said, 1) && !(isStopWord(first) && !askWords[first])
}

func hasNumber(s string) bool { return strings.IndexFunc(s, unicode.IsNumber) >= 0 }

// hasNames reports whether a text has n capitalized words in a row after its first, or
// any acronym.
func hasNames(s string, n int) bool {
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

// headingStatesFact reports whether a heading has a number other than its own, or a finite
// verb.
func headingStatesFact(said string) bool {
	said = strings.ReplaceAll(said, "’", "'")
	if isQuestion(said) {
		return !isPlainQuestion(said)
	}
	said = numbering.ReplaceAllString(said, "")
	if hasNumber(said) {
		return true
	}
	first, finite := true, false
	lexical.Tokens(said, func(t lexical.Token) {
		w := strings.ToLower(said[t.Start:t.End])
		if first && askWords[w] && !finiteAux[w] {
			finite = true // as in "What do we know"
		}
		first = false
	})
	return !finite && hasFiniteVerb(said) && !isIdle(said)
}

func hasFiniteVerb(said string) bool {
	first, found := true, false
	lexical.Tokens(said, func(t lexical.Token) {
		w := strings.ToLower(said[t.Start:t.End])
		found = found || !first && (finiteAux[w] || finiteVerbs[w])
		first = false
	})
	return found
}

// headerStatesFact reports whether the header row of a table states a fact; bare years do not.
func headerStatesFact(said string) bool {
	var rest []string
	for cell := range strings.SplitSeq(said, ";") {
		if cell = strings.TrimSpace(cell); len(cell) != 4 || !isDigitString(cell) {
			rest = append(rest, cell)
		}
	}
	return headingStatesFact(strings.Join(rest, "; "))
}

func isProse(said string) bool {
	marks := 0
	for _, r := range said {
		if strings.ContainsRune("{}()[]=<>$_\\/|+*&#@;`\"", r) {
			marks++
		}
	}
	stops := 0
	lexical.Tokens(said, func(t lexical.Token) {
		if w := said[t.Start:t.End]; isStopWord(strings.ToLower(w)) && len(w) > 1 {
			stops++
		}
	})
	n := countWords(said)
	return n >= 4 && stops*8 >= n && marks*5 <= n || lexical.Unspaced(firstRune(said))
}

func countWords(s string) (n int) {
	lexical.Tokens(s, func(lexical.Token) { n++ })
	return n
}

var leadIn = regexp.MustCompile(`(?i)^(in (summary|short|conclusion|brief|a nutshell)|to (summari[sz]e|sum up|conclude)|overall|summary|short answer|answer|tl;?dr|conclusion|` +
	`key (findings|points|takeaways)|unfortunately|zusammenfassend|zusammenfassung|kurz gesagt|kurz|fazit|antwort|leider|en (résumé|bref|conclusion|resumen|conclusión|síntesis)|résumé|réponse|malheureusement|resumen|respuesta|要約|总之|结论)(\s*[:,：，]\s*|$)`)

// greeting matches the start of a sentence that addresses the reader.
var (
	greeting = regexp.MustCompile(`(?i)^(hello|hi|hey|greetings|dear|welcome|thanks|thank you|sure|certainly|absolutely|of course|great question|good question|you're welcome|sorry|` +
		`hallo|guten (tag|morgen|abend)|danke|gerne?|natürlich|sicher|entschuldigung|bonjour|salut|merci|bien sûr|certainement|désolé|hola|buenos días|gracias|claro|por supuesto|lo siento|` +
		`こんにちは|你好|您好|ありがとう(ございます)?)([\s,.!。！]|$)`)
	addressee = regexp.MustCompile(`^(\p{Lu}\p{L}{0,20}|there|all|everyone|again)[!.,]?$`)
)

var talkLead = regexp.MustCompile(`(?i)^((here (is|are|'s)|here's|below (is|are)|the following|this (answer|summary|section|overview|response)|in this (answer|report|section|summary)|let me|let's|let us|feel free|` +
	`please|if you|do you want|would you like|i|i'(ll|m|ve|d)|we (found|looked|searched)|see|note that|(none of )?the (available |gathered |found )?(sources|evidence|quotes|search results|passages)|no (source|quote|evidence)|it could not be (confirmed|verified))|` +
	`(hier (ist|sind|finden)|im folgenden|diese (antwort|zusammenfassung)|ich|die (quellen|belege)|wenn sie|falls sie|bitte|lassen sie)|` +
	`(voici|ci-dessous|cette (réponse|synthèse)|j'(ai|espère)|je|les sources|si vous|n'hésitez)|` +
	`(aquí (está|están|tiene)|a continuación|esta (respuesta|síntesis)|(no )?he|espero|puedo|las fuentes|si (quiere|desea|necesita)))([\s,:.!]|$)`)

var topicPhrase = regexp.MustCompile(`(?i)(^|\s)(about|on|regarding|concerning|zum?|zur|über|sur|sobre|acerca de)(\s[\p{L}'-]+){1,5}[:.!]?\s*$`)

const (
	deniedVerb = `(say|mention|state|give|confirm|contain|report|tell|show|name|cover|include|provide|answer|address|specify|indicate|support|verify|find|find out|determine|establish|discuss|explain|describe|have)s?`
	ofSources  = `((the|these|those|my|any|all) )*(of the )?((available|gathered|found|given|provided|listed|cited) )?(sources?|evidence|quotes?|quotations?|search results|passages?|documents?|pages)( (that )?(i|we) (found|gathered|have|read)| found| gathered| that were found)?`
)

// denial begins a denial; germanDenial is separate because German capitalizes nouns.
var (
	denialLead = regexp.MustCompile(`(?i)^(however |but |and |so )?((none of )?` + ofSources + ` ((do|does|did)( not|n't)|cannot|can't|could not) ` + deniedVerb +
		`|none of ` + ofSources + ` ` + deniedVerb + `|no ` + ofSources + ` (` + deniedVerb + `|(was|were) found)` +
		`|` + ofSources + ` ` + deniedVerb + ` (nothing|neither|no (information|data|details|figures?|numbers?|answer))|` + ofSources + ` (is|are|was|were) silent` +
		`|it (could not|cannot|can't) be (confirmed|verified|determined|established)|(i|we) (could not|couldn't|cannot|can't|did not|didn't|was unable to|was not able to|am unable to|were unable to) ` + deniedVerb +
		`|(i|we) (have )?found (no|nothing|neither)` +
		`|les (sources|passages) ne (disent|donnent|mentionnent|contiennent|précisent|indiquent) (pas|rien|aucune?)|aucune source ne (dit|donne|mentionne|contient|précise|indique)|je n'ai (pas|rien|aucune?)( trouvé)?` +
		`|las fuentes no (dicen|dan|mencionan|contienen|indican|precisan)|ninguna fuente (dice|da|menciona|contiene|indica|precisa)|no he (encontrado|hallado))([\s.,!]|$)`)
	germanDenial = regexp.MustCompile(`(?i)^(die|diese) (quellen|belege|fundstellen) (sagen|nennen|enthalten|geben|machen) (dazu |darüber |hierzu )?(nichts|nicht|keine?n?)([\s.,!]|$)|^keine? (quelle|beleg|fundstelle) (sagt|nennt|enthält|gibt)([\s.,!]|$)|^ich (konnte|kann|habe) (dazu |darüber )?(nichts|nicht|keine?n?)([\s.,!]|$)`)
)

var (
	limitWords = regexp.MustCompile(`(?i)[,;(]|\b(but|except|unless|until|although|though|while|whereas|because|since|only|merely|just|simply|alone|apart|besides|other than|which|who|denn|aber|außer|nur|bloß|sondern|mais|sauf|que seulement|pero|sino|salvo|sólo|solo)\b`)
	// indirectQuestion begins a clause without presupposition.
	indirectQuestion = regexp.MustCompile(`(?i)^((it|this|das|es) )?(whether|if|ob|si)\s`)
	aboutTopic       = regexp.MustCompile(`(?i)^((anything|nothing|information|data|details|evidence|sources?|mention|much) )*(about|on|of|for|regarding)(\s[\p{L}'-]+){1,6}[.!]?$`)
)

// granted matches a presupposing question; why begins one that presupposes if it has a
// name.
var (
	presupposition = regexp.MustCompile(`(?i)\b(did|do|didn't|don't) you (know|realize|realise|remember)\b|\bhave you (ever )?heard\b|\bwho (knew|would have thought)\b|\b(is|was|are|were|did|does|do|has|have|had|wo|would|could|should|ca)n't\b|\bis it (not )?true that\b|` +
		`\b(wussten sie|wusstest du|weißt du)\b|\b(saviez-vous|sais-tu|savais-tu|savez-vous)\b|(^|[^\p{L}])(sabías?|sabe usted) (usted )?que\b|, (right|correct|no|yes|oder|nicht wahr|n'est-ce pas|non|verdad|eh|ok)\?|, (is|was|are|were|did|does|do|has|have) (it|he|she|they|there|not)\?`)
	whyQuestion = regexp.MustCompile(`(?i)^(why|how come|since when|warum|wieso|weshalb|pourquoi|¿?por qué)\b`)
)

var numbering = regexp.MustCompile(`(?i)^\s*(((step|part|chapter|section|question|finding|schritt|teil|kapitel|abschnitt|étape|partie|chapitre|paso|parte|capítulo) [0-9]{1,3}[:.)]?(\s|$))|[0-9]{1,2}(\.[0-9]{1,2}){0,3}[.)]?\s+(?:-\s)?|[0-9]{1,2}[.)])`)

// askWords begin questions; finiteAux of them are auxiliaries.
var (
	askWords = fieldSet(`what who whom whose which when where why how is are was were am do does did has have had can could will would shall should may might must
wer wen wem wessen was wann wo woher wohin warum wieso weshalb wie welche welcher welches welchen ist sind war waren hat haben hatte kann können konnte wird werden soll sollte darf muss gibt
qui que quoi quel quelle quels quelles quand où pourquoi comment combien est sont était étaient a ont y peut peuvent faut
qué quién quiénes cuál cuáles cuándo dónde adónde cómo cuánto cuánta cuántos cuántas es son era eran ha han hay puede pueden`)
	finiteAux = fieldSet(`is are was were am has had will would can could shall must cannot isn't aren't wasn't weren't hasn't hadn't won't can't doesn't didn't does did
ist sind war waren wurde wurden hat hatte hatten kann konnte wird est sont était étaient fut furent ont fue fueron era eran han tiene tienen está están`)
)

var finiteVerbs = fieldSet(`found finds discovered discovers confirmed confirms killed kills died dies won wins lost loses said says claims claimed admitted admits announced announces revealed reveals
holds held contains contained reaches reached became becomes made makes took takes gave gives got gets went goes came comes began begins started starts ended ends closed closes opened opens built builds
sank sinks fell falls rose rises grew grows dropped drops increased increases decreased decreases doubled doubles caused causes causing cures cured proves proved proven shows showed shown exists existed
lives lived survived survives invented invents wrote writes bought buys sold sells paid pays cost costs banned bans approved approves rejected rejects signed signs passed passes voted votes elected
ruled rules sued sues arrested convicted resigned resigns founded owns owned leads led runs ran works worked fails failed needs needed remains remained stays stayed measures measured weighs weighed
beat beats defeated defeats destroyed destroys attacked attacks invaded invades launched launches landed lands visited visits met meets knew knows believes believed thinks thought never
fand fanden entdeckte bestätigte tötete starb starben gewann verlor sagte sagt enthält erreicht erreichte liegt lag steht stand bleibt blieb kostet kostete gründete baute
trouva découvrit confirma tua mourut gagna perdit dit contient atteint coûte descubrió confirmó mató murió ganó perdió dijo contiene alcanza cuesta encontró`)

var metaNouns = fieldSet(`answer answers summary summaries overview response section sections report point points finding findings takeaway takeaways source sources evidence quote quotes quotation quotations passage passages
result results information info data detail details question questions topic topics list lists table tables fact facts thing things step steps reason reasons example examples page pages document documents web search searches
antwort antworten zusammenfassung überblick abschnitt abschnitte punkte quelle quellen belege ergebnisse informationen angaben frage fragen thema liste tabelle seiten
réponse réponses synthèse résumé aperçu section points source résultats informations détails question questions sujet liste tableau pages
respuesta respuestas resumen síntesis puntos fuente fuentes resultados información detalles pregunta preguntas tema lista tabla páginas`)

var metaWords = fieldSet(`i i'm i'll i've i'd you me us we your my here here's below above following what whatever let let's know feel free ask asked please want wanted like need help helps helpful hope hopes look looked looking searched search searching find found finding
gathered gather read could can cannot can't couldn't did didn't do don't will would not no nothing any more further other another additional also happy glad sorry able unable able sure short brief quick clear useful relevant key main important available
based draws summarise summarises summarize summarizes based cited given provide provided provides say says said silent show shown go see note answers answering again later now so this that these those as well if there about on unfortunately provided contain contains
hier ist sind folgende folgenden wichtigsten kurze kurz ich sie mich mir gefunden gesucht finden hoffe hilft helfen kann konnte habe nichts nicht keine leider bitte fragen wissen weitere mehr gern gerne möchten wollen brauchen
voici ce que j'ai j'espère je trouvé cherché espère aide aidera peux pouvez vous nous pas rien principaux principales autres plus besoin hésitez demander question ci-dessous dessous
aquí esta está están he encontrado buscado espero ayude sirva puedo puede usted no nada principales siguientes siguiente más otras otros necesita quiere desea continuación tiene lo`)
