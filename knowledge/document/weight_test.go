package document

import (
	"slices"
	"strings"
	"testing"
)

func fillerText(words string) string {
	var b strings.Builder
	for _, w := range strings.Fields(words) {
		b.WriteString("People talk of " + w + " and other things there. ")
	}
	return b.String()
}

// TestOrder checks each ranking factor alone; the hit that needs it stands last in the
// text.
func TestOrder(t *testing.T) {
	a, b, c := fillerText("snow rain wind hail fog ice dew sun"), fillerText("wood iron clay sand salt coal lime peat"), fillerText("bread cheese milk beans rice corn meat fish")
	for _, w := range []struct {
		name, question string
		texts          []string // title, a bar, text
		opts           SearchOptions
		want           []string // starts of the hits, in order
	}{
		{"neighbours", "ferry", []string{"Nobody knows these distant houses well. Other people come between them now. The ferry sails every single day. Some gulls follow everything closely here."}, SearchOptions{},
			[]string{"The ferry", "Other people", "Some gulls", "Nobody knows"}},
		{"headings", "ferry tickets", []string{"# Harbour\n\n" + a + "Tickets are sold at noon. Nobody minds it.\n\n# Ferry\n\n" + b + "Tickets are bought at dusk. Nobody minds it.\n\n## Winter\n\n" + c + "Tickets are cheap at dawn. Nobody minds it."}, SearchOptions{},
			[]string{"Tickets are bought", "Tickets are cheap", "Tickets are sold"}},
		{"title", "ferry tickets", []string{"Harbour|Tickets are sold at noon.", "Ferry|Tickets are bought at dusk."}, SearchOptions{},
			[]string{"Tickets are bought", "Tickets are sold"}},
		{"document", "ferry tickets", []string{"One|The whale dives every single day. " + a + "Tickets are sold at noon.", "Two|The ferry sails every single day. " + b + "Tickets are bought at dusk."}, SearchOptions{},
			[]string{"Tickets are bought", "Tickets are sold"}},
		{"pairs", "red boat", []string{"The boat painted red sank at noon. The red boat lies ashore at dusk."}, SearchOptions{},
			[]string{"The red", "The boat"}},
		{"questions", "ferry tickets", []string{"Are ferry tickets often sold here at noon? The ferry tickets were often bought at dusk."}, SearchOptions{},
			[]string{"The ferry", "Are ferry"}},
		{"signs", "ferry tickets", []string{"- Few ferry tickets were sold === *** /// ### +++ ~~~ ||| at noon\n- Many ferry tickets were bought at dusk"}, SearchOptions{},
			[]string{"Many ferry", "Few ferry"}},
		{"passage", "ferry tickets", []string{"# One\n\nTickets are sold at noon. Nobody minds it. The whale dives every single day.\n\n# Two\n\nTickets are bought at dusk. Nobody minds it. The ferry sails every single day."}, SearchOptions{},
			[]string{"Tickets are bought", "Tickets are sold"}},
		{"no diversity", "ferry tickets", diverse, SearchOptions{}, []string{"Ferry tickets", "Cheap ferry tickets", "Every sailor"}},
		{"diversity", "ferry tickets", diverse, SearchOptions{Diversity: 1}, []string{"Ferry tickets", "Every sailor", "Cheap ferry tickets"}},
	} {
		t.Run(w.name, func(t *testing.T) {
			var docs []*Document
			for _, text := range w.texts {
				title, body, ok := strings.Cut(text, "|")
				if !ok || strings.Contains(title, " ") {
					title, body = "", text
				}
				content := Markdown(body)
				content.Title = title
				docs = append(docs, NewDocument("/d.md", "d", content))
			}
			var got []string
			for _, h := range NewCollection(docs).Search(w.question, 50, w.opts) {
				if i := slices.IndexFunc(w.want, func(s string) bool { return strings.HasPrefix(h.Quote, s) }); i >= 0 {
					got = append(got, w.want[i])
				}
			}
			if !slices.Equal(got, w.want) {
				t.Errorf("order %q, want %q", got, w.want)
			}
		})
	}
}

var diverse = []string{"One|Ferry tickets cost nine euros at noon.", "Two|Cheap ferry tickets cost nine euros at noon, and less.", "Six|Every sailor buys his own tickets before the ferry leaves."}

func TestScore(t *testing.T) {
	others := fillerText("snow rain wind hail fog ice dew sun wood iron clay sand salt coal lime peat")
	for _, c := range []struct {
		name, question string
		least, most    float64
	}{
		{"every word", "ferry harbour tickets", 0.72, 0.86},
		{"two words of three", "ferry harbour zebra", 0.5, 0.68},
		{"a word of three", "ferry zebra camel", 0.25, 0.42},
		{"a word of four", "ferry zebra camel tiger", 0.18, 0.34},
		{"a common word", "things zebra camel", 0.01, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs := []*Document{
				NewDocument("/o.md", "o", Markdown(others)),
				NewDocument("/d.md", "d", Markdown(others+"\n\nThe harbour sells tickets for the ferry at noon.\n\n"+others)),
			}
			if got := NewCollection(docs).Search(c.question, 1, SearchOptions{})[0].Score; got < c.least || got > c.most {
				t.Errorf("score %.3f, want %.2f to %.2f", got, c.least, c.most)
			}
		})
	}
}
