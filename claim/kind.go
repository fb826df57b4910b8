package claim

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"ponder/words"
)

// claims reports whether a sentence claims something: it is no question, greeting, or
// talk about the answer itself.
func claims(said string) bool {
	if strings.HasSuffix(strings.TrimRight(said, "\"'”’»)*"), "?") || strings.HasSuffix(said, "？") || strings.HasSuffix(said, "؟") {
		return false
	}
	said = strings.ReplaceAll(said, "’", "'")
	rest := said
	if m := leadIn.FindString(said); m != "" {
		rest = strings.TrimSpace(said[len(m):])
	}
	if rest == "" || count(rest) < 2 || greeting.MatchString(rest) || talk.MatchString(rest) {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(rest)
	return last != ':' && last != '：' || count(rest) > 12 || strings.ContainsAny(rest, "0123456789")
}

// count returns how many words a text has.
func count(s string) (n int) {
	words.Tokens(s, func(words.Token) { n++ })
	return n
}

// leadIn is what an answer says of its own course.
var leadIn = regexp.MustCompile(`(?i)^(in (summary|short|conclusion|brief|a nutshell)|to (summari[sz]e|sum up|conclude)|overall|summary|short answer|answer|tl;?dr|conclusion|` +
	`key (findings|points|takeaways)|zusammenfassend|zusammenfassung|kurz gesagt|kurz|fazit|antwort|en (résumé|bref|conclusion|resumen|conclusión|síntesis)|résumé|réponse|resumen|respuesta|要約|总之|结论)\s*[:,：，]\s*`)

// greeting is what is said to the reader.
var greeting = regexp.MustCompile(`(?i)^((hello|hi|hey|greetings|dear|welcome|thanks|thank you|sure|certainly|absolutely|of course|great question|good question|you're welcome|sorry|` +
	`hallo|guten (tag|morgen|abend)|danke|gern(e)?|natürlich|sicher|entschuldigung|bonjour|salut|merci|bien sûr|certainement|désolé|hola|buenos días|gracias|claro|por supuesto|lo siento)` +
	`([\s,.!][^.]{0,30})?[!.,]*|(こんにちは|你好|您好|ありがとう).{0,20})$`)

// talk is talk about the answer, or about what was looked for and found.
var talk = regexp.MustCompile(`(?i)^((here (is|are|'s)|below (is|are)|the following (is|are|points|list|section|summary|table|sources)|this (answer|summary|section|overview|response)|in this (answer|report|section|summary)|let me|let's|let us|feel free|` +
	`please|if you (want|would like|need|have)|do you want|would you like|i (hope|can|could|found|looked|searched|will|would|have (found|looked|searched|gathered)|did not|didn't|couldn't|cannot|can't|was (not )?able|was unable|am (happy|glad|sorry))|` +
	`i'(ll|m|ve|d)|we (found|looked|searched) (no|for)|see (also|below|above|this|the)|note that (the sources|this answer|i)|(none of )?the (available |gathered |found )?(sources|evidence|quotes|search results|passages) (i |that |found |do |does |did |don't|doesn't|say nothing|contain|are |is silent|were )|no (source|quote|evidence) (was|were|says|confirms|that)|it could not be (confirmed|verified))|` +
	`(hier (ist|sind|finden)|im folgenden (finden|werden|wird|sind|ist)|diese (antwort|zusammenfassung)|ich (habe|hoffe|konnte|kann|werde)|die (quellen|belege) (sagen|nennen|enthalten|geben)|wenn sie (möchten|wollen)|falls sie|bitte|lassen sie)|` +
	`(voici|ci-dessous|cette (réponse|synthèse)|j'(ai|espère)|je (peux|n'ai|vais)|les sources (ne|disent)|si vous (voulez|souhaitez)|n'hésitez)|` +
	`(aquí (está|están|tiene)|a continuación|esta (respuesta|síntesis)|(he|no he) (encontrado|buscado)|espero|puedo|las fuentes no|si (quiere|desea|necesita)))([\s,:.!]|$)`)
