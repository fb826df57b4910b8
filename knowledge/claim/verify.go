package claim

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

// Score thresholds of the verdicts, unless a detail speaks against the claim.
const (
	supportedFrom    = 0.55
	qualifiedFrom    = 0.25
	sameSubjectShare = 0.60 // share of a claim from which a sentence has the same subject
)

// Verify checks a claim against all quotes. It prefers the cited ones.
func (c *Corpus) Verify(s Sentence) Finding {
	v := c.matchClaim(s)
	k := v.runChecks(s.Cites)
	f := k.buildFinding()
	if g, ok := v.findPlainer(k, s.Cites); ok {
		return g
	}
	if f.Verdict != Supported && f.Verdict != Contradicted && isConclusion(s.Text) && f.Verdict == Qualified && k.hasNoMismatch() {
		f.Verdict, f.Reason = Inference, "it is concluded from what the quotes say"
	}
	return f
}

const maxPlainer = 4

// findPlainer returns the finding of a plain sentence with almost the support of the best
// one, where the best uses the words in another sense.
func (v *view) findPlainer(k *check, cites []string) (Finding, bool) {
	if k.stanceReason == "" {
		return Finding{}, false
	}
	enough := 0.9 * k.windows[0].own
	v.excluded = make(map[int]bool)
	for range maxPlainer {
		v.excluded[k.windows[0].unit] = true
		k = v.runChecks(cites)
		if len(k.windows) == 0 || k.windows[0].own < enough {
			break
		}
		if f := k.buildFinding(); f.Verdict == Supported {
			return f, true
		}
	}
	return Finding{}, false
}

func (c *check) hasNoMismatch() bool {
	return c.negationReason == "" && c.conflictReason == "" && c.roughReason == "" && c.stanceReason == "" && c.lackingCount == 0 && len(c.missingNames) == 0
}

func (c *check) buildFinding() Finding {
	if len(c.terms) == 0 && len(c.view.figures)+len(c.days) == 0 {
		return Finding{Verdict: Unverified, Reason: "it has no words to look for"}
	}
	f := Finding{Score: c.collectFeatures().logisticScore()}
	if len(c.windows) == 0 {
		f.Verdict, f.Score, f.Reason = Unverified, 0, "no quote says anything of it"
		return f
	}
	f.Verdict, f.Reason = c.chooseVerdict(f.Score)
	f.mismatch, f.part = !c.hasNoMismatch() || c.unsupportedTail != "", c.swapReason != ""
	c.addPassages(&f)
	return f
}

func (c *check) chooseVerdict(score float64) (Verdict, string) {
	same := c.counterUnit != nil && len(c.missingNames) == 0 && c.unitShare(c.counterUnit) >= sameSubjectShare
	switch {
	case c.negationReason != "" && same:
		return Contradicted, c.negationReason
	case c.conflictReason != "" && same && c.lackingCount == 1:
		return Contradicted, c.conflictReason
	case score < qualifiedFrom:
		return Unverified, c.lackReason()
	}
	if why := c.shortfallReason(); why != "" {
		return Qualified, why
	}
	if score < supportedFrom {
		return Qualified, c.lackReason()
	}
	return Supported, "a quote says it"
}

// shortfallReason returns the detail that prevents "supported" at any score, or "".
func (c *check) shortfallReason() string {
	switch {
	case c.conflictReason != "":
		return c.conflictReason
	case c.negationReason != "":
		return c.negationReason
	case c.absentReason != "":
		return c.absentReason
	case len(c.missingNames) > 0:
		return c.missingNamesReason()
	case c.roughReason != "":
		return c.roughReason
	case c.stanceReason != "":
		return c.stanceReason
	case c.weakerReason != "":
		return c.weakerReason
	case c.unsupportedTail != "":
		return "no quote says " + c.unsupportedTail
	}
	return c.swapReason
}

func (c *check) missingNamesReason() string {
	return "no quote names " + strings.Join(c.missingNames[:min(3, len(c.missingNames))], ", ")
}

