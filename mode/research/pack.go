package research

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

type entry struct {
	pieces []piece
	weight float64
}

// pack returns the framed evidence: best sources first, only the first of copies, within maxPack
// bytes.
func (s *state) pack() string {
	var b strings.Builder
	b.WriteString("<evidence>\nEVIDENCE PACK FOR: \"" + framed(textkit.TruncateBytes(textkit.OneLine(s.run.Input), maxQuery)) + "\"\n")
	list := entries(s.usable())
	heard := make(map[string]int)
	left, most := 0, maxPack
	if s.Small {
		most = smallPack
	}
	for i, e := range list {
		block := e.text(i+1, heard[e.voice()])
		if _, ok := heard[e.voice()]; !ok {
			heard[e.voice()] = i + 1
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

// entries groups pieces by source, best first, after the user's facts.
func entries(list []piece) (all []entry) {
	for _, p := range list {
		if p.Kind == factKind {
			continue
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

func (e entry) voice() string { return e.pieces[0].voice() }

// text returns the nth entry with its metadata and passages. A copy of entry again lists ids only.
func (e entry) text(n int, again int) string {
	var b strings.Builder
	p := e.pieces[0]
	title := cmp.Or(framed(lookup.Tame(p.Title)), framed(lookup.Tame(p.Source)))
	fmt.Fprintf(&b, "%d. [%s] (%s)%s\n", n, title, framed(cmp.Or(p.URL, p.Source)), e.about())
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
			fmt.Fprintf(&b, "   [%s] %s%s\n", p.id(), known, framed(textkit.TruncateBytes(p.shown(), maxPiece)))
		}
	}
	return b.String()
}

func (e entry) about() string {
	p := e.pieces[0]
	var list []string
	if p.Author != "" {
		list = append(list, "by "+framed(lookup.Tame(p.Author)))
	}
	if day := lookup.Day(p.Published); day != "" {
		list = append(list, "published "+day)
	}
	list = append(list, p.quality())
	return " · " + strings.Join(list, " · ")
}

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
