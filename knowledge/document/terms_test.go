package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeyTerms(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"phrases", "The tidal power plant uses the tidal range. A tidal power plant needs a wide estuary.", "tidal power plant | tidal range | wide estuary"},
		{"names keep their capitals", "We asked Anna Meier. The answer of Anna Meier was short.", "Anna Meier | answer"},
		{"beside names, too", "Norwegian Sea. The cold of the Norwegian Sea is known.", "Norwegian Sea | cold"},
		{"sentence starts do not", "Erosion was slow. Then erosion was fast.", "erosion"},
		{"acronyms", "NASA built it. It was NASA.", "NASA"},
		{"hyphens", "It is a long-term plan for high-rise buildings.", "long-term plan | high-rise buildings"},
		{"no fillers", "It is really very important to make use of many things.", ""},
		{"things, not what is done", "The wish was noted, and obeyed when it resumed. It obeys at once, unless switched off.", "wish"},
		{"what is done to a thing", "A rate limit leaves a pause. No request had ended meanwhile.", "rate limit | pause | request"},
		{"what is of somebody", "It was refused, and Anna's lease ended. Then it was refused again.", "Anna | lease"},
		{"behind a number", "He borrowed in winter, then begged and got 40 guilders.", "winter | guilders"},
		{"labels", "Leases: kept, but not when cut. Fences: kept.", "leases | fences"},
		{"a language that is not known here", "Miasto jest stare, ale most jest nowy. Miasto, które rośnie.", "które rośnie | miasto"},
		{"no numbers alone", "In 1999 there were 40.", ""},
		{"Japanese", "京都の大学図書館は大きい。", "大学図書館 | 京都"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(KeyTerms(c.text, 3), " | "); got != c.want {
				t.Errorf("key terms %q, want %q", got, c.want)
			}
		})
	}
}

func TestTopics(t *testing.T) {
	c := testCollection()
	h := c.Search("ferry hull", 1, SearchOptions{})[0]
	if diff := cmp.Diff([]string{"euros"}, c.Topics(h, "ferry hull", 2)); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	if got := c.Topics(h, "ferry hull", 0); got != nil {
		t.Errorf("no topics wanted: %q", got)
	}
}

func TestRareTermsComeFirst(t *testing.T) {
	got := testCollection().KeyTerms("The ferry, the euros and the accountant.", 1)
	if diff := cmp.Diff([]string{"accountant"}, got); diff != "" {
		t.Errorf("key terms (-want +got):\n%s", diff)
	}
}

// KeyTerms returns the n most important terms of a text, of one to three words,
// without a collection.
func KeyTerms(text string, n int) []string {
	return keyTerms(text, n, func(string) float64 { return 1 }, nil)
}
