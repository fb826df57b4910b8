package claim

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

// Scores from which on a claim is supported or qualified, if nothing speaks against it.
const (
	supportedFrom = 0.55
	qualifiedFrom = 0.25
	mostOf        = 0.60 // share of a claim from which on a sentence is of the same thing
)

// Verify checks a claim against the quotes. Those that it cites are preferred, but all
// are looked at.
func (c *Corpus) Verify(s Sentence) Finding {
	v := c.look(s)
	k := v.compare(s.Cites)
	f := k.finding()
	if g, ok := v.plainer(k, s.Cites); ok {
		return g
	}
	if f.Verdict != Supported && f.Verdict != Contradicted && concludes(s.Text) && f.Verdict == Qualified && k.unhurt() {
		f.Verdict, f.Reason = Inference, "it is concluded from what the quotes say"
	}
	return f
}

// maxPlainer is how many further sentences are looked at that may say it plainly.
const maxPlainer = 4

// plainer returns the finding of a sentence that has nearly as much of a claim as the
// best, and says it plainly, where the best means another thing by the same words.
func (v *view) plainer(k *check, cites []string) (Finding, bool) {
	if k.odd == "" {
		return Finding{}, false
	}
	enough := 0.9 * k.windows[0].own
	v.passed = make(map[int]bool)
	for range maxPlainer {
		v.passed[k.windows[0].unit] = true
		k = v.compare(cites)
		if len(k.windows) == 0 || k.windows[0].own < enough {
			break
		}
		if f := k.finding(); f.Verdict == Supported {
			return f, true
		}
	}
	return Finding{}, false
}

// unhurt reports whether nothing was found that speaks against a claim.
func (c *check) unhurt() bool {
	return c.turned == "" && c.rival == "" && c.rough == "" && c.odd == "" && c.lacking == 0 && len(c.missing) == 0
}

// finding returns the verdict of what was found.
func (c *check) finding() Finding {
	if len(c.terms) == 0 && len(c.view.figures)+len(c.days) == 0 {
		return Finding{Verdict: Unverified, Reason: "it has no words to look for"}
	}
	f := Finding{Score: c.features().score()}
	if len(c.windows) == 0 {
		f.Verdict, f.Score, f.Reason = Unverified, 0, "no quote says anything of it"
		return f
	}
	f.Verdict, f.Reason = c.verdict(f.Score)
	f.mismatch, f.part = !c.unhurt() || c.tail != "", c.swap != ""
	c.passages(&f)
	return f
}

// verdict returns the verdict of a score and of what was found, with its reason.
func (c *check) verdict(score float64) (Verdict, string) {
	same := c.against != nil && len(c.missing) == 0 && c.own(c.against) >= mostOf
	switch {
	case c.turned != "" && same:
		return Contradicted, c.turned
	case c.rival != "" && same && c.lacking == 1:
		return Contradicted, c.rival
	case score < qualifiedFrom:
		return Unverified, c.lack()
	}
	if why := c.shortfall(); why != "" {
		return Qualified, why
	}
	if score < supportedFrom {
		return Qualified, c.lack()
	}
	return Supported, "a quote says it"
}

// shortfall returns what keeps a claim from being supported, whatever its score, or "".
func (c *check) shortfall() string {
	switch {
	case c.rival != "":
		return c.rival
	case c.turned != "":
		return c.turned
	case c.absent != "":
		return c.absent
	case len(c.missing) > 0:
		return c.nameless()
	case c.rough != "":
		return c.rough
	case c.odd != "":
		return c.odd
	case c.weaker != "":
		return c.weaker
	case c.tail != "":
		return "no quote says " + c.tail
	}
	return c.swap
}

// nameless says which names no quote has.
func (c *check) nameless() string {
	return "no quote names " + strings.Join(c.missing[:min(3, len(c.missing))], ", ")
}

// lack says what is missing of a claim that too little speaks for.
func (c *check) lack() string {
	if why := c.shortfall(); why != "" {
		return why
	}
	var rest []string
	for i, x := range c.credit {
		if x < 0.5 && len(rest) < 3 {
			rest = append(rest, c.terms[i].fold)
		}
	}
	if len(rest) == 0 {
		return "no quote says it as a whole"
	}
	return "no quote says " + strings.Join(rest, ", ")
}

// passages adds the sentences that a finding rests on, and those that speak against it.
func (c *check) passages(f *Finding) {
	if f.Verdict == Contradicted {
		u := c.against
		if u == nil {
			u = &c.units[c.windows[0].unit]
		}
		f.Against = append(f.Against, c.passage(u))
		return
	}
	for i := range c.windows {
		u := &c.units[c.windows[i].unit]
		if i == 0 || c.windows[i].own >= 0.15 {
			f.Quotes = append(f.Quotes, c.passage(u))
		}
	}
	if c.against != nil {
		f.Against = append(f.Against, c.passage(c.against))
	}
}

