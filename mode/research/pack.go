package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder/mode/internal/hits"
	"ponder/mode/internal/text"
)

// An entry is a source in the pack, with its pieces.
type entry struct {
	pieces []piece
	weight float64 // of the best of them
}

// pack returns the evidence in the seed's form, as data of strangers: the best sources
// first, of copies the first only, bounded in bytes.
func (s *state) pack() string {
	var b strings.Builder
	b.WriteString("<evidence>\nEVIDENCE PACK FOR: \"" + framed(text.Clip(text.Line(s.run.Input), maxQuery)) + "\"\n")
	list := entries(s.usable())
	left := 0
	for i, e := range list {
		block := e.text(i+1, list)
		if b.Len()+len(block) > maxPack {
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

// entries returns the sources of pieces, the best first: what the user says before all.
func entries(list []piece) (all []entry) {
	for _, p := range list {
		if p.Kind == factKind {
			continue // it stands above
		}
		i := slices.IndexFunc(all, func(e entry) bool { return e.pieces[0].Page == p.Page })
		if i < 0 {
			i = len(all)
			all = append(all, entry{})
		}
		all[i].pieces = append(all[i].pieces, p)
		if p.quotable() {
			all[i].weight = max(all[i].weight, p.weight())
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.weight, a.weight) })
	return all
}

// text returns an entry: what is known of the source, and its passages.
func (e entry) text(n int, all []entry) string {
	var b strings.Builder
	p := e.pieces[0]
	title := cmp.Or(framed(hits.Tame(p.Title)), framed(hits.Tame(p.Source)))
	fmt.Fprintf(&b, "%d. [%s] (%s)%s\n", n, title, framed(cmp.Or(p.URL, p.Source)), e.about(all))
	for _, p := range e.pieces {
		switch {
		case p.Addressed:
			fmt.Fprintf(&b, "   (a passage that is addressed to programs is left out)\n")
		case p.Copy != "" && slices.ContainsFunc(e.pieces, func(o piece) bool { return o.id() == p.Copy }):
		case p.Copy != "":
			fmt.Fprintf(&b, "   [%s] a copy of [%s], word for word\n", p.id(), p.Copy)
		default:
			fmt.Fprintf(&b, "   [%s] %s\n", p.id(), framed(text.Clip(p.shown(), maxPiece)))
		}
	}
	return b.String()
}

// about says of a source when it was published, how good it is, and whose copy it is.
func (e entry) about(all []entry) string {
	p := e.pieces[0]
	var list []string
	if p.Author != "" {
		list = append(list, "by "+framed(hits.Tame(p.Author)))
	}
	if day := hits.Day(p.Published); day != "" {
		list = append(list, "published "+day)
	}
	list = append(list, p.quality())
	if p.Known {
		list = append(list, "known to the older report")
	}
	for i, o := range all {
		if o.pieces[0].Page != p.Page && o.pieces[0].voice() == p.voice() && o.weight >= e.weight {
			list = append(list, fmt.Sprintf("one voice with %d", i+1))
			break
		}
	}
	return " · " + strings.Join(list, " · ")
}

// quality says in a word what a source is worth.
func (p piece) quality() string {
	switch {
	case !p.Rated && p.Untrusted:
		return "quality unknown"
	case !p.Rated:
		return "the user's own"
	case p.Worth >= 0.7:
		return "good source"
	case p.Worth >= 0.45:
		return "fair source"
	}
	return "weak source"
}
