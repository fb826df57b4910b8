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
	"ponder/mode/internal/lookup"
	"ponder/mode/internal/runstate"
)

const (
	maxConflicts = 20
	maxDoubts    = 12  // claims for the judge
	maxJudgedBy  = 3   // quotes per claim
	maxShownPart = 600 // bytes of a quote
	judgeTokens  = 1200
)

type draft struct {
	Text       string   `json:"text"`           // with the gathered citations only
	Lead       int      `json:"lead,omitempty"` // leading bytes that the program wrote
	Model      string   `json:"model,omitempty"`
	Unaided    bool     `json:"unaided,omitempty"`
	Why        string   `json:"why,omitempty"` // why no model wrote it, or how it broke off
	Confidence float64  `json:"confidence,omitempty"`
	Removed    []string `json:"removed,omitempty"` // cited but not gathered

	claims []checked // of Text; recomputed by load
}

type checked struct {
	claim.Sentence
	claim.Finding
	judge string
}

func (s *state) check(said, model, cut string) {
	s.Work, s.Looks = nil, nil
	d := draft{Model: model}
	if !s.sourced() && s.opts.SynthesisStrategy == Auto {
		lead := s.nothing() + "\n\n"
		d.Lead, d.Text = len(lead), lead
	}
	if cut != "" {
		d.Why = "the answer " + cut
		said += " …"
	}
	said, d.Removed = claim.Citations(said, s.citable, s.linkable)
	said, long := claim.Bounded(said)
	if !isSaid(said) {
		s.quote("the model gave no answer")
		return
	}
	if d.Text += said; long {
		d.Text += "\n\n(What the model wrote beyond this was cut: it was more than is checked.)"
	}
	s.settleDraft(d)
}

// nothing states that no source supports the answer, and lists the searched places.
func (s *state) nothing() string {
	if !s.gathers() {
		return "No source was searched for this: what follows is what the model says of itself, and is not verified."
	}
	const own = " What follows is what the model says of itself, and is not verified."
	switch r := s.reach(); {
	case !r.looked && len(r.failed) > 0:
		return sentence(r.failed) + " So nothing was looked up." + own
	case !r.looked:
		return unlooked(r.none) + own
	}
	asked := s.queries()
	text := "Nothing was found on this in " + s.places()
	if len(asked) > 0 {
		text += "; it was asked for “" + strings.Join(asked[:min(len(asked), 6)], "”, “") + "”"
	}
	if list := s.unreached(); len(list) > 0 {
		text += "; " + strings.Join(list, " and ") + " could not be searched"
	}
	return text + "." + own
}

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

// settleDraft checks an answer, sends doubtful claims to a judge if allowed, and otherwise
// publishes.
func (s *state) settleDraft(d draft) {
	d.claims = s.verify(d)
	s.putRight(&d)
	s.Draft = &d
	if doubts := d.doubts(); len(doubts) > 0 && s.judges() {
		s.Step = judging
		s.Counts.Judged++
		s.tell(stageAnalysis, "Checking", fmt.Sprintf("Checked %s against the sources; %s.", counted(len(d.claims), "claim", "claims"), counted(len(doubts), "is in doubt", "are in doubt")))
		return
	}
	s.publish()
}

// putRight corrects citations to the quotes that support each sentence.
func (s *state) putRight(d *draft) {
	if d.Unaided {
		return
	}
	var sentences []claim.Sentence
	var cites [][]string
	n := 0
	for _, c := range d.claims {
		ids, ok := c.Sources(c.Sentence)
		ids = slices.DeleteFunc(ids, func(id string) bool { return !s.citable(id) })
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
	d.Text = claim.Recite(d.Text, sentences, cites)
	d.claims = s.verify(*d)
	s.tell(stageAnalysis, "Citations", fmt.Sprintf("Put right what %s.", counted(n, "sentence cites", "sentences cite")))
}

func (s *state) citable(id string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(strings.ToLower(id), "e"))
	return err == nil && 0 < n && n <= len(s.Evidence) && !s.Evidence[n-1].Addressed && !s.banned(s.Evidence[n-1])
}

