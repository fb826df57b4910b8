package taint

import "ponder"

// AddEvent adds the text of an event that becomes part of the context of a model. Results of tools
// have [Context.AddResult].
func (c Context) AddEvent(ev ponder.Event) Context {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		if len(b.Decisions) == 0 {
			c = c.AddMessage(b.Content)
		}
		for _, m := range b.Media {
			c = c.AddSource("attached file "+m.Name, ev.Seq)
		}
	case ponder.AttachmentAdded:
		if ev.Run == "" && b.Content != "" {
			c = c.AddSource("attached file "+b.Name, ev.Seq)
		}
	case ponder.AssistantMessage:
		if ev.Run == "" {
			c = c.AddSource("imported answer", ev.Seq)
		}
	case ponder.Observation:
		if b.Untrusted {
			c = c.AddSource("observation of the subconscious", ev.Seq)
		}
	case ponder.InnerMonologue:
		if b.Untrusted || len(b.Sources) > 0 {
			c = c.AddSource("reflection on untrusted text", ev.Seq)
		}
	}
	return c
}
