package same

// A roles is a set of roles, one bit each, and one for things that have one role
// in one text and another one in the other.
type roles uint64

const changed = roles(1) << 63

// order reports whether two things have changed places, and whether that is in
// doubt.
func (p *pair) order() (swapped, doubt bool) {
	if p.flips == 1 && p.converted() {
		p.flips = 0 // "A is more than B" is "B is less than A"
		return false, false
	}
	swapped, doubt = p.sides()
	for i := range p.a.terms {
		if p.to[i] < 0 {
			continue
		}
		s, d := p.around(i)
		swapped, doubt = swapped || s, doubt || d
	}
	doubt = doubt || p.placed()
	s, d := p.passive()
	swapped, doubt = swapped || s, doubt || d
	if p.a.strict && !swapped {
		doubt = doubt || p.inverted()
	}
	return swapped || p.traded(), doubt
}

// sides compares what is a cause or condition in each.
func (p *pair) sides() (swapped, doubt bool) {
	var both, onlyA, onlyB, hasA, hasB, freeA, freeB int
	for i := range p.a.terms {
		x := &p.a.terms[i]
		if p.to[i] < 0 || x.weight <= slight {
			continue
		}
		inA, inB := x.is&cause != 0, p.b.terms[p.to[i]].is&cause != 0
		tally(inA, &hasA, &freeA)
		tally(inB, &hasB, &freeB)
		switch {
		case inA && inB:
			both++
		case inA:
			onlyA++
		case inB:
			onlyB++
		}
	}
	if hasA == 0 || hasB == 0 || freeA == 0 || freeB == 0 {
		return false, false
	}
	swapped = onlyA > 0 && onlyB > 0 && both == 0
	return swapped, !swapped && (both == 0 || onlyA > 0 && onlyB > 0)
}

func tally(in bool, yes, no *int) {
	if in {
		*yes++
	} else {
		*no++
	}
}

// around looks for things that have changed places around the term i of a: one
// that stood before it stands behind it, and one the other way round. Where only
// one of the two verbs has its subject behind it, that is as it should be.
func (p *pair) around(i int) (swapped, doubt bool) {
	v, j := &p.a.terms[i], int(p.to[i])
	w := &p.b.terms[j]
	if v.is&amount != 0 || v.is&special == 0 && v.weight <= slight || v.is&special != 0 && !p.single(v.id) {
		return false, false
	}
	var left, right, kept roles // what came to the left, to the right, and stayed
	var moved, clauses int
	turned := (v.is^w.is)&converse != 0
	for k := range p.a.terms {
		x := &p.a.terms[k]
		if k == i || p.to[k] < 0 || x.weight <= slight && x.is&amount == 0 {
			continue
		}
		y := &p.b.terms[p.to[k]]
		if x.place>>8 != v.place>>8 || y.place>>8 != w.place>>8 || apart(p.a.terms, i, k) || apart(p.b.terms, j, int(p.to[k])) {
			continue
		}
		before, then := k < i, int(p.to[k]) < j
		part := part(x, y)
		switch {
		case before && !then:
			right |= part
		case !before && then:
			left |= part
		case part&(1<<0|1<<agent) != 0:
			kept |= part
		}
		if before != then {
			moved++
			if x.place != v.place || y.place != w.place {
				clauses++
			}
		}
	}
	sure := left&right&^changed != 0
	exchanged := sure || left != 0 && right != 0 && (left|right)&changed != 0
	switch {
	case turned && kept != 0 && moved == 0:
		return true, true
	case turned:
		return false, !exchanged && kept != 0
	case !exchanged || p.shifted(v.place) || !sure && passive(p.a.terms, i) != passive(p.b.terms, j):
		return false, false
	case v.is&special != 0 && kept == 0:
		return false, moved < 4 // "A is B" and "B is A"
	}
	return sure && clauses == 0, true
}

// passive reports whether a copula stands right before a verb.
func passive(list []term, i int) bool { return i > 0 && list[i-1].is&copula != 0 }

// shifted reports whether a thing of a sentence is who does it in both texts, but
// the subject in one only.
func (p *pair) shifted(place uint16) bool {
	for k := range p.a.terms {
		x := &p.a.terms[k]
		if p.to[k] >= 0 && x.place>>8 == place>>8 && shift(x, &p.b.terms[p.to[k]]) {
			return true
		}
	}
	return false
}

// shift reports whether a thing is behind a "by" in one of two texts only, and
// has no other role in the other.
func shift(x, y *term) bool {
	return x.role != y.role && (x.role == 0 || y.role == 0) && (x.role|y.role == agent || x.role|y.role == means)
}