// linkable reports whether url is exactly the address of a gathered page.
func (s *state) linkable(url string) bool {
	return slices.ContainsFunc(s.Evidence, func(p piece) bool {
		return (lookup.SameAddress(url, p.URL) || lookup.SameAddress(url, p.Source)) && !p.Addressed && !s.banned(p)
	})
}

func (s *state) quotes(pieces []piece) (list []claim.Quote) {
	for _, p := range pieces {
		if !p.Addressed {
			context := strings.TrimSpace(p.Title + ". " + p.Section)
			list = append(list, claim.Quote{ID: p.id(), Text: p.Quote, Context: context, Voice: p.voice(), Published: p.Published})
		}
	}
	return list
}

// verify checks the factual sentences of an answer; without a model, only the cited ones.
func (s *state) verify(d draft) (list []checked) {
	var sentences []claim.Sentence
	for _, c := range claim.Split(d.Text) {
		if c.Factual && c.Start >= d.Lead && (!d.Unaided || len(c.Cites) > 0) {
			sentences = append(sentences, c)
		}
	}
	for i, f := range claim.NewCorpus(s.quotes(s.usable())).VerifyAll(sentences) {
		list = append(list, checked{Sentence: sentences[i], Finding: f})
	}
	return list
}

func (s *state) judges() bool {
	return !s.opts.WithoutModel && !s.Draft.Unaided && s.Effort != trivial && !s.Told && s.End == "" && (s.Calls == 0 || s.Counts.Calls < s.Calls)
}

func (d *draft) doubts() (list []int) {
	for i, c := range d.claims {
		if c.InDoubt() && len(list) < maxDoubts {
			list = append(list, i)
		}
	}
	return list
}

func claimID(i int) string { return "c" + strconv.Itoa(i+1) }

func (s *state) judgeKey() string { return number("judge", s.Counts.Judged) }

// judgement is the answer of a judge. judge.md names its fields.
type judgement struct {
	Verdicts []struct {
		ID      string `json:"id"`
		Verdict string `json:"verdict" jsonschema:"supported, qualified, contradicted or unverified"`
		Reason  string `json:"reason,omitempty" jsonschema:"a few words"`
	} `json:"verdicts"`
}

var judgeSchema = llm.SchemaFor[judgement]("verdicts")

func (s *state) judge() ponder.Action {
	var b strings.Builder
	b.WriteString("<claims>\n")
	for _, i := range s.Draft.doubts() {
		c := s.Draft.claims[i]
		fmt.Fprintf(&b, "%s: %s\n", claimID(i), framed(lookup.Tame(textkit.OneLine(c.Text))))
		for _, q := range c.Quotes[:min(len(c.Quotes), maxJudgedBy)] {
			fmt.Fprintf(&b, "  quote: %s\n", framed(lookup.Defused(lookup.Tame(textkit.TruncateBytes(textkit.OneLine(s.part(q)), maxShownPart)))))
		}
	}
	b.WriteString("</claims>\n")
	key := s.judgeKey()
	return ponder.Call{Key: s.Retry.key(key), Role: s.opts.JudgeRole, Request: s.Retry.requestFor(key, llm.Request{
		System: judgePrompt, Schema: judgeSchema, MaxTokens: judgeTokens, Messages: []llm.Message{llm.Say(llm.User, b.String())},
	})}
}

func (s *state) part(q ponder.Passage) string {
	for _, p := range s.Evidence {
		if p.id() == q.Evidence && 0 <= q.Start && q.Start <= q.End && q.End <= len(p.Quote) {
			return p.Quote[q.Start:q.End]
		}
	}
	return ""
}

