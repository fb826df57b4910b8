package research

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
	"ponder/llm"
	"ponder/llm/structured"
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxConflicts   = 20
	maxDoubts      = 12  // claims for the judge
	maxJudgeQuotes = 3   // quotes per claim
	maxShownPart   = 600 // bytes of a quote
	judgeTokens    = 1200
)

type draft struct {
	Text       string   `json:"text"`           // with the gathered citations only
	Lead       int      `json:"lead,omitempty"` // leading bytes that the program wrote
	Model      string   `json:"model,omitempty"`
	Unaided    bool     `json:"unaided,omitempty"`
	Refused    bool     `json:"refused,omitempty"` // the budget refused the call for the answer
	Why        string   `json:"why,omitempty"`     // why no model wrote it, or how it broke off
	Confidence float64  `json:"confidence,omitempty"`
	Removed    []string `json:"removed,omitempty"` // cited but not gathered

	claims []checkedClaim // of Text; recomputed by load
}

type checkedClaim struct {
	claim.Sentence
	claim.Finding
	judge string
}

func (s *state) checkAnswer(said, model, cut string) {
	s.Work, s.Lookups = nil, nil
	d := draft{Model: model}
	if !s.hasSources() && s.opts.SynthesisStrategy == Auto {
		lead := s.unsourcedNotice() + "\n\n"
		d.Lead, d.Text = len(lead), lead
	}
	if cut != "" {
		d.Why = "the answer " + cut
		said += " …"
	}
	said, d.Removed = claim.CleanCitations(said, s.isCitable, s.isLinkable)
	said, long := claim.CheckedPart(structured.DropRepeats(said)) // sentences may have differed in citations only
	if !hasText(said) {
		s.answerWithQuotes("the model returned no answer")
		return
	}
	if d.Text += said; long {
		d.Text += "\n\n(The rest of the model's text was cut, because it exceeds the limit for checks.)"
	}
	s.settleDraft(d)
}

// unsourcedNotice states that no source supports the answer, and lists the searched places.
func (s *state) unsourcedNotice() string {
	if !s.canGather() {
		return "No source was searched. The following answer comes from the model alone and is not verified."
	}
	const own = " The following answer comes from the model alone and is not verified."
	switch r := s.sourceCoverage(); {
	case !r.searched && len(r.failed) > 0:
		return failedSentence(r.failed) + " So no search was made." + own
	case !r.searched:
		return notSearchedText(r.whyNotSearched) + own
	}
	asked := s.askedQueries()
	text := "Nothing found about this in " + s.placeList()
	if len(asked) > 0 {
		text += "; searched for “" + strings.Join(asked[:min(len(asked), 6)], "”, “") + "”"
	}
	if list := s.failedPlaces(); len(list) > 0 {
		text += "; " + strings.Join(list, " and ") + " could not be searched"
	}
	return text + "." + own
}

