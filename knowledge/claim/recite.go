package claim

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRecited is the most sources that a sentence is given.
const maxRecited = 2

// cited is a citation as Citations leaves it, and the space before it.
var cited = regexp.MustCompile(`[ \t]*\[[a-zA-Z]{1,8}[0-9]{1,9}\]`)

// Sources returns the ids that a sentence should cite for what was found: the quotes
// that bear it out in place of sources that do not. ok is false where what it cites may
// stay, as of a sentence that nothing bears out. A sentence that cites nothing is given
// its sources if it is supported.
func (f Finding) Sources(s Sentence) (ids []string, ok bool) {
	if f.Verdict != Supported && f.Verdict != Qualified || len(s.Cites) == 0 && f.Verdict != Supported {
		return nil, false
	}
	var best, against []string
	for _, q := range f.Quotes {
		if !slices.Contains(best, q.Evidence) {
			best = append(best, q.Evidence)
		}
	}
	for _, q := range f.Against {
		if !slices.Contains(best, q.Evidence) {
			against = append(against, q.Evidence)
		}
	}
	if len(best) == 0 {
		return nil, false
	}
	for _, id := range s.Cites {
		if slices.Contains(best, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return best[:min(len(best), maxRecited)], true
	}
	ids = slices.DeleteFunc(slices.Clone(s.Cites), func(id string) bool { return slices.Contains(against, id) })
	return ids, len(ids) < len(s.Cites)
}

// Recite returns a text in which sentences cite other sources: a sentence the ids at its
// place in cites, unless those are nil. The sentences are those of the text by Split.
func Recite(text string, sentences []Sentence, cites [][]string) string {
	var out strings.Builder
	at := 0
	for i, s := range sentences[:min(len(sentences), len(cites))] {
		if cites[i] == nil || s.Start < at || s.Start > s.End || s.End > len(text) {
			continue
		}
		out.WriteString(text[at:s.Start])
		out.WriteString(recited(text[s.Start:s.End], s, cites[i]))
		at = s.End
	}
	return out.String() + text[at:]
}

// recited returns what stands at a sentence with other sources, before the sign that
// ends it.
func recited(said string, s Sentence, ids []string) string {
	said = cited.ReplaceAllStringFunc(said, func(m string) string {
		if slices.Contains(s.Cites, strings.Trim(m, " \t[]")) {
			return ""
		}
		return m
	})
	end := len(said)
	for end > 0 {
		r, size := utf8.DecodeLastRuneInString(said[:end])
		if !strings.ContainsRune(" \t\n|.!?…。！？*_", r) {
			break
		}
		end -= size
	}
	marks := ""
	for _, id := range ids {
		marks += " [" + id + "]"
	}
	return said[:end] + marks + said[end:]
}
