package steering

import "ponder"

// A change is the way in which a clause changes a limit.
type change int

const (
	unclear   change = iota
	setLimit         // the total
	addLimit         // more than now
	cutLimit         // less than now
	restLimit        // from now on
)

// parseBudget parses a clause about limits. Each word must be a number, a unit or a known word.
func (p clauseParser) parseBudget(words []word) (c clause, ok bool) {
	var found []quantity
	var rest []word
	before := "" // the word before the first quantity
	for i := 0; i < len(words); i++ {
		q, ok := parseQuantity(words, i)
		if !ok || q.kind == noKind && isWord(words[i].norm, "filler", "more", "halve") {
			rest = append(rest, words[i])
			continue
		}
		if len(found) == 0 && i > 0 {
			before = words[i-1].norm
		}
		for _, w := range words[i:q.end] {
			if isWord(w.norm, "more", "less") {
				rest = append(rest, w)
			}
		}
		found = append(found, q)
		i = q.end - 1
	}
	b := bagOf(rest)
	if !b.isWithin("filler", "more", "less", "grow", "shrink", "double", "halve", "bound", "by", "upto", "deadline", "than", "stop", "neutral", "time", "money", "calls", "tokens", "limitword", "negation", "sequel", "joiner") {
		return c, false
	}
	named := nounKind(b)
	if len(found) == 0 {
		if named == noKind && b["budget"] {
			named = moneyKind
		}
		return p.scaleLimit(b, named)
	}
	if len(found) > 1 {
		return p.parseList(found, b, before)
	}
	q := found[0]
	if q.kind == noKind {
		q.kind = named
		if named == moneyKind {
			q.amount *= micros
		}
		if named == noKind && b["budget"] {
			q.kind, q.amount = moneyKind, q.amount*micros
		}
	}
	if q.kind == noKind || q.value() <= 0 || named != noKind && named != q.kind {
		return c, false
	}
	return p.changeLimit(q, changeOf(b, before, q.kind))
}

// parseList parses limits of different kinds with the same words, such as "at most ten calls and $1".
func (p clauseParser) parseList(found []quantity, b bag, before string) (c clause, ok bool) {
	var seen [len(limits)]bool
	for _, q := range found {
		if q.kind == noKind || seen[q.kind] || q.value() <= 0 {
			return c, false
		}
		seen[q.kind] = true
		one, ok := p.changeLimit(q, changeOf(b, before, q.kind))
		if !ok {
			return c, false
		}
		c.requests = append(c.requests, one.requests...)
	}
	return c, true
}

// nounKind returns the only kind that the nouns of a clause name, or noKind.
func nounKind(b bag) kind {
	named := noKind
	for k, class := range map[kind]string{timeKind: "time", moneyKind: "money", callsKind: "calls", tokensKind: "tokens"} {
		if b.hasAny(class) {
			if named != noKind {
				return noKind
			}
			named = k
		}
	}
	return named
}

// changeOf returns the change that the words of a clause express.
func changeOf(b bag, before string, k kind) change {
	comparison := b.hasAny("than")
	switch {
	case b.hasAny("negation") && comparison && b.hasAny("more"):
		if b.hasAny("additional") {
			return restLimit // no more than ten further
		}
		return setLimit // no more than
	case b.hasAny("negation"), comparison:
		return unclear
	case isWord(before, "by") && b.hasAny("grow"):
		return addLimit
	case isWord(before, "by") && b.hasAny("shrink"):
		return cutLimit
	case b.hasAny("more") && b.hasAny("less"):
		return unclear
	case b.hasAny("more") && b.hasAny("bound", "stop", "deadline", "sequel"):
		return restLimit // at most ten more
	case b.hasAny("more"):
		return addLimit
	case b.hasAny("less"):
		return cutLimit
	case isWord(before, "upto") && b.hasAny("grow", "shrink", "bound", "limitword"):
		return setLimit
	case k == timeKind && (b.hasAny("deadline") || b["in"] && b.hasAny("stop") || b["next"] && b.hasAny("stop")):
		return restLimit
	case b.hasAny("grow"):
		return addLimit
	case b.hasAny("bound", "stop", "limitword", "shrink"), isWord(before, "upto") && b["up"]:
		return setLimit
	}
	return unclear
}

// changeLimit returns the request that changes a limit by a quantity.
func (p clauseParser) changeLimit(q quantity, do change) (c clause, ok bool) {
	var set, more [len(limits)]int64
	old, used := budgetAmounts(p.view.Limits)[q.kind], budgetAmounts(p.view.Used)[q.kind]
	switch do {
	case setLimit:
		set[q.kind] = q.value()
	case addLimit:
		more[q.kind] = q.value()
	case restLimit:
		set[q.kind] = used + q.value()
	case cutLimit:
		if set[q.kind] = old - q.value(); set[q.kind] <= 0 {
			return c, false
		}
	default:
		return c, false
	}
	return requestClause(Request{Order: ponder.SetBudget, Limits: budgetOf(set), More: budgetOf(more)})
}

// scaleLimit parses "double the time" and "halve the budget".
func (p clauseParser) scaleLimit(b bag, named kind) (c clause, ok bool) {
	if named == noKind || b.hasAny("negation") || b.hasAny("double") == b.hasAny("halve") || budgetAmounts(p.view.Limits)[named] == 0 {
		return c, false
	}
	var set [len(limits)]int64
	set[named] = budgetAmounts(p.view.Limits)[named] / 2
	if b.hasAny("double") {
		set[named] = budgetAmounts(p.view.Limits)[named] * 2
	}
	return requestClause(Request{Order: ponder.SetBudget, Limits: budgetOf(set)})
}
