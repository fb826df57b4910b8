package claim

import "ponder/internal/textkit/lexical"

// A lead is how a number is related to a change: by so much, to, or from so much.
type lead uint8

const (
	noLead lead = iota
	changedBy
	changedTo
	changedFrom
)

var leadWords = map[lexical.Language]map[string]lead{
	"en": {"by": changedBy, "to": changedTo, "from": changedFrom},
	"de": {"um": changedBy, "auf": changedTo},
	"fr": {"de": changedBy, "a": changedTo},
	"es": {"en": changedBy, "al": changedTo, "hasta": changedTo},
}

// periods are those of a rate, by their folded names.
var periods = func() map[string]string {
	all := make(map[string]string)
	for name, list := range map[string]string{
		"year": "year yearly annum jahr an annee ano", "month": "month monat mois mes", "week": "week woche semaine semana",
		"day": "day tag jour dia", "hour": "hour stunde heure hora", "minute": "minute minuto", "second": "second sekunde seconde segundo", "quarter": "quarter quartal trimestre",
	} {
		for w := range fieldSet(list) {
			all[w] = name
		}
	}
	return all
}()

var perWords = fieldSet(`per pro par por each every`)

// A relation is what stands around a figure that says what it is of.
type relation struct {
	lead lead
	rate string
}

// relationOf reads the relation of the figure that begins at atom i and ends before the
// offset end of the text.
func relationOf(atoms []atom, i, end int, lang lexical.Language) (r relation) {
	for k := i - 1; k >= 0 && k >= i-2 && r.lead == noLead; k-- {
		r.lead = leadWords[lang][atoms[k].fold]
		if looseWords[atoms[k].fold] == exactly {
			break
		}
	}
	for k := i; k+1 < len(atoms) && k < i+6; k++ {
		if k > i && (atoms[k].comma || atoms[k].number) {
			break
		}
		if perWords[atoms[k].fold] {
			r.rate = periods[atoms[k+1].fold]
			break
		}
	}
	return r
}

// related says that the source has a number of the claim in another relation: by for to,
// over for under, or per month for per year.
func (b *beside) related() string {
	lang := b.lang
	for _, f := range statingsOf(&b.reading, 0, b.mine) {
		if f.dated || f.at < 0 {
			continue
		}
		ours, why := relationOf(b.mine, f.at, f.figure.end, lang), ""
		for _, g := range statingsOf(&b.unit.reading, b.unit.start, b.theirs) {
			if g.dated || g.at < 0 || !f.bears(g) {
				continue
			}
			other := differs(f.figure, g.figure, ours, relationOf(b.theirs, g.at, g.figure.end-b.unit.start, lang))
			if why = other; other == "" {
				break
			}
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// differs says how the relations of two figures that are equal differ, or "".
func differs(f, g figure, a, b relation) string {
	switch {
	case a.lead != noLead && b.lead != noLead && a.lead != b.lead:
		return "the source relates " + g.text + " to the change in another way"
	case a.rate != "" && b.rate != "" && a.rate != b.rate:
		return "the source says " + g.text + " per " + b.rate + ", not per " + a.rate
	case f.loose == atLeast && g.loose == atMost:
		return "the source says at most, or under, " + g.text
	case f.loose == atMost && g.loose == atLeast:
		return "the source says at least, or over, " + g.text
	}
	return ""
}
