package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

type packEntry struct {
	pieces []piece
	weight float64
}

// evidencePack returns the framed evidence: best sources first, only the first of copies, within maxPack
// bytes.
func (s *state) evidencePack() string {
	var b strings.Builder
	b.WriteString("<evidence>\nEVIDENCE PACK FOR: \"" + escapeFrame(textkit.TruncateBytes(textkit.OneLine(s.run.Input), maxQuery)) + "\"\n")
	list := packEntries(s.usableEvidence())
	firstEntry := make(map[string]int)
	left, most := 0, maxPack
	if s.SmallContext {
		most = smallPack
	}
	for i, e := range list {
		block := e.formatEntry(i+1, firstEntry[e.voiceKey()])
		if _, ok := firstEntry[e.voiceKey()]; !ok {
			firstEntry[e.voiceKey()] = i + 1
		}
		if b.Len()+len(block) > most {
			left = len(list) - i
			break
		}
		b.WriteString("\n" + block)
	}
	if len(list) == 0 {
		b.WriteString("\n(nothing)\n")
	}
	if left > 0 {
		b.WriteString(fmt.Sprintf("\n(%d more of less weight are left out)\n", left))
	}
	b.WriteString("</evidence>\n")
	return b.String()
}

// packEntries groups pieces by source, best first, after the user's facts.
func packEntries(list []piece) (all []packEntry) {
	for _, p := range list {
		if p.Kind == factKind {
			continue
		}
		i := slices.IndexFunc(all, func(e packEntry) bool { return e.pieces[0].PageKey == p.PageKey })
		if i < 0 {
			i = len(all)
			all = append(all, packEntry{})
		}
		all[i].pieces = append(all[i].pieces, p)
		if p.isQuotable() {
			all[i].weight = max(all[i].weight, p.weight())
		}
	}
	slices.SortStableFunc(all, func(a, b packEntry) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

func (e packEntry) voiceKey() string { return e.pieces[0].voiceKey() }

// formatEntry returns the nth entry with its metadata and passages. A copy of entry again lists ids only.
func (e packEntry) formatEntry(n int, again int) string {
	var b strings.Builder
	p := e.pieces[0]
	title := cmp.Or(escapeFrame(lookup.Sanitize(p.Title)), escapeFrame(lookup.Sanitize(p.Source)))
	fmt.Fprintf(&b, "%d. [%s] (%s)%s\n", n, title, escapeFrame(cmp.Or(p.URL, p.Source)), e.formatMetadata())
	if again > 0 {
		ids := make([]string, len(e.pieces))
		for i, p := range e.pieces {
			ids[i] = "[" + p.id() + "]"
		}
		fmt.Fprintf(&b, "   a copy of the text of %d: %s\n", again, strings.Join(ids, " "))
		return b.String()
	}
	for _, p := range e.pieces {
		switch {
		case p.Addressed:
			fmt.Fprintf(&b, "   (a passage that is addressed to programs is left out)\n")
		case p.Copy != "" && slices.ContainsFunc(e.pieces, func(o piece) bool { return o.id() == p.Copy }):
		case p.Copy != "":
			fmt.Fprintf(&b, "   [%s] a copy of [%s], word for word\n", p.id(), p.Copy)
		default:
			known := ""
			if p.Known {
				known = "(known to the older report) "
			}
			fmt.Fprintf(&b, "   [%s] %s%s\n", p.id(), known, escapeFrame(textkit.TruncateBytes(p.displayQuote(), maxPiece)))
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