func (s *state) placeList() string {
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

// settleDraft checks an answer, sends doubtful claims to a judge if allowed, and otherwise
// publishes.
func (s *state) settleDraft(d draft) {
	d.claims = s.verifyDraft(d)
	s.quoteWindows(&d)
	s.correctCitations(&d)
	s.Draft = &d
	if doubts := d.doubtfulClaims(); len(doubts) > 0 && s.shouldJudge() {
		s.Step = judging
		s.Counts.Judged++
		s.notifyUser(stageAnalysis, "Checking", fmt.Sprintf("Checked %s against the sources; %s.", formatCount(len(d.claims), "claim", "claims"), formatCount(len(doubts), "is in doubt", "are in doubt")))
		return
	}
	s.publishAnswer()
}

// correctCitations corrects citations to the quotes that support each sentence, and adds missing ones.
func (s *state) correctCitations(d *draft) {
	if d.Unaided {
		return
	}
	var sentences []claim.Sentence
	var cites [][]string
	n := 0
	for _, c := range d.claims {
		ids, ok := c.Sources(c.Sentence)
		ids = slices.DeleteFunc(ids, func(id string) bool { return !s.isCitable(id) })
		if !ok || len(ids) == 0 {
			ids = nil
		} else {
			n++
		}
		sentences, cites = append(sentences, c.Sentence), append(cites, ids)
	}
	if n == 0 {
		return
	}
	d.Text = claim.ReplaceCitations(d.Text, sentences, cites)
	judged := d.claims
	d.claims = s.verifyDraft(*d)
	for i := range d.claims {
		if len(d.claims) == len(judged) && judged[i].judge != "" {
			d.claims[i].Finding, d.claims[i].judge = judged[i].Finding, judged[i].judge
		}
	}
	s.notifyUser(stageAnalysis, "Citations", fmt.Sprintf("Corrected the citations of %s.", formatCount(n, "sentence", "sentences")))
}

func (s *state) isCitable(id string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.ToLower(id), "e"))
	return err == nil && 0 < n && n <= len(s.Evidence) && !s.Evidence[n-1].Addressed && !s.isBanned(s.Evidence[n-1])
}

// isLinkable reports whether url is exactly the address of a gathered page.
func (s *state) isLinkable(url string) bool {
	return slices.ContainsFunc(s.Evidence, func(p piece) bool {
		return (lookup.SameAddress(url, p.URL) || lookup.SameAddress(url, p.Source)) && !p.Addressed && !s.isBanned(p)
	})
}

func (s *state) claimQuotes(pieces []piece) (list []claim.Quote) {
	for _, p := range pieces {
		if !p.Addressed {
			context := strings.TrimSpace(p.Title + ". " + p.Section)
			list = append(list, claim.Quote{ID: p.id(), Text: p.Quote, Context: context, Voice: p.voiceKey(), Published: p.Published})
		}
	}
	return list
}

// verifyDraft checks the factual sentences of an answer; without a model, only the cited ones.
func (s *state) verifyDraft(d draft) (list []checkedClaim) {
	var sentences []claim.Sentence
	for _, c := range claim.Split(d.Text) {
		if c.Factual && c.Start >= d.Lead && (!d.Unaided || len(c.Cites) > 0) {
			sentences = append(sentences, c)
		}
	}
	for i, f := range claim.NewCorpus(s.claimQuotes(s.usableEvidence())).VerifyAll(sentences) {
		list = append(list, checkedClaim{Sentence: sentences[i], Finding: f})
	}
	return list
}

func (s *state) shouldJudge() bool {
	return !s.opts.WithoutModel && !s.Draft.Unaided && s.Effort != trivial && !s.BudgetSpent && s.StopReason == "" && (s.Calls == 0 || s.Counts.Calls < s.Calls)
}

func (d *draft) doubtfulClaims() (list []int) {
	for i, c := range d.claims {
		if c.NeedsJudge() && len(list) < maxDoubts {
			list = append(list, i)
		}
	}
	return list
}

func claimID(i int) string { return "c" + strconv.Itoa(i+1) }

func (s *state) judgeKey() string { return numberedKey("judge", s.Counts.Judged) }

// judgement is the answer of a judge. judge.md names its fields.
type judgement struct {
	Verdicts []struct {
		ID      string `json:"id" bounds:"2"`
		Verdict string `json:"verdict" enum:"supported,qualified,contradicted,unverified"`
		Reason  string `json:"reason,omitempty"`
	} `json:"verdicts" bounds:"0,12"`
}

var (
	judgeSchema = llm.SchemaFor[judgement]("verdicts")
	judgeReader = structured.New[judgement](judgeSchema)
)

