package lookup

import (
	"strings"
	"unicode"
)

// Nowhere stands for a citation of what there is not where the sentence would have a hole
// without it, as in "According to [no such source], it is deep."
const Nowhere = "[no such source]"

// Words beside which what is cited is a part of the sentence, in small letters.
var (
	// leads call for it.
	leads = set(`according and as both by cf cf. from in of on or per see than to via with
aus bei gemäß in laut mit nach oder siehe sowie und vgl vgl. von wie
après avec chez d'après d’après dans de en et ou par selon suivant voir
como de en entre por según véase`)
	// opens begin a clause, and says go on with one, of which it is the subject.
	opens = set(`because but since that whereas while aber dass denn weil während car mais puisque que pero porque`)
	says  = set(`claims confirms describes explains finds found gives mentions names notes reported reports said says showed shows stated states suggests
belegt berichtet beschreibt besagt bestätigt erklärt gibt nennt sagt zeigt
affirme confirme dit explique indique montre
afirma confirma dice explica indica muestra`)
)

// longestLead bounds how much is looked at of what stands before a citation, in bytes.
const longestLead = 16

// lacking reports whether a text that goes on with rest lacks what was taken away between
// them: what a word leads in, one of two that a word joins, or what says something.
func lacking(text []byte, rest string) bool {
	next := strings.TrimLeft(rest, " \t")
	if strings.HasPrefix(next, "[") || strings.HasPrefix(next, "【") || strings.HasPrefix(rest, "(") {
		return false // which may stand for it, or is the address of a link
	}
	before := string(text[max(0, len(text)-longestLead):])
	last := before[strings.LastIndexAny(before, " \t\n(“„«\"*_|>")+1:]
	word := strings.ToLower(last)
	if leads[word] || besideJoin(before, rest) {
		return true
	}
	next = next[:min(len(next), longestLead)]
	verb := next[:len(next)-len(strings.TrimLeftFunc(next, unicode.IsLetter))]
	if !says[verb] || last != word && strings.HasSuffix(last, ".") { // Inc. [e7] says
		return false
	}
	return before == "" || opens[word] || strings.IndexByte("\n(.,;:!?-*|", before[len(before)-1]) >= 0
}

func set(list string) map[string]bool {
	all := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		all[w] = true
	}
	return all
}
