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

func TestHasContent(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "…": false, "(none)": false, "N/A": false, "null": false, "No findings.": false, "No new observations": false, "Nothing to report.": false, "[your thought]": false,
		"No.": true, "没有": true, "No thought is free.": true, "None of them holds.": true, "7": true,
	} {
		if got := HasContent(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestParagraphs(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"paragraphs", "One.\nStill one.\n\nTwo.", "One.\nStill one.|Two."},
		{"a list", "- One\n- Two\n  of two lines\n\n3. Three", "One|Two\n  of two lines|Three"},
		{"what leads to a list", "Here are my thoughts:\n\n1. One\n2. Two", "One|Two"},
		{"a list of a paragraph", "There are two:\n- one\n- two", "There are two:\n- one\n- two"},
		{"what leads out", "One.\n\nI hope this helps!", "One."},
		{"a refusal", "I'm sorry, but I can't help with that.", ""},
		{"rules", "One.\n---\nTwo.", "One.|Two."},
		{"code", "Do this now:\n```\na\n\nb\n```", "Do this now:\n```\na\n\nb\n```"},
		{"JSON", `{"a":"b","c":[{"d":"It is so indeed."},{"e":"Nothing else is true."}]}`, "It is so indeed.|Nothing else is true."},
		{"nothing", " \n", ""},
	} {
		if got := strings.Join(Paragraphs(tt.text), "|"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
