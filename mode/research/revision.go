package research

import (
	"encoding/json"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/steerstate"
)

// revision is a section of an earlier answer that a model rewrites from the same evidence.
type revision struct {
	ponder.SteerSection
	Instruction string `json:"instruction,omitempty"`
}

const (
	revisionReason = "a section was rewritten from the same evidence"
	maxInstruction = 2 << 10 // bytes
)

// applyRevision starts to rewrite a section, or refuses. The fork of a research is at that point.
func (s *state) applyRevision(id string, b ponder.Steer) {
	r := s.startRevision(b)
	ack := ponder.Progress{Content: r.Text, Stage: ponder.StageSteered, Label: string(b.Do), Ref: id, Refused: r.Refused}
	s.queueWrite("steered", &s.Counts.Steered, ack)
}

func (s *state) startRevision(b ponder.Steer) steerstate.Result {
	var part ponder.SteerSection
	switch {
	case s.Step == done:
		return steerstate.Refuse("the research has ended")
	case s.opts.WithoutModel || s.opts.SynthesisStrategy == Never:
		return steerstate.Refuse("a section is rewritten by a model, and this research has none")
	case json.Unmarshal(b.Args, &part) != nil || !hasText(part.Section):
		return steerstate.Refuse("no section given")
	case len(part.Before)+len(part.Section)+len(part.After) > maxAnswer:
		return steerstate.Refuse("the answer has more than %d bytes", maxAnswer)
	}
	for _, text := range []*string{&part.Before, &part.Section, &part.After} {
		*text = strings.TrimSpace(fakeMarks.ReplaceAllString(textkit.Clean(*text), ""))
	}
	s.Revision = &revision{part, textkit.TruncateBytes(textkit.CleanTrim(b.Content), maxInstruction)}
	s.Draft, s.StopReason, s.Planning, s.Lookups = nil, revisionReason, false, nil
	s.startAnswer()
	return steerstate.Done("the section is being rewritten")
}

// draftPrompt returns the prompt for the answer or for the section of a revision.
func (s *state) draftPrompt() string {
	r := s.Revision
	if r == nil {
		return s.answerPrompt()
	}
	var b strings.Builder
	b.WriteString("The question:\n<question>\n" + escapeFrame(textkit.TruncateBytes(textkit.CleanTrim(s.run.Input), maxAsked)) + "\n</question>\n")
	s.writeFacts(&b)
	b.WriteString("\n" + s.evidencePack())
	s.writeConflicts(&b)
	b.WriteString("\nThe answer so far. Only the section in its own frame is to be rewritten:\n<answer>\n" + escapeFrame(r.Before) + "\n<section>\n" + escapeFrame(r.Section) + "\n</section>\n" + escapeFrame(r.After) + "\n</answer>\n")
	b.WriteString("\nRewrite the section from the evidence above")
	if r.Instruction != "" {
		b.WriteString(". The user wants: " + escapeFrame(textkit.OneLine(r.Instruction)))
	} else {
		b.WriteString(", clearer and more precise")
	}
	b.WriteString("\nReturn only the new text of the section, in Markdown, with its heading if it has one. End each sentence that states a fact with the ids of the passages that support it. Do not repeat the rest of the answer.\n")
	return b.String()
}

// mergeRevision returns the whole answer with the new text of the section.
func (s *state) mergeRevision(said string) string {
	r := s.Revision
	if r == nil {
		return said
	}
	said = strings.TrimSpace(sectionFrame.Replace(said))
	if heading, _, _ := strings.Cut(r.Section, "\n"); strings.HasPrefix(heading, "#") && !strings.HasPrefix(said, "#") {
		said = heading + "\n\n" + said
	}
	var parts []string
	for _, part := range []string{r.Before, said, r.After} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n")
}

// sectionFrame removes a frame that a model repeats.
var sectionFrame = strings.NewReplacer("<section>", "", "</section>", "", "‹section›", "", "‹/section›", "")
