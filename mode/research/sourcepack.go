package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

const (
	maxPack    = 28 << 10 // bytes of evidence per request
	smallPack  = 8 << 10  // for a model with a small context
	bestPieces = 8        // of the question itself, which every request has
	lineBytes  = 100      // of a passage beside its text, and of a source
)

type packEntry struct{ pieces []piece }

// evidencePack returns the framed evidence: the pieces that rank highest, within the limit, each with
// the text around it. Sources stand in the order of discovery, so that later packs of a run begin
// alike, and only the first of copies is shown.
func (s *state) evidencePack() string {
	ranked, best := s.rankPieces()
	list, left := choosePieces(ranked, s.packLimit())
	var b strings.Builder
	b.WriteString("<evidence>\n")
	if len(list) == 0 {
		b.WriteString("(nothing)\n")
	}
	b.WriteString(formatPieces(list))
	if left > 0 {
		fmt.Fprintf(&b, "(%d more of less weight are left out)\n", left)
	}
	b.WriteString(evidenceEnd + "\n")
	if len(best) > 1 {
		b.WriteString("\nThe passages that fit the question best: [" + strings.Join(best, "] [") + "]\n")
	}
	return b.String()
}

// rankPieces returns the pieces, the most important first: of pinned sources, then those that fit the
// question itself best, whose ids it returns too, then the others by weight.
func (s *state) rankPieces() (list []piece, best []string) {
	list = slices.DeleteFunc(s.usableEvidence(), func(p piece) bool { return p.Kind == factKind })
	direct := slices.DeleteFunc(slices.Clone(list), func(p piece) bool { return !p.isQuotable() || p.Direct == 0 })
	slices.SortStableFunc(direct, func(a, b piece) int { return cmp.Compare(b.Direct*b.SourceWeight, a.Direct*a.SourceWeight) })
	for _, p := range direct[:min(len(direct), bestPieces)] {
		best = append(best, p.id())
	}
	class := make(map[int]int)
	for _, p := range list {
		switch {
		case !p.isQuotable():
			class[p.N] = 3
		case slices.ContainsFunc(s.Pinned, p.isFrom):
			class[p.N] = 0
		case slices.Contains(best, p.id()):
			class[p.N] = 1
		default:
			class[p.N] = 2
		}
	}
	slices.SortStableFunc(list, func(a, b piece) int { return cmp.Or(cmp.Compare(class[a.N], class[b.N]), compareWeight(a, b)) })
	return list, best
}

// choosePieces returns the first pieces of a ranking that fit into a limit of bytes, in order of
// discovery, and the number of others. The first piece always fits.
func choosePieces(ranked []piece, limit int) (list []piece, left int) {
	size := 0
	for _, p := range ranked {
		n := lineBytes
		if p.isQuotable() {
			n += newBytes(list, p)
		}
		if !slices.ContainsFunc(list, func(o piece) bool { return o.PageKey == p.PageKey }) {
			n += lineBytes + len(p.Title) + len(p.Source)
		}
		if size+n > limit && len(list) > 0 {
			left++
			continue
		}
		size += n
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b piece) int { return cmp.Compare(a.N, b.N) })
	return list, left
}

// newBytes returns how much of p's window no other window of the list shows, at most.
func newBytes(list []piece, p piece) int {
	w, shown := p.window(), 0
	for _, o := range list {
		if o := o.window(); o.Page == w.Page {
			shown = max(shown, min(o.Start+len(o.Text), w.Start+len(w.Text))-max(o.Start, w.Start))
		}
	}
	return len(w.Text) - shown
}

// window returns the quote with the text around it.
func (p piece) window() lookup.Window {
	w := lookup.Window{Page: p.PageKey + p.Hash, ID: p.id(), Text: p.Window, Start: p.WindowStart, QuoteStart: p.Start, QuoteEnd: p.Start + len(p.Quote)}
	if w.Text == "" {
		w.Text, w.Start = p.Quote, p.Start
	}
	return w
}

// formatPieces returns pieces as numbered sources with passages.
func formatPieces(list []piece) string {
	var b strings.Builder
	firstEntry := make(map[string]int)
	for i, e := range packEntries(list) {
		b.WriteString(e.formatEntry(i+1, firstEntry[e.voiceKey()]))
		if _, ok := firstEntry[e.voiceKey()]; !ok {
			firstEntry[e.voiceKey()] = i + 1
		}
	}
	return b.String()
}

