package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/claim"
	"ponder/mode/internal/hits"
)

// Bounds on the check of an answer.
const (
	maxRemoved   = 40 // citations that are reported
	maxConflicts = 20
)

// A draft is an answer that is being checked.
type draft struct {
	Text       string    `json:"text"` // without citations of what was not gathered
	Model      string    `json:"model,omitempty"`
	Unaided    bool      `json:"unaided,omitempty"`
	Confidence float64   `json:"confidence,omitempty"` // of an answer in quotations
	Removed    []string  `json:"removed,omitempty"`    // citations of what was not gathered
	Claims     []checked `json:"claims,omitempty"`
}

// A checked is a claim and what came of checking it.
type checked struct {
	Sentence claim.Sentence `json:"sentence"`
	Finding  claim.Finding  `json:"finding"`
	Judge    string         `json:"judge,omitempty"` // the model that was asked about it
}

// check checks what a model has written. Cut says that it broke off.
func (s *state) check(said, model string, cut bool) {
	s.Work, s.Looks = nil, nil
	if !s.sourced() && s.opts.SynthesisStrategy == Auto {
		said = s.nothing() + "\n\n" + said
	}
	if cut {
		said += " …"
	}
	s.settleDraft(draft{Text: said, Model: model})
}

// nothing says that nothing was found, and what was asked.
func (s *state) nothing() string {
	if !s.gathers() {
		return "No source was searched for this: what follows is what the model says of itself, and is not verified."
	}
	asked := s.queries()
	text := "Nothing was found on this in " + s.places()
	if len(asked) > 0 {
		text += "; it was asked for “" + strings.Join(asked[:min(len(asked), 6)], "”, “") + "”"
	}
	return text + ". What follows is what the model says of itself, and is not verified."
}

// places says where is looked.
func (s *state) places() string {
	var list []string
	if len(s.opts.Docs) > 0 {
		list = append(list, "the documents")
	}
	if s.opts.Memory {
		list = append(list, "the memory")
	}
	if s.opts.Web {
		list = append(list, "the web")
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	}
	return strings.Join(list, "")
}

// settleDraft checks an answer, has a model asked about what is in doubt, and ends.
func (s *state) settleDraft(d draft) {
	var removed []string
	d.Text, removed = s.cited(d.Text)
	d.Removed = removed
	d.Claims = s.verify(d.Text)
	s.Draft = &d
	s.publish()
}

// cited returns a text without citations of what was not gathered, and those.
func (s *state) cited(answer string) (kept string, removed []string) {
	kept = hits.Cites(answer, func(m string) string {
		said := ""
		for _, n := range idNumbers(m) {
			if s.citable(n) {
				said += fmt.Sprintf("[e%d]", n)
			} else if id := fmt.Sprintf("[e%d]", n); !slices.Contains(removed, id) && len(removed) < maxRemoved {
				removed = append(removed, id)
			}
		}
		if said != "" && strings.TrimLeft(m, " \t") != m {
			said = " " + said
		}
		return said
	})
	return hits.Unnumbered(kept), removed
}

// idNumbers returns the numbers in a citation.
func idNumbers(m string) (list []int) {
	n, in := 0, false
	for _, r := range m + " " {
		switch {
		case '0' <= r && r <= '9' && n < 1<<30:
			n, in = n*10+int(r-'0'), true
		case in:
			list = append(list, n)
			n, in = 0, false
		}
	}
	return list
}

// citable reports whether a number is that of a piece that may be cited.
func (s *state) citable(n int) bool {
	return 0 < n && n <= len(s.Evidence) && !s.Evidence[n-1].Addressed && !s.banned(s.Evidence[n-1])
}

// quotes returns what claims are checked against.
func (s *state) quotes() (list []claim.Quote) {
	for _, p := range s.usable() {
		if !p.Addressed {
			context := strings.TrimSpace(p.Title + ". " + p.Section)
			list = append(list, claim.Quote{ID: p.id(), Text: p.Quote, Context: context, Voice: p.voice(), Published: p.Published})
		}
	}
	return list
}

// verify checks the sentences of an answer that can be right or wrong.
func (s *state) verify(answer string) (list []checked) {
	var sentences []claim.Sentence
	for _, c := range claim.Split(answer) {
		if c.Factual {
			sentences = append(sentences, c)
		}
	}
	for i, f := range claim.NewCorpus(s.quotes()).VerifyAll(sentences) {
		list = append(list, checked{Sentence: sentences[i], Finding: f})
	}
	return list
}

// judgeKey is the key of the call for the judge.
func (s *state) judgeKey() string { return number("judge", s.Counts.Judged) }

// judge returns the call for the judge.
func (s *state) judge() ponder.Action { return ponder.Call{Key: s.judgeKey()} }

// judged takes in what the judge says.
func (s *state) judged(ponder.CallFinished) { s.publish() }

// publish writes the claims and the answer, and ends.
func (s *state) publish() {
	d := s.Draft
	var add []ponder.Body
	var cites []string
	for i, c := range d.Claims {
		f := c.Finding
		add = append(add, ponder.Claim{
			Content: c.Sentence.Text, ID: fmt.Sprintf("c%d", i+1), Start: c.Sentence.Start, End: c.Sentence.End, Cites: c.Sentence.Cites,
			Verdict: string(f.Verdict), Score: f.Score, Quotes: f.Quotes, Against: f.Against, Reason: f.Reason, Judge: c.Judge,
		})
	}
	hits.Cites(d.Text, func(m string) string {
		for _, n := range idNumbers(m) {
			if id := fmt.Sprintf("e%d", n); !slices.Contains(cites, id) {
				cites = append(cites, id)
			}
		}
		return m
	})
	conflicts := claim.ConflictsAbout(s.run.Input, s.quotes())
	confidence := s.confidence()
	answer := d.Text
	add = append(add, ponder.Synthesis{
		Content: answer, Confidence: confidence, Cites: cites, Conflicts: conflicts[:min(len(conflicts), maxConflicts)], Removed: d.Removed,
		Final: true, Unaided: d.Unaided, Offset: s.offset(), Model: d.Model,
	})
	n := 0
	s.note("answered", &n, add...)
	s.end(out{Status: ponder.Completed, Answer: answer, Reason: cmp.Or(s.End, "the answer is written"), Confidence: confidence})
}

// What verdicts count for the confidence.
var verdictCounts = map[claim.Verdict]float64{claim.Supported: 1, claim.Qualified: 0.6, claim.Inference: 0.5, claim.Unverified: 0.1, claim.Contradicted: 0}

// confidence is the mean of what the claims of an answer count (supported 1, qualified
// 0.6, inference 0.5, unverified 0.1, contradicted 0), each times what the best of its
// quotes counts by its source: half for a source of no worth, all for one of the best;
// with one decimal more than people can tell apart. Without claims it is that of the
// quotations, or 0.1.
func (s *state) confidence() float64 {
	d := s.Draft
	if len(d.Claims) == 0 || d.Unaided {
		return cmp.Or(d.Confidence, 0.1)
	}
	sum := 0.0
	for _, c := range d.Claims {
		worth := 0.0
		for _, q := range c.Finding.Quotes {
			for _, p := range s.Evidence {
				if p.id() == q.Evidence {
					worth = max(worth, p.Worth)
				}
			}
		}
		sum += verdictCounts[c.Finding.Verdict] * (1 + worth) / 2
	}
	return float64(int(sum/float64(len(d.Claims))*100+0.5)) / 100
}