func (s *state) judgeCall() ponder.Call {
	var b strings.Builder
	b.WriteString("<claims>\n")
	for _, i := range s.Draft.doubtfulClaims() {
		c := s.Draft.claims[i]
		fmt.Fprintf(&b, "%s: %s\n", claimID(i), escapeFrame(lookup.Sanitize(textkit.OneLine(c.Text))))
		for _, q := range c.Quotes[:min(len(c.Quotes), maxJudgeQuotes)] {
			fmt.Fprintf(&b, "  quote: %s\n", escapeFrame(lookup.DefuseCitations(lookup.Sanitize(textkit.TruncateBytes(textkit.OneLine(s.quotePart(q)), maxShownPart)))))
		}
	}
	b.WriteString("</claims>\n")
	key := s.judgeKey()
	return ponder.Call{Key: s.Retry.attemptKey(key), Role: s.opts.JudgeRole, Request: s.Retry.requestFor(key, s.newRequest(&b, judgePrompt, judgeSchema, judgeTokens))}
}

func (s *state) quotePart(q ponder.Passage) string {
	for _, p := range s.Evidence {
		if p.id() == q.Evidence && 0 <= q.Start && q.Start <= q.End && q.End <= len(p.Quote) {
			return p.Quote[q.Start:q.End]
		}
	}
	return ""
}

// applyVerdicts applies the verdicts of the judge. An unreadable answer is retried once and then ignored.
func (s *state) applyVerdicts(b ponder.CallFinished) {
	var said judgement
	if b.Error == "" {
		text, ok := answerText(&b), false
		if said, ok = judgeReader.Read(text); !ok && s.retryAnswer(s.judgeKey(), s.AskSince, b, judgeReader.Fault(text, "there are no verdicts in the answer")) {
			return
		}
	}
	d := *s.Draft
	d.claims = slices.Clone(d.claims)
	for _, i := range s.Draft.doubtfulClaims() {
		for _, v := range said.Verdicts {
			if v.ID == claimID(i) {
				c := &d.claims[i]
				verdict := claim.Verdict(strings.ToLower(strings.TrimSpace(v.Verdict)))
				c.Finding, c.judge = c.Finding.ApplyVerdict(verdict, verdictReason(verdict, b.Model)), b.Model
				break
			}
		}
	}
	s.Draft = &d
	s.publishAnswer()
}

// verdictReason describes a verdict without the judge's words, because the judge read untrusted
// text.
func verdictReason(verdict claim.Verdict, model string) string {
	return "the judge (" + safeText(model) + ") reports: " + cmp.Or(verdictWords[verdict], "undecided")
}

var verdictWords = map[claim.Verdict]string{
	claim.Supported: "a quote says it", claim.Qualified: "the quotes state only a part of it, or with less certainty",
	claim.Unverified: "no quote says it", claim.Contradicted: "a quote contradicts it",
}

func (s *state) publishAnswer() {
	d := s.Draft
	s.correctCitations(d) // a judge may have confirmed sentences without citations
	conflicts := s.findConflicts()
	addContradictions(d.claims, conflicts)
	var add []ponder.Body
	var cites []string
	var sentences []claim.Sentence
	var findings []claim.Finding
	for i, c := range d.claims {
		add = append(add, ponder.Claim{
			Content: c.Text, ID: claimID(i), Start: c.Start, End: c.End, Cites: c.Cites, Verdict: string(c.Verdict), Score: c.Score,
			Quotes: c.Quotes, Against: c.Against, Reason: c.Reason, Judge: c.judge,
		})
		sentences, findings = append(sentences, c.Sentence), append(findings, c.Finding)
	}
	for _, c := range claim.Split(d.Text) {
		for _, id := range c.Cites {
			if s.isCitable(id) && !slices.Contains(cites, id) {
				cites = append(cites, id)
			}
		}
	}
	answer, confidence := d.Text, s.answerConfidence()
	if !d.Unaided {
		answer = claim.Mark(d.Text, sentences, findings)
	}
	add = append(add, ponder.Synthesis{
		Content: answer, Confidence: confidence, Cites: cites, Conflicts: conflicts, Removed: d.Removed,
		Final: true, WithoutModel: d.Unaided && !d.Refused, Refused: d.Refused, Offset: s.elapsedSeconds(), Model: d.Model,
	})
	n := 0
	s.queueWrite("answered", &n, add...)
	why := s.endReason()
	s.endRun(runstate.End{Status: ponder.Completed, Answer: answer, Reason: why.Text, Code: why.Code, Confidence: confidence})
}

