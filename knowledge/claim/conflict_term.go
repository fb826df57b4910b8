package claim

import "slices"

// copulas are words that say what a thing is, and clauseTurns those behind which a sentence
// speaks of other things.
var (
	copulas     = fieldSet(`is was are were ist war sind est etait es fue era son plays played play`)
	clauseTurns = fieldSet(`based who which that where whose on in at by from for with of about after before and but or as der die das qui que mit auf von sur dans para con ; : ( not no never nicht pas`)
)

// terms reads values of closed lists: behind "is a", behind the name of the attribute
// ("Genre: jazz"), and in the brackets behind the name of the thing.
func (r *statedReader) terms(line []lexeme, subject []string) {
	if i := slices.IndexFunc(line, func(x lexeme) bool { return copulas[x.fold] }); i >= 0 {
		r.region(line, i+1, subject)
	}
	for i := range line {
		for _, a := range attributes() {
			if a.kind == termWorth && (r.only == nil || r.only == a) && a.asks[line[i].fold] {
				r.label(line, i+1, a, subject)
			}
		}
	}
	for i := 1; i+2 < len(line) && i < 12; i++ {
		if line[i].fold == "(" && line[i-1].upper {
			r.bracket(line, i+1, subject)
		}
	}
}

// region reads the terms behind a copula, up to where the sentence numberTurns to other things.
func (r *statedReader) region(line []lexeme, k int, subject []string) {
	end := k
	for end < len(line) && end < k+16 && !clauseTurns[line[end].fold] {
		end++
	}
	r.termsIn(line, line[k:end], subject, nil)
}

// label reads the terms behind the name of an attribute.
func (r *statedReader) label(line []lexeme, k int, a *attribute, subject []string) {
	if k < len(line) && line[k].fold == ":" {
		k++
	}
	if k < len(line) && slices.ContainsFunc(statedCues()[line[k].fold], func(c statedCue) bool { return c.listedTerm != nil && c.attribute == a }) {
		r.termsIn(line, line[k:min(len(line), k+3)], subject, a)
	}
}

func (r *statedReader) bracket(line []lexeme, k int, subject []string) {
	end := k
	for end < len(line) && end < k+6 && line[end].fold != ")" {
		end++
	}
	if end < len(line) && line[end].fold == ")" {
		r.termsIn(line, line[k:end], subject, nil)
	}
}

// termsIn reads the terms of a part of a sentence. If there are several of one attribute
// that do not fit each other it says none of them alone, and none is kept.
func (r *statedReader) termsIn(line, part []lexeme, subject []string, only *attribute) {
	found := make(map[*attribute][]worth)
	var order []*attribute
	for i := 0; i < len(part); {
		step := 1
		for _, c := range statedCues()[part[i].fold] {
			if c.listedTerm == nil || r.only != nil && c.attribute != r.only || only != nil && c.attribute != only {
				continue
			}
			n := phraseAt(part, i, c.phrase)
			if n == 0 {
				continue
			}
			if found[c.attribute] == nil {
				order = append(order, c.attribute)
			}
			v := worth{kind: termWorth, words: []string{c.listedTerm.name}, broad: c.listedTerm.broad, text: r.text[part[i].start:part[i+n-1].end]}
			found[c.attribute] = append(found[c.attribute], v)
			step = max(step, n)
		}
		i += step
	}
	for _, a := range order {
		if v, ok := oneTerm(found[a]); ok {
			r.add(line, subject, a, "", "", v)
		}
	}
}

// oneTerm returns the finest of terms that fit each other.
func oneTerm(list []worth) (best worth, ok bool) {
	for i, v := range list {
		for _, o := range list[:i] {
			if !v.fits(o) {
				return best, false
			}
		}
		if i == 0 || v.finer(best) {
			best = v
		}
	}
	return best, len(list) > 0
}
