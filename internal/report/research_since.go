package report

import (
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/similarity"
)

// Since is what is different from an older report.
type Since struct {
	Thread   ponder.ThreadID `json:"thread_id,omitempty"`
	Question string          `json:"question,omitempty"`
	Ended    time.Time       `json:"ended_at,omitzero"`
	New      []string        `json:"new"`     // claims that the older did not make
	Gone     []string        `json:"gone"`    // claims that only the older made
	Changed  []Change        `json:"changed"` // the same claim with another value, another sense or another status
	Same     int             `json:"same"`    // claims that say what they said
}

// A Change is a claim that says something else now, or stands otherwise.
type Change struct {
	Was       string `json:"was"`
	Now       string `json:"now"`
	WasStatus string `json:"was_status,omitempty"`
	NowStatus string `json:"now_status,omitempty"`
}

// maxCompared bounds how many claims of a report are compared.
const maxCompared = 500

// A said is a claim as it is compared.
type said struct {
	Claim
	text similarity.Text // all of it
	bare similarity.Text // without its values
	used bool
}

// Changes compares the claims of an older report with those of a newer. Claims are the
// same if package same takes them for it; a claim is changed if it is the opposite, if
// it says the same of another value, or if its status is another.
func Changes(older, newer []Claim) Since {
	was, now := readSaid(older), readSaid(newer)
	d := Since{New: []string{}, Gone: []string{}, Changed: []Change{}}
	match := func(fits func(a, b *said) bool) {
		for i := range now {
			for j := range was {
				if now[i].used || was[j].used || !fits(&was[j], &now[i]) {
					continue
				}
				now[i].used, was[j].used = true, true
				d.pair(&was[j], &now[i])
			}
		}
	}
	match(func(a, b *said) bool { return textkit.OneLine(a.Text) == textkit.OneLine(b.Text) })
	match(func(a, b *said) bool { return a.text.Compare(b.text) == similarity.Same })
	match(func(a, b *said) bool { return a.text.Compare(b.text) == similarity.Opposite })
	match(func(a, b *said) bool { return a.bare.Compare(b.bare) == similarity.Same })
	for i := range now {
		if !now[i].used {
			d.New = append(d.New, textkit.OneLine(now[i].Text))
		}
	}
	for j := range was {
		if !was[j].used {
			d.Gone = append(d.Gone, textkit.OneLine(was[j].Text))
		}
	}
	return d
}

// pair takes in two claims of the same thing.
func (d *Since) pair(a, b *said) {
	alike := textkit.OneLine(a.Text) == textkit.OneLine(b.Text) || a.text.Compare(b.text) == similarity.Same
	if alike && (a.Status == b.Status || a.Status == "" || b.Status == "") {
		d.Same++
		return
	}
	d.Changed = append(d.Changed, Change{textkit.OneLine(a.Text), textkit.OneLine(b.Text), a.Status, b.Status})
}

func readSaid(claims []Claim) []said {
	list := make([]said, 0, len(claims))
	for _, c := range claims[:min(len(claims), maxCompared)] {
		list = append(list, said{Claim: c, text: similarity.Of(c.Text), bare: similarity.Of(valueless(c.Text))})
	}
	return list
}

// valueless returns a text without the words that have digits in them.
func valueless(text string) string {
	words := strings.FieldsFunc(text, unicode.IsSpace)
	kept := words[:0]
	for _, w := range words {
		if !strings.ContainsFunc(w, unicode.IsDigit) {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, " ")
}

// says says in a line what is different.
func (d *Since) says() string {
	text := "Since " + whenOf(d) + ": " + textkit.Count(len(d.New), "claim is new", "claims are new") + ", " +
		textkit.Count(len(d.Gone), "is gone", "are gone") + ", " + textkit.Count(len(d.Changed), "has changed", "have changed") + ", " +
		textkit.Count(d.Same, "says what it said", "say what they said") + "."
	return text
}

func whenOf(d *Since) string {
	text := "the older report"
	if !d.Ended.IsZero() {
		text += " of " + date(d.Ended)
	}
	if d.Thread != "" {
		text += " (" + textkit.TruncateWords(textkit.OneLine(string(d.Thread)), 60) + ")"
	}
	return text
}

// shown returns the texts of the change, with their statuses if these differ.
func (c Change) shown() Change {
	was, now := c.Was, c.Now
	if c.WasStatus != c.NowStatus && c.WasStatus != "" && c.NowStatus != "" {
		was, now = was+" ("+c.WasStatus+")", now+" ("+c.NowStatus+")"
	}
	return Change{Was: textkit.OneLine(was), Now: textkit.OneLine(now)}
}
