package evidence

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

// Age limits of the date signal: no reduction before fresh, none further after old.
const (
	freshYears   = 1  // years
	oldYears     = 20 // years
	minDateValue = 0.6
)

func dateSignal(p Piece, now time.Time) ponder.Signal {
	s := ponder.Signal{Name: "date"}
	years := now.Sub(p.Published).Hours() / (24 * 365.25)
	switch {
	case p.Published.IsZero():
		s.Value, s.Description = 0.5, "It has no date."
	case years < -1/365.25:
		s.Value, s.Description = 0.3, fmt.Sprintf("Its date is %s, in the future.", formatDay(p.Published))
	default:
		s.Value = 1 - (1-minDateValue)*min(1, max(0, years-freshYears)/(oldYears-freshYears))
		s.Description = fmt.Sprintf("Its date is %s, %s.", formatDay(p.Published), formatAge(years))
	}
	return s
}

func formatDay(t time.Time) string { return t.Format("2 January 2006") }

func formatAge(years float64) string {
	switch {
	case years < 2/365.25:
		return "just now"
	case years < 2.0/12:
		return fmt.Sprintf("%.0f days ago", years*365.25)
	case years < 2:
		return fmt.Sprintf("%.0f months ago", years*12)
	}
	return fmt.Sprintf("%.0f years ago", years)
}

func authorSignal(p Piece) ponder.Signal {
	name := textkit.Line(p.Author, maxName)
	switch low := strings.ToLower(name); {
	case !strings.ContainsFunc(name, unicode.IsLetter):
		return ponder.Signal{Name: "author", Value: 0.5, Description: "It names no author."}
	case roleNames[low] || strings.HasSuffix(low, " staff") || strings.HasSuffix(low, " team") || strings.HasSuffix(low, "redaktion"):
		return ponder.Signal{Name: "author", Value: 0.7, Description: "It names its author by a role only: " + name + "."}
	default:
		return ponder.Signal{Name: "author", Value: 1, Description: "Its author is " + name + "."}
	}
}

// roleNames are author names that name no person.
var roleNames = map[string]bool{
	"admin": true, "administrator": true, "staff": true, "editor": true, "editors": true, "editorial": true, "team": true, "guest": true, "author": true, "anonymous": true, "user": true,
	"redaktion": true, "redacción": true, "rédaction": true, "la rédaction": true, "webmaster": true, "unknown": true, "press release": true, "newsroom": true,
}

// foldedWords returns the folded words of a text, with a space around each.
func foldedWords(text string) string {
	var b strings.Builder
	b.WriteByte(' ')
	lexical.Tokens(textkit.Prefix(text, maxText), func(t lexical.Token) {
		b.WriteString(lexical.Fold(text[t.Start:t.End]))
		b.WriteByte(' ')
	})
	return b.String()
}

func findPhrase(text string, phrases []string) (phrase string, n int) {
	for _, p := range phrases {
		if strings.Contains(text, " "+p+" ") {
			if n++; n == 1 {
				phrase = p
			}
		}
	}
	return phrase, n
}

// Phrases of own work, of reports of others, and of hearsay.
var (
	ownWorkPhrases = []string{
		"we measured", "we found", "we find", "we observed", "we show", "we surveyed", "we tested", "we analysed", "we analyzed", "we conducted", "we interviewed", "we report", "we propose", "our results",
		"our study", "our data", "our measurements", "our experiments", "in this paper", "in this study", "this paper presents", "the present study", "the authors declare", "i measured", "i tested", "i saw",
		"i was there", "i found", "i interviewed", "i asked", "i decided", "we decided", "told us", "in an interview with", "hereby", "pursuant to", "shall be", "is hereby", "minutes of the meeting", "table 1",
		"figure 1", "wir haben gemessen", "unsere ergebnisse", "in dieser arbeit", "nous avons mesure", "nos resultats", "dans cette etude", "nuestros resultados", "en este estudio", "hemos medido",
	}
	reportPhrases = []string{
		"according to", "as reported by", "reported that", "reports say", "researchers say", "researchers found", "scientists say", "experts say", "a study found", "a new study", "studies show", "research shows", "citing",
		"was quoted", "has been described", "summary of", "review of", "in a statement", "told the", "it is known that", "laut", "nach angaben", "einer studie zufolge", "selon", "d apres", "segun", "de acuerdo con",
	}
	hearsayPhrases = []string{
		"reportedly", "allegedly", "rumor", "rumors", "rumour", "rumours", "some say", "people say", "it is said", "i heard", "i have heard", "supposedly", "anonymous sources", "unconfirmed", "sources close to", "word is",
		"they say", "angeblich", "geruchten zufolge", "aurait", "il parait", "presuntamente", "se dice", "al parecer",
	}
)

