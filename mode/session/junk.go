package session

import (
	"regexp"
	"strings"
)

// more are words that may stand beside what there is none of.
const more = `(?:new|further|more|additional|other|remaining|open|unanswered|worthwhile|significant|major|else|to add|to ask|left|relevant|key)`

// maxJunk is how long a sentence may be that is taken for none of the thoughts, in bytes.
const maxJunk = 200

// What models write where they have nothing to say, or around what they say. All match
// from the beginning, and what they match is short: a thought that happens to begin so
// goes on.
var (
	nothing = regexp.MustCompile(`(?i)^(?:(?:there (?:is|are)|i have|i see) )?(?:(?:none|nothing|n/a|not applicable)|no(?: ` + more + `)* (?:thoughts?|questions?|insights?|ideas?))(?: ` + more + `)*(?: (?:remain|remaining|arise|left|open|needed|are needed|come to mind|worth asking|so far|yet|at this time|at this point|at this stage|at the moment|for now))*$`)

	// nothings are what all that nothing matches begins with.
	nothings = []string{"no", "n/a", "there ", "i "}

	// echoes are what the prompts have in the place of what is wanted.
	echoes = []string{"your thought", "the thought", "question text", "explanation", "summary of understanding", "key insight", "unanswered question", "the whole answer", "open question"}

	intro = regexp.MustCompile(`(?i)^(?:(?:sure|certainly|of course|absolutely|okay|ok|great|alright)(?: thing)?[,.!:] ?)?(?:` +
		`(?:here|below|these|the following) (?:are|is)(?: (?:my|some|a|few|couple of|the|your|several|two|three|four|five|\d|distinct|new|additional|further|more|possible))+ [^.\n]{0,40}(?:thought|idea|question)` +
		`|here['’]s what i |(?:could|can) you (?:please )?[^.\n]{0,80}(?:focus|detail|more about|clarif|context))`)

	outro = regexp.MustCompile(`(?i)^(?:i hope (?:this|these|that|it) (?:help|is help|are help|thoughts|answers)|(?:please )?let me know(?: (?:if|how|whether|what|which)|[!.]|$)|(?:please )?feel free to |(?:would|do) you (?:like|want) me to |these thoughts (?:aim|are meant|are intended|offer)` +
		`|if you(?:['’]d| would)? (?:like|want|need)[^.\n]{0,80}(?:let me|feel free|just ask|i can|i['’]d be|i['’]ll))`)

	// asksNone matches an answer that says that there is nothing to ask.
	asksNone = regexp.MustCompile(`(?i)^(?:there (?:is|are) )?(?:no|none|nothing)\b[^?\n]{0,160}(?:question|ask|explore|new|arise|added?)`)
)

// said reports whether a text says anything. What models write where they have
// nothing to say does not, and nor does what was to be filled in.
func said(text string) bool {
	bare := strings.Trim(text, " .…!-–—*_[]()。")
	if bare == "" || strings.EqualFold(bare, "null") || strings.EqualFold(bare, "na") {
		return false
	}
	return len(bare) > maxJunk || !isNothing(bare) && !isEcho(bare)
}

// isNothing reports whether a text says that there is nothing to say.
func isNothing(text string) bool {
	for _, s := range nothings {
		if len(text) >= len(s) && strings.EqualFold(text[:len(s)], s) {
			return nothing.MatchString(text)
		}
	}
	return false
}

// isEcho reports whether a text is what was to be filled in.
func isEcho(text string) bool {
	for _, s := range echoes {
		if strings.EqualFold(text, s) {
			return true
		}
	}
	return false
}

// isIntro reports whether a text leads to thoughts.
func isIntro(text string) bool { return len(text) <= maxJunk && intro.MatchString(text) }

// isOutro reports whether a text is for whoever reads the thoughts.
func isOutro(text string) bool { return len(text) <= maxJunk && outro.MatchString(text) }

// asksNothing reports whether an answer to the question for questions says that there are
// none.
func asksNothing(text string) bool {
	text = unfenced(text)
	if _, _, rest, ok := labelled(text, questionLabels); ok {
		text = rest
	}
	return text != "" && (!said(text) || len(text) <= maxJunk && asksNone.MatchString(text))
}
