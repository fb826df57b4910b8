package claim

import "slices"

// qualifiers returns what a text puts behind a name to tell it from others: "Michigan"
// of "Blue Lake, Michigan" and of "Blue Lake in Michigan has", "film" of "Red Sand
// (film)", and "footballer" of "Jay Arn, the footballer,". The name is some words.
func qualifiers(lines [][]lexeme, name []string) []string {
	for _, line := range lines {
		for i := 1; i < len(line); i++ {
			if !slices.Contains(name, line[i-1].fold) || i < min(2, len(name)) || len(name) > 1 && !slices.Contains(name, line[i-2].fold) {
				continue
			}
			if list := qualifierAt(line, i); len(list) > 0 {
				return list
			}
		}
	}
	return nil
}

func qualifierAt(line []lexeme, i int) (list []string) {
	switch line[i].fold {
	case "(":
		return bracketed(line, i+1)
	case "in":
		return placeOfSubject(line, i)
	case ",":
		if list := apposition(line, i+1); len(list) > 0 {
			return list
		}
		for k := i; foldAt(line, k, ",") && upperAt(line, k+1); {
			for k++; upperAt(line, k); k++ {
				list = append(list, line[k].fold)
			}
		}
	}
	return sortedSet(list)
}

// placeOfSubject returns the words of the place that stands between the name which a
// sentence begins with and its verb.
func placeOfSubject(line []lexeme, i int) (list []string) {
	for k, x := range line[:i] {
		if !x.upper && !(k == 0 && articles[x.fold]) && !nameLinks[x.fold] {
			return nil
		}
	}
	k := i + 1
	for ; upperAt(line, k) && monthOf(line[k].fold) == 0; k++ {
		list = append(list, line[k].fold)
	}
	if k >= len(line) || line[k].kind != lexWord || upperAt(line, k) {
		return nil
	}
	return sortedSet(list)
}

const maxApposition = 8 // words

// apposition returns the words between an article and the comma that ends what a thing is
// said to be.
func apposition(line []lexeme, i int) (list []string) {
	if i >= len(line) || line[i].upper || !articles[line[i].fold] && !another[line[i].fold] {
		return nil
	}
	for k := i + 1; k < len(line) && k <= i+maxApposition; k++ {
		switch x := line[k]; {
		case x.fold == ",":
			return sortedSet(list)
		case x.kind != lexWord:
			return nil
		case !articles[x.fold] && !nameLinks[x.fold] && x.fold != "in":
			list = append(list, x.fold)
		}
	}
	return nil
}

// bracketed returns the words up to a closing bracket, if they are no dates of a life.
func bracketed(line []lexeme, i int) (list []string) {
	for k := i; k < len(line) && k < i+7; k++ {
		x := line[k]
		switch {
		case x.fold == ")":
			return sortedSet(list)
		case x.fold == "born" || monthOf(x.fold) > 0 || x.fold == "–":
			return nil
		case x.kind == lexWord:
			list = append(list, x.fold)
		}
	}
	return nil
}

// apart divides statements by the things of one name that their quotes tell apart. What
// tells nothing is with the others if those are of one thing, and else alone. A sentence
// that was changed is of one thing, whatever it is called.
func apart(list []stated) (groups [][]stated) {
	var plain []stated
	var kinds [][]string
	for _, s := range list {
		if s.copied || s.attribute.kind == placeWorth || len(s.qualifiers) == 0 {
			plain = append(plain, s)
			continue
		}
		i := slices.IndexFunc(kinds, func(k []string) bool { return slices.Equal(k, s.qualifiers) })
		if i < 0 {
			i = len(kinds)
			kinds, groups = append(kinds, s.qualifiers), append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	if oneThing(kinds) {
		return [][]stated{list}
	}
	return append(groups, plain)
}

// oneThing reports whether of any two lists of qualifiers one has all of the other.
func oneThing(kinds [][]string) bool {
	for i, a := range kinds {
		for _, b := range kinds[:i] {
			if !subset(a, b) && !subset(b, a) {
				return false
			}
		}
	}
	return true
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}
