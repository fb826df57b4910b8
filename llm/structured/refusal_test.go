package structured

import (
	"strings"
	"testing"
)

func TestIsRefusal(t *testing.T) {
	for in, want := range map[string]bool{
		"I'm sorry, but I can't help with that.":                          true,
		"As an AI model, I cannot assist with this.":                      true,
		"It is so. I can't help with more.":                               false,
		"I can't find a source for this.":                                 false,
		"I can't help with that. " + strings.Repeat("But so it is. ", 20): false,
		"": false,
	} {
		if got := IsRefusal(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