func (c *check) lackReason() string {
	if why := c.shortfallReason(); why != "" {
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

func (c *check) addPassages(f *Finding) {
	if f.Verdict == Contradicted {
		u := c.counterUnit
		if u == nil {
			u = &c.units[c.windows[0].unit]
		}
		f.Against = append(f.Against, c.unitPassage(u))
		return
	}
	for i := range c.windows {
		u := &c.units[c.windows[i].unit]
		if i == 0 || c.windows[i].own >= 0.15 {
			f.Quotes = append(f.Quotes, c.unitPassage(u))
		}
	}
	if c.counterUnit != nil {
		f.Against = append(f.Against, c.unitPassage(c.counterUnit))
	}
}

func (c *check) unitPassage(u *unit) ponder.Passage {
	return ponder.Passage{Evidence: c.quotes[u.quote].ID, Start: u.start, End: u.end}
}

// doubtMargin is the margin below qualifiedFrom in which a judge is worth a call.
const doubtMargin = 0.12

// NeedsJudge reports whether a judge is worth a call: a quote has the subject, no detail
// decides, and the score is near a threshold.
func (f Finding) NeedsJudge() bool {
	return (f.Verdict == Unverified || f.Verdict == Qualified) && len(f.Quotes) > 0 && !f.mismatch && f.Score >= qualifiedFrom-doubtMargin
}

// ApplyVerdict applies the verdict of a judge within bounds. A judge can lower any claim. It
// can lift a claim only if a quote exists and has every number, date, name and
// negation. It never makes a partly supported claim contradicted: that claim, and a
// supported one that it contradicts, become qualified. A contradicted claim stays
// contradicted. Unknown verdicts are ignored.
func (f Finding) ApplyVerdict(verdict Verdict, reason string) Finding {
	lift := !f.mismatch && len(f.Quotes) > 0
	switch verdict {
	case Supported:
		if lift && (f.Verdict == Unverified || f.Verdict == Qualified) {
			f = f.withVerdict(Supported, reason)
		}
	case Qualified:
		if f.Verdict == Supported || f.Verdict == Unverified && lift {
			f = f.withVerdict(Qualified, reason)
		}
	case Unverified:
		if f.Verdict == Supported || f.Verdict == Qualified || f.Verdict == Inference {
			f = f.withVerdict(Unverified, reason)
		}
	case Contradicted:
		switch {
		case f.Verdict == Supported, f.Verdict == Inference:
			f = f.withVerdict(Qualified, reason)
		case f.Verdict == Unverified && len(f.Quotes) > 0:
			f.Against = append(f.Against[:len(f.Against):len(f.Against)], f.Quotes...)
			f.Quotes = nil
			f = f.withVerdict(Contradicted, reason)
		}
	}
	return f
}

const maxReason = 300

func (f Finding) withVerdict(v Verdict, reason string) Finding {
	f.Verdict = v
	if reason = collapseSpaces(reason); reason != "" {
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

type features struct {
	share    float64 // of words and figures supported by the best sentence and its surroundings, or by all quotes
	own      float64 // of words in the sentence itself
	names    float64 // missing names
	figures  float64 // missing figures or dates
	negation float64 // one-sided negation, or exchanged places
	weaker   float64 // weaker certainty or scope, or a near number
}

// weights are rounded from a logistic regression on 349 claims of Wikipedia and their
// cited pages (WiCE development split; "supported" against the rest). Share, own,
// names and figures reach an AUROC of 0.80 in five-fold cross-validation; the share of
// words alone reaches 0.75. The last two are rare there; their values push a score
// below "supported".
var weights = features{share: 3.1, own: 0.6, names: -1.6, figures: -1.0, negation: -1.5, weaker: -0.4}

// bias puts the score of an evenly supported claim at 0.5, for the class ratio of that
// split.
const bias = -2.1

// factWeight is the weight of a figure or date; the rarest words weigh 4 to 5.
const factWeight = 5

func (c *check) collectFeatures() features {
	if len(c.windows) == 0 {
		return features{}
	}
	f := features{share: 0.7*c.weightedShare(c.windows[0].credit) + 0.3*c.cover, own: c.windows[0].own, names: gradeMissing(len(c.missingNames)), figures: gradeMissing(c.lackingCount)}
	if n := len(c.view.figures) + len(c.days); n > 0 {
		facts := factWeight * float64(n)
		f.share = (f.share*c.total + facts*float64(n-min(n, c.lackingCount))/float64(n)) / (c.total + facts)
	}
	if c.negationReason != "" {
		f.negation = 1
	}
	if c.weakerReason != "" || c.roughReason != "" || c.stanceReason != "" {
		f.weaker = 1
	}
	return f
}

// gradeMissing maps n missing details to 0..1; the first counts most.
func gradeMissing(n int) float64 { return 1 - math.Exp2(-1.5*float64(n)) }

func (f features) logisticScore() float64 {
	sum := bias + f.share*weights.share + f.own*weights.own + f.names*weights.names + f.figures*weights.figures + f.negation*weights.negation + f.weaker*weights.weaker
	return 1 / (1 + math.Exp(-sum))
}

func (c *check) supportsTerm(i int, id int32) bool {
	return slices.ContainsFunc(c.stemMatches[i], func(l stemMatch) bool { return l.id == id })
}

// weakScore is the score below which Mark marks a qualified claim without missing
// details.
const weakScore = 0.35

func (f Finding) verdictMark() string {
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

// Mark writes a mark after each factual sentence without full support: "[unverified]",
// "[contradicted by e4]", or "[partly supported]" if a detail is missing. It removes
// old marks and changes nothing else, so Mark is idempotent. The sentences come from
// Split of the marked or unmarked text; findings have the same indexes. Sentences that
// are not in the text are ignored.
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
		m := findings[i].verdictMark()
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

// sentenceAt returns the index of the sentence at place, from next on, or -1. It
// compares offsets first, then texts, because old marks shift offsets.
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

// markPlace returns the offset of the mark of a sentence: its end, or the end of the
// last cell of a table row.
func markPlace(text string, s Sentence) int {
	said := text[s.Start:s.End]
	if strings.HasPrefix(said, "|") && strings.HasSuffix(said, "|") && len(said) > 1 {
		said = strings.TrimRight(said[:len(said)-1], " \t")
	}
	return s.Start + len(said)
}

// markPattern matches the marks of this package and imitations by models.
var markPattern = regexp.MustCompile(`(?i)[ \t]?(?:\*\*|_)?\[(?:un|not )?(?:verified|supported|confirmed|partly supported|partially supported|qualified|inference|contradicted(?: by [a-z]{1,8}[0-9]{1,9}(?:, ?[a-z]{1,8}[0-9]{1,9}){0,20})?)\](?:\*\*|_)?`)

func markLength(s string) int {
	if !strings.HasPrefix(s, "[") {
		return 0
	}
	end := strings.IndexAny(s[1:min(len(s), 300)], "[]\n")
	if end < 0 || s[1+end] != ']' {
		return 0
	}
	if m := markPattern.FindStringIndex(s[:end+2]); m != nil && m[0] == 0 {
		return m[1]
	}
	return 0
}

// Unmark removes the marks of Mark, and imitations that a model typed.
func Unmark(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	for range 16 {
		next := markPattern.ReplaceAllString(text, "")
		if next == text {
			return text
		}
		text = next
	}
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}