func directnessSignal(text string) ponder.Signal {
	own, many := findPhrase(text, ownWorkPhrases)
	others, more := findPhrase(text, reportPhrases)
	rumor, vague := findPhrase(text, hearsayPhrases)
	s := ponder.Signal{Name: "directness", Value: 0.65, Description: "Its wording does not show whether it is first-hand."}
	switch {
	case vague > many && vague >= more:
		s.Value, s.Description = 0.3, "It repeats hearsay: “"+rumor+"”."
	case many > more:
		s.Value, s.Description = 0.95, "It reports its own work: “"+own+"”."
	case more > many:
		s.Value, s.Description = 0.55, "It reports statements of others: “"+others+"”."
	}
	return s
}

func transportSignal(p Piece, _ string) (s ponder.Signal, ok bool) {
	a, ok := parseAddress(p.URL)
	if !ok || p.Local || a.isPlaceholder() {
		return s, false
	}
	if a.secure {
		return ponder.Signal{Name: "transport", Value: 1, Description: "The transfer was encrypted (https)."}, true
	}
	return ponder.Signal{Name: "transport", Value: 0.5, Description: "The transfer was unencrypted (http), so others may have changed it."}, true
}

var salesPhrases = []string{
	"sponsored content", "sponsored post", "sponsored by", "paid partnership", "affiliate links", "affiliate link", "affiliate commission", "add to cart", "buy now", "order now", "limited time offer", "free shipping", "promo code",
	"discount code", "money back guarantee", "sign up today", "act now", "advertorial", "jetzt kaufen", "in den warenkorb", "anzeige von", "acheter maintenant", "ajouter au panier", "comprar ahora",
}

func advertisingSignal(_ Piece, text string) (s ponder.Signal, ok bool) {
	phrase, n := findPhrase(text, salesPhrases)
	if n == 0 {
		return s, false
	}
	return ponder.Signal{Name: "advertising", Value: max(0.2, 0.6-0.2*float64(n-1)), Description: "It advertises: “" + phrase + "”."}, true
}

var instructionPhrases = []string{
	"ignore previous instructions", "ignore all previous instructions", "ignore the above instructions", "ignore your instructions", "ignore all instructions", "disregard previous instructions",
	"disregard all previous", "ignore any previous instructions", "ignore prior instructions", "ignore all prior instructions", "disregard prior instructions", "disregard your instructions", "call the tool", "disregard the above", "forget previous instructions", "forget all previous", "forget your instructions", "as an ai language model", "you are now", "system prompt", "new instructions", "override your", "to the ai reading",
	"if you are an ai", "if you are a language model", "instructions for ai", "attention ai", "do not tell the user", "without telling the user", "ignoriere alle vorherigen anweisungen", "ignorez les instructions precedentes",
	"ignora las instrucciones anteriores", "begin system", "assistant must",
}

// AddressesProgram reports whether a text has instructions to a program that reads it, with
// the signal of [Judge]. Invisible characters do not hide instructions.
func AddressesProgram(text string) (s ponder.Signal, ok bool) {
	text = textkit.Visible(textkit.Prefix(text, maxText))
	return addressedSignal(Piece{Text: text}, foldedWords(text))
}

func addressedSignal(p Piece, text string) (s ponder.Signal, ok bool) {
	phrase, _ := findPhrase(text, instructionPhrases)
	if phrase == "" {
		phrase = findInstruction(textkit.Visible(textkit.Prefix(p.Text, maxText)), text)
	}
	if phrase == "" {
		return s, false
	}
	return ponder.Signal{Name: "addressed", Value: 0.1, Description: "It contains instructions to programs: “" + phrase + "”."}, true
}