// passive looks at what is behind a "by" in one text only. It must have changed
// places with something, or it is who does it in one and not in the other.
func (p *pair) passive() (swapped, doubt bool) {
	for k := range p.a.terms {
		x := &p.a.terms[k]
		if p.to[k] < 0 || !shift(x, &p.b.terms[p.to[k]]) || !suffers(p.a.terms, k) && !suffers(p.b.terms, int(p.to[k])) {
			continue
		}
		kept, moved := 0, 0
		for i := range p.a.terms {
			y := &p.a.terms[i]
			if p.to[i] < 0 || y.weight <= slight || y.place>>8 != x.place>>8 || y.role != 0 || p.b.terms[p.to[i]].role != 0 {
				continue
			}
			if (i < k) == (p.to[i] < p.to[k]) {
				kept++
			} else {
				moved++
			}
		}
		if moved == 0 && kept > 0 {
			swapped, doubt = swapped || kept > 1, true
		}
	}
	return swapped, doubt
}

// converted reports whether the only opposite word is one of comparison, and
// what it compares has changed places.
func (p *pair) converted() bool {
	var compares, flipped *term
	var left, right, kept int
	for i := range p.a.terms {
		x := &p.a.terms[i]
		switch {
		case p.to[i] < 0:
		case x.is&between != 0:
			compares = x
			for k := range p.a.terms {
				if k == i || p.to[k] < 0 || p.a.terms[k].weight <= slight || (p.a.terms[k].is^p.b.terms[p.to[k]].is)&opposite != 0 {
					continue
				}
				switch before, then := k < i, p.to[k] < p.to[i]; {
				case before && !then:
					right++
				case !before && then:
					left++
				case !before:
					kept++
				}
			}
		case (x.is^p.b.terms[p.to[i]].is)&opposite != 0:
			flipped = x
		}
	}
	return compares != nil && flipped != nil && left > 0 && right > 0 && kept == 0
}

// suffers reports whether a thing is behind a "by", or behind a "with" that
// follows a verb after a copula.
func suffers(list []term, k int) bool {
	role := list[k].role
	for k > 0 && list[k-1].role == role {
		k--
	}
	return role == agent || role == means && k > 1 && list[k-2].is&copula != 0
}

// part returns the role that a thing has in both texts.
func part(x, y *term) roles {
	if x.role != y.role {
		return changed
	}
	if x.role <= counted {
		return 1 << x.role
	}
	return 1 << (4 + x.role%58)
}

// apart reports whether a copula stands between a word that may be a verb and
// another thing, and not right before the verb.
func apart(list []term, verb, thing int) bool {
	for k := min(verb, thing) + 1; k < max(verb, thing); k++ {
		if list[k].is&copula != 0 && k != verb-1 {
			return true
		}
	}
	return false
}

// single reports whether a term is there once in both texts.
func (p *pair) single(id uint32) bool {
	n, m := 0, 0
	for i := range p.a.terms {
		if p.a.terms[i].id == id {
			n++
		}
	}
	for j := range p.b.terms {
		if p.b.terms[j].id == id {
			m++
		}
	}
	return n == 1 && m == 1
}

// traded reports whether two things have taken over each other's role: from A to
// B, and from B to A. If one of the roles is none, their places must tell, too.
func (p *pair) traded() bool {
	for i := range p.a.terms {
		if p.to[i] < 0 || p.a.terms[i].weight <= slight {
			continue
		}
		r, s := p.a.terms[i].role, p.b.terms[p.to[i]].role
		if r == s {
			continue
		}
		for k := i + 1; k < len(p.a.terms); k++ {
			if p.to[k] >= 0 && p.a.terms[k].role == s && p.b.terms[p.to[k]].role == r && p.a.terms[k].weight > slight &&
				(r != 0 && s != 0 || p.to[k] < p.to[i]) {
				return true
			}
		}
	}
	return false
}

// placed reports whether a thing has one role in one text and another in the
// other, of which one is strong: on and under, to and from.
func (p *pair) placed() bool {
	for i := range p.a.terms {
		if p.to[i] < 0 {
			continue
		}
		r, s := p.a.terms[i].role, p.b.terms[p.to[i]].role
		if r != s && r != 0 && s != 0 && (r|s)&strong != 0 {
			return true
		}
	}
	return false
}

// inverted reports whether two things of the same role stand in another order,
// in a language where the verb may follow both.
func (p *pair) inverted() bool {
	for i := range p.a.terms {
		x := &p.a.terms[i]
		if p.to[i] < 0 || !p.thing(x) {
			continue
		}
		for k := i + 1; k < len(p.a.terms); k++ {
			y := &p.a.terms[k]
			if p.to[k] < 0 || p.to[k] > p.to[i] || !p.thing(y) {
				continue
			}
			a, b := part(x, &p.b.terms[p.to[i]]), part(y, &p.b.terms[p.to[k]])
			if x.is&cause == y.is&cause && a&b&^changed != 0 {
				return true
			}
		}
	}
	return false
}

// thing reports whether a term may be who does something or what it is done to.
func (p *pair) thing(t *term) bool {
	return t.weight > slight && (t.is&noun != 0 || !p.a.nouns())
}

// nouns reports whether the language of a text marks its nouns.
func (t Text) nouns() bool {
	for i := range t.terms {
		if t.terms[i].is&noun != 0 {
			return true
		}
	}
	return false
}