// stopCause returns why no further look was made, if there is a reason. A budget that was reached
// takes precedence, because its event was shown as the reason.
func (s *state) stopCause() runstate.Reason {
	return s.ReachedLimit.Or(runstate.Reason{Code: s.StopCode, Text: s.StopReason}).Or(runstate.Reason{})
}

func (s *state) endReason() runstate.Reason {
	d, cause := s.Draft, s.stopCause()
	why := cause.Or(runstate.Reason{Code: ponder.EndComplete, Text: "the answer is complete"}).WithMaterial(len(s.usableEvidence()), "passage", "passages")
	switch {
	case d.Why == "" || d.Refused:
	case d.Unaided:
		why = runstate.Reason{Code: ponder.EndModelFailed, Text: strings.Join(nonEmpty(cause.Text, d.Why), ", and ")}
	default:
		why.Text = strings.Join(nonEmpty(cause.Text, d.Why), ", and ")
	}
	return why
}

// addContradictions adds contradicting passages of other sources to supported claims.
func addContradictions(claims []checkedClaim, conflicts []ponder.Conflict) {
	for i := range claims {
		c := &claims[i]
		if c.Verdict != claim.Supported && c.Verdict != claim.Qualified {
			continue
		}
		for _, k := range conflicts {
			own := slices.IndexFunc(k.Sides, func(side ponder.Side) bool { return passagesOverlap(side.Quotes, c.Quotes) })
			if own < 0 {
				continue
			}
			for j, side := range k.Sides {
				if j != own && len(side.Quotes) > 0 && !passagesOverlap(side.Quotes, c.Quotes) {
					c.Against = append(slices.Clip(c.Against), side.Quotes[0])
					c.Reason = strings.TrimSuffix(c.Reason, ".") + "; another source states " + lookup.Sanitize(textkit.TruncateBytes(textkit.OneLine(side.Value), maxFault/4))
				}
			}
		}
	}
}

func passagesOverlap(a, b []ponder.Passage) bool {
	return slices.ContainsFunc(a, func(p ponder.Passage) bool {
		return slices.ContainsFunc(b, func(q ponder.Passage) bool { return p.Evidence == q.Evidence && p.Start < q.End && q.Start < p.End })
	})
}

func (s *state) findConflicts() []ponder.Conflict {
	list := claim.ConflictsAbout(s.run.Input, s.claimQuotes(dropSnippets(s.usableEvidence())))
	return list[:min(len(list), maxConflicts)]
}

var verdictCounts = map[claim.Verdict]float64{claim.Supported: 1, claim.Qualified: 0.6, claim.Inference: 0.5, claim.Unverified: 0.1, claim.Contradicted: 0}

// answerConfidence is the mean over claims of the verdict's count times a source factor, from 0.5 for a
// worthless best source to 1. It has two decimals. Without claims it is the confidence of the
// quotations, or 0.1.
func (s *state) answerConfidence() float64 {
	d := s.Draft
	if len(d.claims) == 0 || d.Unaided {
		return cmp.Or(d.Confidence, 0.1)
	}
	sum := 0.0
	for _, c := range d.claims {
		worth := 0.0
		for _, q := range c.Quotes {
			for _, p := range s.Evidence {
				if p.id() == q.Evidence {
					worth = max(worth, p.SourceWeight)
				}
			}
		}
		sum += verdictCounts[c.Verdict] * (1 + worth) / 2
	}
	return float64(int(sum/float64(len(d.claims))*100+0.5)) / 100
}
