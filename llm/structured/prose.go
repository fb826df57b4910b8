package structured

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"ponder/internal/textkit"
)

// TrimFence returns text without an enclosing code fence.
func TrimFence(text string) string {
	text = textkit.CleanTrim(text)
	if !strings.HasPrefix(text, "```") {
		return text
	}
	_, text, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "```"))
}

// A block is a paragraph or list item.
type block struct {
	lines  []string
	item   bool
	indent int
}

// Paragraphs returns paragraphs and list items without introductions and refusals; of
// JSON it returns the sentences.
func Paragraphs(text string) (kept []string) {
	if text = TrimFence(text); IsJSON(text) {
		return collectSentences(parseInner(text))
	}
	all := splitBlocks(text)
	for i, b := range all {
		s := strings.TrimSpace(strings.Join(b.lines, "\n"))
		if b.item {
			s = TrimBullet(s)
		}
		leads := i == 0 && (isLead(s) || intro.MatchString(s))
		if strings.ContainsFunc(s, unicode.IsLetter) && !leads && !IsRefusal(s) && !(i == len(all)-1 && len(s) <= maxRefusal && outro.MatchString(s)) {
			kept = append(kept, s)
		}
	}
	return kept
}

// minWords is the least length of a sentence in JSON.
const minWords = 4

func collectSentences(v any) (list []string) {
	switch v := v.(type) {
	case string:
		if s := textkit.CleanTrim(v); len(strings.Fields(s)) >= minWords && !IsJSON(s) {
			list = append(list, s)
		}
	case []any:
		for _, e := range v {
			list = append(list, collectSentences(e)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, collectSentences(v[name])...)
		}
	}
	return list
}

func isLead(s string) bool { return strings.HasSuffix(s, ":") && !strings.Contains(s, "\n") }

// splitBlocks joins a list directly below a paragraph with it, and a block after a colon.
func splitBlocks(text string) (all []*block) {
	gap, code := false, false
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimSpace(line)
		fence := strings.HasPrefix(bare, "```")
		if !code && (bare == "" || isRule(bare)) {
			gap = true
			continue
		}
		n, item := len(all), bullet.MatchString(line)
		indent := len(line) - len(strings.TrimLeftFunc(line, unicode.IsSpace))
		fresh := n == 0
		if n > 0 && !code {
			b := all[n-1]
			leads := strings.HasSuffix(strings.TrimSpace(b.lines[len(b.lines)-1]), ":") && (n > 1 || len(b.lines) > 1 || fence)
			below := b.item && indent > b.indent
			fresh = gap && !below && !((item || fence) && leads) || item && b.item && !below || item && n == 1 && !b.item && len(b.lines) == 1 && intro.MatchString(firstLine(b))
		}
		if fresh {
			all = append(all, &block{item: item, indent: indent})
			n++
		} else if gap {
			all[n-1].lines = append(all[n-1].lines, "")
		}
		all[n-1].lines = append(all[n-1].lines, line)
		gap, code = false, code != fence
	}
	return all
}

func firstLine(b *block) string { return strings.TrimSpace(b.lines[0]) }

// maxRefusal is in bytes.
const maxRefusal = 200

// moreWords matches words that accompany a negation.
const moreWords = `(?:new|further|more|additional|other|remaining|open|unanswered|worthwhile|significant|major|else|to add|to ask|left|relevant|key)`

// Phrases without content, from the start.
var (
	refusal = regexp.MustCompile(`(?i)^(?:(?:i['’]m|i am) (?:very )?sorry,? (?:but )?|sorry,? (?:but )?|unfortunately,? |as an ai[^.]{0,60}, )*(?:i (?:can['’]?t|cannot|can not|am unable to|won['’]?t)|i['’]m (?:unable|not able) to) (?:help|assist|comply|fulfill|do that)\b`)

	emptyAnswer = regexp.MustCompile(`(?i)^(?:(?:(?:there (?:is|are)|i have|i see) )?(?:(?:none|nothing|null|na|n/a|not applicable)|no(?: ` + moreWords + `)* (?:thoughts?|questions?|insights?|ideas?|findings?|observations?))(?: ` + moreWords + `)*(?: (?:to report|remain|remaining|arise|left|open|needed|are needed|come to mind|worth asking|so far|yet|at this time|at this point|at this stage|at the moment|for now))*` +
		`|your thought|the thought|question text|explanation|summary|summary of understanding|key insight|unanswered question|the whole answer|open question|text)$`)

	intro = regexp.MustCompile(`(?i)^(?:(?:sure|certainly|of course|absolutely|okay|ok|great|alright)(?: thing)?[,.!:] ?)?(?:` +
		`(?:here|below|these|the following) (?:are|is)(?: (?:my|some|a|few|couple of|the|your|several|two|three|four|five|\d|distinct|new|additional|further|more|possible))+ [^.\n]{0,40}(?:thought|idea|question)` +
		`|here['’]s what i |(?:could|can) you (?:please )?[^.\n]{0,80}(?:focus|detail|more about|clarif|context))`)

	outro = regexp.MustCompile(`(?i)^(?:i hope (?:this|these|that|it) (?:help|is help|are help|thoughts|answers)|(?:please )?let me know(?: (?:if|how|whether|what|which)|[!.]|$)|(?:please )?feel free to |(?:would|do) you (?:like|want) me to |these thoughts (?:aim|are meant|are intended|offer)` +
		`|if you(?:['’]d| would)? (?:like|want|need)[^.\n]{0,80}(?:let me|feel free|just ask|i can|i['’]d be|i['’]ll))`)
)

// IsRefusal reports whether a text refuses the task.
func IsRefusal(text string) bool { return len(text) <= maxRefusal && refusal.MatchString(text) }

// HasContent reports whether text says anything, unlike words for nothing and prompts'
// placeholders.
func HasContent(text string) bool {
	bare := strings.Trim(text, " .…!-–—*_[]()。")
	return bare != "" && (len(bare) > maxRefusal || !emptyAnswer.MatchString(bare))
}
