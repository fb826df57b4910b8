package claim

import (
	"regexp"
	"strings"
)

// concluding is what a claim says of itself that is concluded from others.
var concluding = regexp.MustCompile(`(?i)(^|[;,:—–] ?|\band )(so|therefore|thus|hence|consequently|accordingly|it follows that|(this|that|which|these (figures|facts|results|findings)|all (of )?this|taken together,? th(is|ese|ey)) (together )?(suggests?|implies|imply|indicates?|means|points? to)|` +
	`daher|deshalb|daraus folgt|folglich|somit|das (legt nahe|deutet|bedeutet)|dies (legt nahe|deutet|bedeutet)|donc|par conséquent|cela (suggère|implique|signifie|indique)|on peut en (conclure|déduire)|por (lo )?tanto|por consiguiente|esto (sugiere|implica|significa|indica)|así que|因此|所以|したがって)([\s,]|$)`)

// concludes reports whether a claim says of itself that it is concluded.
func concludes(text string) bool {
	m := concluding.FindStringIndex(text)
	return m != nil && !strings.HasPrefix(strings.ToLower(text), "so far")
}

// VerifyAll checks the claims of an answer, in their order, those that are factual; the
// findings of the others are zero. A claim that says of itself that it is concluded, and
// whose words are in claims before it that are supported, is an inference.
func (c *Corpus) VerifyAll(sentences []Sentence) []Finding {
	findings := make([]Finding, len(sentences))
	var ground []Quote
	for i, s := range sentences {
		if !s.Factual {
			continue
		}
		findings[i] = c.Verify(s)
		f := &findings[i]
		switch {
		case f.Verdict == Supported:
			ground = append(ground, Quote{ID: "ground", Text: s.Text})
		case concludes(s.Text) && f.Verdict != Contradicted && f.Verdict != Inference && len(ground) > 0:
			if rests(s, ground) {
				f.Verdict, f.Reason = Inference, "it is concluded from claims that are supported"
			}
		}
	}
	return findings
}

// restsOn is the share of an inference that the claims before it must have.
const restsOn = 0.35

// rests reports whether the words of a claim, its figures and names are in others.
func rests(s Sentence, ground []Quote) bool {
	k := NewCorpus(ground).look(s).compare(nil)
	return len(k.windows) > 0 && k.cover >= restsOn && k.lacking == 0 && len(k.missing) == 0
}
