package session

import (
	_ "embed" // for the labels
	"maps"
	"slices"
	"strings"
	"unicode"
)

// labelsText has what models call the parts of an answer.
//
//go:embed labels.txt
var labelsText string

// labels are what is meant by what models write: a part of a form, by its head.
type labels map[string]string

// The labels of each form, and the words that may stand around them. Nothing changes them.
var (
	thoughtLabels  = readLabels("thoughts ")
	questionLabels = readLabels("questions ")
	summaryLabels  = readLabels("summary ")
	aroundLabels   = readLabels("")

	// raisedLabels are those of questions that stand among thoughts.
	raisedLabels = questionLabels.with(thoughtLabels, "thought", "importance")
)

// with returns labels with those of some parts of others.
func (all labels) with(others labels, names ...string) labels {
	sum := maps.Clone(all)
	for head, name := range others {
		if slices.Contains(names, name) {
			sum[head] = name
		}
	}
	return sum
}

// readLabels reads the lines such as "thoughts type: type, kind" that begin with a form.
func readLabels(form string) labels {
	all := make(labels)
	for line := range strings.Lines(labelsText) {
		name, heads, ok := strings.Cut(line, ":")
		name, of := strings.CutPrefix(name, form)
		if !ok || !of || strings.ContainsAny(name, " #") {
			continue
		}
		for head := range strings.SplitSeq(heads, ",") {
			all[headOf(head)] = name
		}
	}
	return all
}

// of returns what a head means. Words such as "updated" or "score" may stand around it.
func (all labels) of(head string) (string, bool) {
	head = headOf(head)
	for range 3 {
		if name, ok := all[head]; ok {
			return name, true
		}
		first, rest, _ := strings.Cut(head, " ")
		last := head[strings.LastIndexByte(head, ' ')+1:]
		switch {
		case rest == "":
			return "", false
		case aroundLabels[first] == "before":
			head = rest
		case aroundLabels[last] == "behind":
			head = strings.TrimSuffix(head, " "+last)
		default:
			return "", false
		}
	}
	return "", false
}

// headOf returns the words of what may be a label, without numbers and decoration.
func headOf(head string) string {
	words := strings.FieldsFunc(strings.ToLower(fold(head)), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	return strings.Join(words, " ")
}
