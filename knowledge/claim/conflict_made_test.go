package claim

import "testing"

func TestConflictsNearYearOfOpening(t *testing.T) {
	about := func(a, b string) int {
		return len(ConflictsAbout("How long is the Storebro bridge?", []Quote{
			{ID: "e1", Text: a, Voice: "a", Context: "Storebro bridge"}, {ID: "e2", Text: b, Voice: "b", Context: "Bridges"},
		}))
	}
	const other = "The Storebro bridge is 1,842 metres long."
	for text, want := range map[string]int{
		"The Storebro bridge is 1,624 metres long and was opened in 1998.":     1,
		"The Storebro bridge is 1,624 metres long, and it was opened in 1998.": 1,
		"The Storebro bridge, opened in 1998, is 1,624 metres long.":           1,
		"The Storebro bridge is 1,842 metres long and was opened in 1998.":     0,
	} {
		if got := about(text, other); got != want {
			t.Errorf("%d conflicts of %q, want %d", got, text, want)
		}
	}
}
