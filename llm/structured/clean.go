package structured

import (
	"regexp"
	"slices"
	"strings"
)

// CleanAnswer returns an answer to a question without lines that say nothing of their own, as small
// models write them, and without repetition; see [DropRepeats]. Such lines are labels as "The answer is:",
// tags and sentences of the prompts, labels of passages, and the question itself. Headings, bold lines,
// code and tables stay. An answer without such lines stays as it is. If nothing else is left, it is empty.
func (v *Validator) CleanAnswer(text, question string) string {
	lines := splitLines(text)
	drop := make([]bool, len(lines))
	leads, after := true, false // nothing came yet; the line above was dropped
	changed, data := false, v.hasMembers(lines)
	for i := range lines {
		if !lines[i].isFixed && lines[i].trimLabel() {
			changed = true
		}
		l := lines[i]
		if l.bare == "" {
			continue
		}
		if data && !l.isFixed && (v.isMember(l.bare) || onlySigns.MatchString(l.bare)) {
			drop[i], after = true, true
			continue
		}
		after = !l.isFixed && (v.isJunkLine(l.bare, question) || leads && v.isLead(l.bare, question) || (after || leads) && isOnlyMarks(l.bare))
		drop[i], leads = after, leads && after
	}
	if !changed && !slices.Contains(drop, true) {
		return DropRepeats(text)
	}
	return DropRepeats(joinKept(lines, drop))
}

// isLead reports whether a line before an answer is only a label or the question.
func (v *Validator) isLead(line, question string) bool {
	isLabel := strings.HasSuffix(strings.Trim(line, " *_"), ":") && isOnlyLabels(splitWords(line))
	return isLabel || v.IsQuestion(line, question)
}

// hasMembers reports whether lines have members of the requested JSON.
func (v *Validator) hasMembers(lines []textLine) bool {
	return slices.ContainsFunc(lines, func(l textLine) bool { return !l.isFixed && v.isMember(l.bare) })
}

// isMember reports whether a line begins with a member of the requested JSON, or has several.
func (v *Validator) isMember(line string) bool {
	if !strings.Contains(line, ":") {
		return false
	}
	line, n := inlineCode.ReplaceAllString(line, ""), 0
	for _, m := range memberName.FindAllStringSubmatchIndex(line, -1) {
		if v.members[line[m[2]:m[3]]] {
			n++
			if onlySigns.MatchString(line[:m[0]]) {
				return true
			}
		}
	}
	return n > 1
}

// trimLabel removes a label of the text form from the start of a line, and the line if its value says
// nothing alone. It reports whether there was one.
func (l *textLine) trimLabel() bool {
	if m := thoughtMark.FindStringSubmatchIndex(l.bare); m != nil {
		l.bare = l.bare[:m[3]] + l.bare[m[1]:]
		l.text = keepEnd(l.bare, l.text)
		return true
	}
	m := formLabel.FindStringSubmatchIndex(l.bare)
	if m == nil {
		return false
	}
	rest := l.bare[m[1]:]
	if formValues[l.bare[m[2]:m[3]]] {
		rest = ""
	}
	if l.bare = rest; rest == "" {
		l.text = ""
	} else {
		l.text = keepEnd(rest, l.text)
	}
	return true
}

// minPromptLine is the number of words from which a line of a prompt is junk in an answer.
const minPromptLine = 5

// isJunkLine reports whether a line of an answer says nothing of its own.
func (v *Validator) isJunkLine(line, question string) bool {
	if line[0] == '#' || strings.HasPrefix(TrimBullet(line), "**") {
		return false
	}
	words := splitWords(line)
	bare := TrimBullet(line)
	switch {
	case tagLine.MatchString(bare):
		return v.tags[words[0]] || isAnswerLabel(words)
	case timelineLine.MatchString(bare):
		return true
	case strings.HasSuffix(bare, ":"):
		return isAnswerLabel(words) || len(words) > 1 && v.holders[joinWords(words)]
	case rangeHolder.MatchString(bare), idAndLabel.MatchString(bare):
		return true
	case len(words) >= minPromptLine && v.grams[joinWords(words[:gramWords])] && v.isInPrompt(joinWords(words)):
		return true
	}
	return question != "" && line == bare && slices.Equal(words, splitWords(question))
}

func (v *Validator) isInPrompt(said string) bool {
	return slices.ContainsFunc(v.prompts, func(p string) bool { return strings.Contains(p, said) })
}

// isAnswerLabel reports whether words are a label such as "the answer to the question is".
func isAnswerLabel(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !answerLabels[w] }) &&
		slices.ContainsFunc(words, func(w string) bool { return labelNouns[w] })
}

var (
	labelNouns   = newWordSet("question answer response output focus thought synthesis")
	answerLabels = newWordSet("question answer response output focus thought synthesis the a an is are to of my your this that user s original current main final format json")
)

var (
	memberName = regexp.MustCompile(`"([A-Za-z_]+)"\s*:`)
	inlineCode = regexp.MustCompile("`[^`]*`")
	formLabel  = regexp.MustCompile(`^[-*>\s]{0,3}(THOUGHT|TYPE|CONFIDENCE|IMPORTANCE|CITES|QUESTION|PRIORITY|WHY|RANK|SYNTHESIS|INSIGHTS|REMAINING|ANSWER)\s*:\s*`)
	formValues = map[string]bool{"TYPE": true, "CONFIDENCE": true, "IMPORTANCE": true, "CITES": true, "PRIORITY": true, "RANK": true}

	// timelineLine matches lines of a prompt that introduce thoughts and questions.
	timelineLine = regexp.MustCompile(`^(?:Thoughts on (?:the question|\[q\d+\].*):|New question \[q\d+\]:.*|Current focus:.*)$`)
	// thoughtMark matches the mark of a thought in a prompt, such as "- [insight 0.70] ".
	thoughtMark = regexp.MustCompile(`^([-*>\s]{0,3})\[(?:exploration|critique|connection|insight|question|synthesis)(?: \d+(?:\.\d+)?)?\]\s+`)

	tagName = regexp.MustCompile(`</?([a-z]+)>`)
	tagLine = regexp.MustCompile(`^</?[A-Za-z][A-Za-z_ -]*>$`)
	// rangeHolder matches a placeholder for a number, perhaps cut, which models fill with any numbers.
	rangeHolder = regexp.MustCompile(`^\[\d+\.\d+\s*-\s*(?:\d+\.\d+\]|\d*\.?\d*)$`)
	// idAndLabel matches the id and label of a passage without its text, and labelOnly a label alone.
	idAndLabel = regexp.MustCompile(`^\[[eq]\d{1,6}\][\s:.,-]*\([^()\n]*\)[.\s]*$`)
	labelOnly  = regexp.MustCompile(`^(?:\[?[eq]\d{1,6}\]?[\s:.,-]*)*\(([^()\n]*)\)[.\s]*$`)
	onlyMarks  = regexp.MustCompile(`^(?:\[[eq]?\d{1,6}\][\s,;.]*)+$`)
)

// isPassageLabel reports whether a text is only the label of a passage, such as "[e2] (Leases, Reasons)".
func isPassageLabel(text string) bool {
	m := labelOnly.FindStringSubmatch(strings.TrimSpace(text))
	return m != nil && !sentenceEnd.MatchString(m[1]+" ")
}

func isOnlyMarks(line string) bool { return onlyMarks.MatchString(TrimBullet(line)) }