// packEntries groups pieces by source.
func packEntries(list []piece) (all []packEntry) {
	for _, p := range list {
		i := slices.IndexFunc(all, func(e packEntry) bool { return e.pieces[0].PageKey == p.PageKey })
		if i < 0 {
			i = len(all)
			all = append(all, packEntry{})
		}
		all[i].pieces = append(all[i].pieces, p)
	}
	return all
}

func (e packEntry) voiceKey() string { return e.pieces[0].voiceKey() }

// formatEntry returns the nth entry with its metadata and passages. A copy of entry again lists ids only.
func (e packEntry) formatEntry(n int, again int) string {
	var b strings.Builder
	p := e.pieces[0]
	source := lookup.SourceName(p.Source)
	title := cmp.Or(escapeFrame(lookup.Sanitize(lookup.SourceName(p.Title))), escapeFrame(lookup.Sanitize(source)))
	fmt.Fprintf(&b, "\n%d. [%s] (%s)%s\n", n, title, escapeFrame(cmp.Or(p.URL, source)), e.formatMetadata())
	if again > 0 {
		ids := make([]string, len(e.pieces))
		for i, p := range e.pieces {
			ids[i] = "[" + p.id() + "]"
		}
		fmt.Fprintf(&b, "   a copy of the text of %d: %s\n", again, strings.Join(ids, " "))
		return b.String()
	}
	var windows []lookup.Window
	for _, p := range e.pieces {
		switch {
		case p.Addressed:
			b.WriteString("   (a passage that is addressed to programs is left out)\n")
		case p.Copy != "" && slices.ContainsFunc(e.pieces, func(o piece) bool { return o.id() == p.Copy }):
		case p.Copy != "":
			fmt.Fprintf(&b, "   [%s] a copy of [%s], word for word\n", p.id(), p.Copy)
		default:
			windows = append(windows, p.window())
		}
	}
	section := p.Title
	for i, passage := range lookup.MergeWindows(windows) {
		switch next := e.section(passage); {
		case next != "" && next != section:
			b.WriteString("   " + escapeFrame(lookup.Sanitize(next)) + ":\n")
			section = next
		case i > 0 && len(passage.Parts) > 1:
			b.WriteString("   …\n")
		}
		for _, part := range passage.Parts {
			b.WriteString(e.formatPart(part))
		}
	}
	return b.String()
}

// section returns the heading of a passage: of its first quote.
func (e packEntry) section(passage lookup.Passage) string {
	for _, part := range passage.Parts {
		if p, ok := e.findPiece(part.ID); ok {
			return p.Section
		}
	}
	return ""
}

func (e packEntry) findPiece(id string) (piece, bool) {
	i := slices.IndexFunc(e.pieces, func(p piece) bool { return p.id() == id })
	if i < 0 {
		return piece{}, false
	}
	return e.pieces[i], true
}

// formatPart returns a quote with its id, or the text between quotes. It keeps the lines of the user's
// own text, such as rows of a table; lines of strangers could look like other sources.
func (e packEntry) formatPart(part lookup.Part) string {
	text, label := textkit.TruncateBytes(part.Text, maxPiece), ""
	if p, ok := e.findPiece(part.ID); ok {
		if label = "[" + p.id() + "] "; p.Known {
			label += "(known to the older report) "
		}
	}
	if e.pieces[0].Untrusted {
		text = textkit.OneLine(text)
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = escapeFrame(displayText(line)); line != "" {
			b.WriteString("   " + label + line + "\n")
			label = ""
		}
	}
	return b.String()
}

func (e packEntry) formatMetadata() string {
	p := e.pieces[0]
	var list []string
	if p.Author != "" {
		list = append(list, "by "+escapeFrame(lookup.Sanitize(p.Author)))
	}
	if day := lookup.FormatDay(p.Published); day != "" {
		list = append(list, "published "+day)
	}
	list = append(list, p.qualityLabel())
	return " · " + strings.Join(list, " · ")
}

func (p piece) qualityLabel() string {
	switch {
	case !p.Rated && p.Untrusted:
		return "quality unknown"
	case !p.Rated:
		return "the user's own"
	case p.SourceWeight >= 0.7:
		return "good source"
	case p.SourceWeight >= 0.45:
		return "fair source"
	}
	return "weak source"
}
