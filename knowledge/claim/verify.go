package claim

import (
	"strings"

	"ponder"
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