func (c *check) passage(u *unit) ponder.Passage {
	return ponder.Passage{Evidence: c.quotes[u.quote].ID, Start: u.start, End: u.end}
}

// doubtful is how far under the boundary of qualified a score may be for a claim to be
// worth asking about.
const doubtful = 0.12

// InDoubt reports whether a judge is worth asking: a quote is of the same thing, nothing
// decides against the claim, and its score is near a boundary.
func (f Finding) InDoubt() bool {
	return (f.Verdict == Unverified || f.Verdict == Qualified) && len(f.Quotes) > 0 && !f.mismatch && f.Score >= qualifiedFrom-doubtful
}

// Judged takes in what a judge says of a claim, within bounds. It may lift a claim only
// if no number, date, name or negation of it is missing in the quotes, and there is a
// quote. It may lower any. It never makes a contradiction of what quotes say in part:
// then, and where it finds one in what is supported, the claim is qualified. What is
// contradicted stays so. An unknown verdict changes nothing.
func (f Finding) Judged(verdict Verdict, reason string) Finding {
	lift := !f.mismatch && len(f.Quotes) > 0
	switch verdict {
	case Supported:
		if lift && (f.Verdict == Unverified || f.Verdict == Qualified) {
			f = f.set(Supported, reason)
		}
	case Qualified:
		if f.Verdict == Supported || f.Verdict == Unverified && lift {
			f = f.set(Qualified, reason)
		}
	case Unverified:
		if f.Verdict == Supported || f.Verdict == Qualified || f.Verdict == Inference {
			f = f.set(Unverified, reason)
		}
	case Contradicted:
		switch {
		case f.Verdict == Supported, f.Verdict == Inference:
			f = f.set(Qualified, reason)
		case f.Verdict == Unverified && len(f.Quotes) > 0:
			f.Against = append(f.Against[:len(f.Against):len(f.Against)], f.Quotes...)
			f.Quotes = nil
			f = f.set(Contradicted, reason)
		}
	}
	return f
}

// maxReason is the most letters of a judge's reason that are kept.
const maxReason = 300

// set sets the verdict, and the score to one that goes with it.
func (f Finding) set(v Verdict, reason string) Finding {
	f.Verdict = v
	if reason = flat(reason); reason != "" {
		f.Reason = textkit.Prefix(reason, maxReason)
	}
	below := math.Nextafter(supportedFrom, 0)
	switch v {
	case Supported:
		f.Score = max(f.Score, supportedFrom)
	case Qualified:
		f.Score = min(max(f.Score, qualifiedFrom), below)
	default:
		f.Score = min(f.Score, math.Nextafter(qualifiedFrom, 0))
	}
	return f
}

// features are what a score is made of, each 0 to 1.
type features struct {
	share   float64 // of the claim's words and figures, those that stand around the best sentence, or at all places
	own     float64 // share of its words that the sentence itself has
	names   float64 // that names are missing
	figures float64 // that figures or dates are missing
	turned  float64 // a negation is on one side only, or places are changed
	weaker  float64 // the source says it less surely, or of less, or a number that is near
}

// weights are those of a logistic regression on 349 claims of Wikipedia and the pages
// they cite (WiCE, the development split; "supported" against the rest), rounded: with
// share, own, names and figures it has an AUROC of 0.80 in five-fold cross-validation,
// where the share of words alone has 0.75. The last two are rare there, and are set so
// that a score falls below what is supported.
var weights = features{share: 3.1, own: 0.6, names: -1.6, figures: -1.0, turned: -1.5, weaker: -0.4}

// bias makes a score 0.5 where a claim is as often supported as not, if as many of all
// are as there.
const bias = -2.1

// factWeight is what a figure or date weighs beside words, the rarest of which weigh 4 to 5.
const factWeight = 5

// features returns what was seen, as numbers.
func (c *check) features() features {
	if len(c.windows) == 0 {
		return features{}
	}
	f := features{share: 0.7*c.share(c.windows[0].credit) + 0.3*c.cover, own: c.windows[0].own, names: grade(len(c.missing)), figures: grade(c.lacking)}
	if n := len(c.view.figures) + len(c.days); n > 0 {
		facts := factWeight * float64(n)
		f.share = (f.share*c.total + facts*float64(n-min(n, c.lacking))/float64(n)) / (c.total + facts)
	}
	if c.turned != "" {
		f.turned = 1
	}
	if c.weaker != "" || c.rough != "" || c.odd != "" {
		f.weaker = 1
	}
	return f
}

