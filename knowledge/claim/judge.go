package claim

import "math"

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
		f.Reason = reason[:cut(reason, maxReason)]
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
