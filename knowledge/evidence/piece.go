package evidence

import (
	"ponder/internal/textkit"
	"slices"
	"time"

	"ponder"
)

// maxText bounds what is read of a text, in bytes.
const maxText = 32 << 10

// maxName bounds a name as a sentence quotes it, in bytes.
const maxName = 83

// A Piece is a piece of evidence as far as it matters here. What is not known is zero.
type Piece struct {
	ID        string // named in what signals say
	Source    string // a path, or the name of where it is kept
	URL       string // of a page
	Title     string
	Author    string
	Text      string // the quote, or the whole text
	Kind      string // of what a user keeps: memory, document, post, journal, thread; of a page "" or web
	Published time.Time
	Fetched   time.Time
	Score     float64 // how well it fits, of any scale; nothing is judged by it
	Provider  string  // likewise
	Local     bool    // a page that was read where it is kept, and did not come over the network
}

// Judge returns what is known of how good a piece is, as seen at now. Corroboration
// is not among it, for that takes other pieces.
func Judge(p Piece, now time.Time) []ponder.Signal {
	list := []ponder.Signal{source(p), dated(p, now), author(p)}
	text := plain(textkit.Visible(textkit.Prefix(p.Text, maxText)))
	list = append(list, directness(text))
	for _, judge := range []func(Piece, string) (ponder.Signal, bool){transport, advertising, addressed} {
		if s, ok := judge(p, text); ok {
			list = append(list, s)
		}
	}
	return list
}

// shares has what each signal may take away of a weight.
var shares = map[string]float64{
	"source": 0.6, "directness": 0.3, "corroboration": 0.3, "date": 0.2, "author": 0.15, "transport": 0.05, "advertising": 0.5, "addressed": 0.8,
}

// Weight returns what the signals come to, from 0 to 1: see the package comment. It
// is 1 without signals. Of several of one name the last counts.
func Weight(signals []ponder.Signal) float64 {
	weight := 1.0
	for i, s := range signals {
		if slices.ContainsFunc(signals[i+1:], func(o ponder.Signal) bool { return o.Name == s.Name }) {
			continue
		}
		value := s.Value
		if !(value >= 0) { // no number either
			value = 0
		}
		weight *= 1 - shares[s.Name]*(1-min(1, value))
	}
	return weight
}
