package claim

import (
	"math"
	"ponder/internal/textkit"
	"slices"
)

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