// grade returns how much it is that n are missing: most of it that one is.
func grade(n int) float64 { return 1 - math.Exp2(-1.5*float64(n)) }

// score returns how well the quotes bear a claim out.
func (f features) score() float64 {
	sum := bias + f.share*weights.share + f.own*weights.own + f.names*weights.names + f.figures*weights.figures + f.turned*weights.turned + f.weaker*weights.weaker
	return 1 / (1 + math.Exp(-sum))
}

// resembles reports whether a word of the quotes bears a term out.
func (c *check) resembles(i int, id int32) bool {
	return slices.ContainsFunc(c.likes[i], func(l like) bool { return l.id == id })
}

// weakScore is the score under which what is qualified is marked, though nothing in it
// is missing in the quotes.
const weakScore = 0.35

// mark returns what is written behind a claim that is not borne out, or "".
func (f Finding) mark() string {
	switch f.Verdict {
	case Unverified:
		return " [unverified]"
	case Contradicted:
		if len(f.Against) > 0 && isID(f.Against[0].Evidence) {
			return " [contradicted by " + f.Against[0].Evidence + "]"
		}
		return " [contradicted]"
	case Qualified:
		if f.mismatch || f.part || f.Score < weakScore {
			return " [partly supported]"
		}
	}
	return ""
}

// Mark writes into a text, behind each factual sentence that is not borne out, how it
// stands: "[unverified]", "[contradicted by e4]", or "[partly supported]" where a
// number, date, name or more of it is in no quote. Nothing else of the text is changed,
// but that marks are taken out that are there already, so that to mark twice is to mark
// once. The sentences are those of the text by Split, marked or not; a finding belongs
// to the sentence at its place. A sentence that is not in the text is left out.
func Mark(text string, sentences []Sentence, findings []Finding) string {
	bare := Unmark(text)
	var out strings.Builder
	at, next := 0, 0
	for _, place := range Split(bare) {
		i := sentenceAt(sentences, place, next)
		if i < 0 {
			continue
		}
		next = i + 1
		if !place.Factual || i >= len(findings) {
			continue
		}
		m := findings[i].mark()
		if m == "" {
			continue
		}
		end := markPlace(bare, place)
		out.WriteString(bare[at:end])
		out.WriteString(m)
		at = end
	}
	out.WriteString(bare[at:])
	return out.String()
}

// sentenceAt returns which of the sentences from next on is the one at a place, or -1: the
// one of its offsets, or the next that says the same, as offsets of a text that was
// marked are others.
func sentenceAt(sentences []Sentence, place Sentence, next int) int {
	const ahead = 8
	i, ok := slices.BinarySearchFunc(sentences, place.Start, func(s Sentence, start int) int { return s.Start - start })
	if ok && i >= next && sentences[i].Text == place.Text {
		return i
	}
	for i := next; i < min(len(sentences), next+ahead); i++ {
		if sentences[i].Text == place.Text {
			return i
		}
	}
	return -1
}

// markPlace returns where the mark of a sentence goes: behind it, and in a row of a
// table into its last cell.
func markPlace(text string, s Sentence) int {
	said := text[s.Start:s.End]
	if strings.HasPrefix(said, "|") && strings.HasSuffix(said, "|") && len(said) > 1 {
		said = strings.TrimRight(said[:len(said)-1], " \t")
	}
	return s.Start + len(said)
}

// marks are what this package writes into a text, and what a model may write that looks
// like it.
var marks = regexp.MustCompile(`(?i)[ \t]?(?:\*\*|_)?\[(?:un|not )?(?:verified|supported|confirmed|partly supported|partially supported|qualified|inference|contradicted(?: by [a-z]{1,8}[0-9]{1,9}(?:, ?[a-z]{1,8}[0-9]{1,9}){0,20})?)\](?:\*\*|_)?`)

// markAt returns the length of the mark that a text begins with, or 0.
func markAt(s string) int {
	if !strings.HasPrefix(s, "[") {
		return 0
	}
	end := strings.IndexAny(s[1:min(len(s), 300)], "[]\n")
	if end < 0 || s[1+end] != ']' {
		return 0
	}
	if m := marks.FindStringIndex(s[:end+2]); m != nil && m[0] == 0 {
		return m[1]
	}
	return 0
}

// Unmark takes the marks out of a text that Mark writes, and what looks like them: a
// model may have typed them itself.
func Unmark(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	for range 16 {
		next := marks.ReplaceAllString(text, "")
		if next == text {
			return text
		}
		text = next
	}
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}
