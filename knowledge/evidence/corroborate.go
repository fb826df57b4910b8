package evidence

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
)

// Comparison bounds. All pieces after maxPieces have one voice.
const (
	maxPieces    = 128
	maxSentences = 6 // per piece
	minWords     = 4 // shorter sentences agree by chance
)

// A Support lists the pieces that agree or disagree with one piece.
type Support struct {
	Voices   int      // independent agreeing sources including itself, at least 1
	Agreeing []string // piece IDs of agreeing voices
	Against  []string // piece IDs of disagreeing voices
	Signal   ponder.Signal
}

// Corroborate returns the support of each piece. clusters come from [Cluster]. One
// voice are the pieces of a cluster, an author, a site without independent authors, or
// the user's own notes. Pieces agree if package similarity finds them, or one sentence
// of each, equal.
func Corroborate(pieces []Piece, clusters []string) []Support {
	voice := voiceNumbers(pieces, clusters)
	n := min(len(pieces), maxPieces)
	said := make([][]similarity.Text, n)
	for i := range n {
		said[i] = splitStatements(pieces[i].Text)
	}
	list := make([]Support, len(pieces))
	with, against := make([]map[int]bool, len(pieces)), make([]map[int]bool, len(pieces))
	for i := range list {
		with[i], against[i] = map[int]bool{}, map[int]bool{}
	}
	for i := range n {
		for k := range i {
			if voice[i] == voice[k] {
				continue
			}
			switch compareStatements(said[i], said[k]) {
			case similarity.Same:
				list[i].Agreeing, list[k].Agreeing = append(list[i].Agreeing, pieceName(pieces, k)), append(list[k].Agreeing, pieceName(pieces, i))
				with[i][voice[k]], with[k][voice[i]] = true, true
			case similarity.Opposite:
				list[i].Against, list[k].Against = append(list[i].Against, pieceName(pieces, k)), append(list[k].Against, pieceName(pieces, i))
				against[i][voice[k]], against[k][voice[i]] = true, true
			}
		}
	}
	for i := range list {
		list[i].Voices = 1 + len(with[i])
		list[i].Signal = list[i].corroborationSignal(len(against[i]))
	}
	return list
}

func pieceName(pieces []Piece, i int) string {
	if pieces[i].ID != "" {
		return pieces[i].ID
	}
	return fmt.Sprint(i + 1)
}

func splitStatements(text string) (list []similarity.Text) {
	text = strings.TrimSpace(textkit.Prefix(text, maxText))
	parts := strings.FieldsFunc(strings.NewReplacer(". ", ".\n", "! ", "!\n", "? ", "?\n").Replace(text), func(r rune) bool { return r == '\n' })
	if len(parts) != 1 {
		list = append(list, similarity.Parse(text))
	}
	for _, s := range parts {
		if len(strings.Fields(s)) >= minWords && len(list) <= maxSentences {
			list = append(list, similarity.Parse(s))
		}
	}
	return list
}

// compareStatements relates two pieces. If they agree in one sentence and disagree in another,
// neither counts.
func compareStatements(a, b []similarity.Text) similarity.Verdict {
	yes, no := false, false
	for _, x := range a {
		for _, y := range b {
			v := x.Compare(y)
			yes, no = yes || v == similarity.Same, no || v == similarity.Opposite
		}
	}
	switch {
	case yes && !no:
		return similarity.Same
	case no && !yes:
		return similarity.Opposite
	}
	return similarity.Different
}

// corroborationSignal returns the corroboration signal; against counts opposing voices.
func (s Support) corroborationSignal(against int) ponder.Signal {
	out := ponder.Signal{Name: "corroboration"}
	switch s.Voices {
	case 1:
		out.Value, out.Description = 0.5, "No other source found says the same."
	case 2:
		out.Value, out.Description = 0.8, "One other source says the same ("+joinNames(s.Agreeing)+")."
	default:
		out.Value, out.Description = 1, fmt.Sprintf("%d other sources say the same (%s).", s.Voices-1, joinNames(s.Agreeing))
	}
	if against > 0 {
		out.Description += " These say the opposite: " + joinNames(s.Against) + "."
		out.Value = 0.5
		if against >= s.Voices {
			out.Value = 0.2
		}
	}
	return out
}

func joinNames(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

// voiceNumbers returns the voice number of each piece.
func voiceNumbers(pieces []Piece, clusters []string) []int {
	g := newDisjointSets(len(pieces))
	seen := make(map[string]int)
	link := func(key string, i int) {
		if first, ok := seen[key]; ok {
			g.mergeSets(first, i)
		} else {
			seen[key] = i
		}
	}
	for i, p := range pieces {
		if i < len(clusters) {
			link("cluster "+clusters[i], i)
		}
		if a := strings.ToLower(textkit.Line(p.Author, maxName)); a != "" && !roleNames[a] && strings.Contains(a, " ") {
			link("author "+a, i)
		}
		if key := ownerKey(p); key != "" {
			link(key, i)
		}
	}
	list := make([]int, len(pieces))
	for i := range list {
		list[i] = g.findRoot(i)
	}
	return list
}

var sharedSiteClasses = []string{"forum", "social", "blog", "code", "academic"}

// ownerKey returns the owner of a piece, or "" if unknown.
func ownerKey(p Piece) string {
	switch p.Kind {
	case "memory", "journal", "thread":
		return "user"
	}
	a, ok := parseAddress(p.URL)
	if !ok {
		a, ok = parseAddress(p.Source)
	}
	if !ok || slices.Contains(sharedSiteClasses, classifyAddress(a).name) {
		return ""
	}
	return "site " + siteDomain(a.host)
}
