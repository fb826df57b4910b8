package lookup

import (
	"strings"
	"unicode"
)

// NoSuchSource replaces a removed citation that its sentence depends on, as in "According to [no such
// source], it is deep."
const NoSuchSource = "[no such source]"

var (
	// objectLeads require a following object.
	objectLeads = wordSet(`according and as both by cf cf. from in of on or per see than to via with
aus bei gemäß in laut mit nach oder siehe sowie und vgl vgl. von wie
après avec chez d'après d’après dans de en et ou par selon suivant voir
como de en entre por según véase`)
	// clauseOpeners begin a clause; says are verbs whose subject may be the citation.
	clauseOpeners = wordSet(`because but since that whereas while aber dass denn weil während car mais puisque que pero porque`)
	citingVerbs   = wordSet(`claims confirms describes explains finds found gives mentions names notes reported reports said says showed shows stated states suggests
belegt berichtet beschreibt besagt bestätigt erklärt gibt nennt sagt zeigt
affirme confirme dit explique indique montre
afirma confirma dice explica indica muestra`)
)

const maxLeadBytes = 16

// needsObject reports whether removing a citation between text and rest would break the sentence.
func needsObject(text []byte, rest string) bool {
	next := strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(next, "[") || strings.HasPrefix(next, "【") || strings.HasPrefix(rest, "(") {
		return false // which replaces it or is a link address
	}
	before := string(text[max(0, len(text)-maxLeadBytes):])
	last := before[strings.LastIndexAny(before, " \t\n(“„«\"*_|>")+1:]
	word := strings.ToLower(last)
	if objectLeads[word] || isJoined(before, rest) {
		return true
	}
	next = next[:min(len(next), maxLeadBytes)]
	verb := next[:len(next)-len(strings.TrimLeftFunc(next, unicode.IsLetter))]
	if !citingVerbs[verb] || last != word && strings.HasSuffix(last, ".") { // Inc. [e7] says
		return false
	}
	return before == "" || clauseOpeners[word] || strings.IndexByte("\n(.,;:!?-*|", before[len(before)-1]) >= 0
}

func wordSet(list string) map[string]bool {
	all := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}