// judged applies the verdicts of the judge. An unreadable answer is retried once and then ignored.
func (s *state) judged(b ponder.CallFinished) {
	var said judgement
	if b.Error == "" {
		var err error
		said, err = llm.Decode[judgement](textkit.TruncateBytes(b.Message.Text(), maxAnswer), judgeSchema)
		if err != nil && s.again(s.judgeKey(), s.AskSince, b, err) {
			return
		}
	}
	d := *s.Draft
	d.claims = slices.Clone(d.claims)
	for _, i := range s.Draft.doubts() {
		for _, v := range said.Verdicts {
			if v.ID == claimID(i) {
				c := &d.claims[i]
				verdict := claim.Verdict(strings.ToLower(strings.TrimSpace(v.Verdict)))
				c.Finding, c.judge = c.Finding.Judged(verdict, judgedReason(verdict, b.Model)), b.Model
				break
			}
		}
	}
	s.Draft = &d
	s.publish()
}

// judgedReason describes a verdict without the judge's words, because the judge read untrusted
// text.
func judgedReason(verdict claim.Verdict, model string) string {
	return "a judge (" + safe(model) + ") finds that " + cmp.Or(judgedWords[verdict], "it can't tell")
}

var judgedWords = map[claim.Verdict]string{
	claim.Supported: "a quote says it", claim.Qualified: "the quotes say a part of it, or say it less surely",
	claim.Unverified: "no quote says it", claim.Contradicted: "a quote says otherwise",
}

func (s *state) publish() {
	d := s.Draft
	conflicts := s.conflicts()
	contest(d.claims, conflicts)
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
			if s.citable(id) && !slices.Contains(cites, id) {
				cites = append(cites, id)
			}
		}
	}
	answer, confidence := d.Text, s.confidence()
	if !d.Unaided {
		answer = claim.Mark(d.Text, sentences, findings)
	}
	add = append(add, ponder.Synthesis{
		Content: answer, Confidence: confidence, Cites: cites, Conflicts: conflicts, Removed: d.Removed,
		Final: true, Unaided: d.Unaided, Offset: s.offset(), Model: d.Model,
	})
	n := 0
	s.note("answered", &n, add...)
	why := cmp.Or(s.End, "the answer is written")
	if d.Why != "" {
		why = strings.Join(parts(s.End, d.Why), ", and ")
	}
	s.end(runstate.End{Status: ponder.Completed, Answer: answer, Reason: why, Confidence: confidence})
}

// contest adds contradicting passages of other sources to supported claims.
func contest(claims []checked, conflicts []ponder.Conflict) {
	for i := range claims {
		c := &claims[i]
		if c.Verdict != claim.Supported && c.Verdict != claim.Qualified {
			continue
		}
		for _, k := range conflicts {
			own := slices.IndexFunc(k.Sides, func(side ponder.Side) bool { return meet(side.Quotes, c.Quotes) })
			if own < 0 {
				continue
			}
			for j, side := range k.Sides {
				if j != own && len(side.Quotes) > 0 && !meet(side.Quotes, c.Quotes) {
					c.Against = append(slices.Clip(c.Against), side.Quotes[0])
					c.Reason = strings.TrimSuffix(c.Reason, ".") + "; another source says " + lookup.Tame(textkit.TruncateBytes(textkit.OneLine(side.Value), maxFault/4))
				}
			}
		}
	}
}

func meet(a, b []ponder.Passage) bool {
	return slices.ContainsFunc(a, func(p ponder.Passage) bool {
		return slices.ContainsFunc(b, func(q ponder.Passage) bool { return p.Evidence == q.Evidence && p.Start < q.End && q.Start < p.End })
	})
}

func (s *state) conflicts() []ponder.Conflict {
	list := claim.ConflictsAbout(s.run.Input, s.quotes(notSaidBySearch(s.usable())))
	return list[:min(len(list), maxConflicts)]
}

var verdictCounts = map[claim.Verdict]float64{claim.Supported: 1, claim.Qualified: 0.6, claim.Inference: 0.5, claim.Unverified: 0.1, claim.Contradicted: 0}

// confidence is the mean over claims of the verdict's count times a source factor, from 0.5 for a
// worthless best source to 1. It has two decimals. Without claims it is the confidence of the
// quotations, or 0.1.
func (s *state) confidence() float64 {
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
					worth = max(worth, p.Worth)
				}
			}
		}
		sum += verdictCounts[c.Verdict] * (1 + worth) / 2
	}
	return float64(int(sum/float64(len(d.claims))*100+0.5)) / 100
}
