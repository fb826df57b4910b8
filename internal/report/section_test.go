package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sectioned = "Lead [e1].\n\n## History\n\nText.\n```\n## no heading\n```\n\n### Ships\nMore.\n## Life\nNone.\n"

func TestSections(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   []string
	}{
		"headings":   {sectioned, []string{"Lead [e1].", "History", "Ships", "Life"}},
		"paragraphs": {"One.\nStill one.\n\n\n#no heading\n\n```\na\n\nb\n```\n", []string{"One.", "no heading", "```"}},
		"empty":      {" \n\n", nil},
		"a heading":  {"# All\n", []string{"All"}},
	} {
		var got []string
		for _, s := range Sections(test.answer) {
			got = append(got, s.Title)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestFindSection(t *testing.T) {
	for name, want := range map[string]string{"2": "## History\n\nText.\n```\n## no heading\n```\n\n", "life": "## Life\nNone.\n", "Shi": "### Ships\nMore.\n"} {
		s, err := FindSection(sectioned, name)
		if err != nil || sectioned[s.Start:s.End] != want {
			t.Errorf("%s: error %v, %q", name, err, sectioned[s.Start:s.End])
		}
	}
	for _, name := range []string{"", "0", "5", "Death"} {
		if _, err := FindSection(sectioned, name); err == nil || !strings.Contains(err.Error(), "2: History, 3: Ships") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Sections do not overlap, and only white space is outside of them.
func FuzzSections(f *testing.F) {
	f.Add(sectioned)
	f.Add("a\n\nb\r\n\r\n```\n# c")
	f.Fuzz(func(t *testing.T, answer string) {
		at := 0
		for _, s := range Sections(answer) {
			if s.Start < at || s.End <= s.Start || strings.TrimSpace(answer[at:s.Start]) != "" {
				t.Fatalf("%+v after %d of %q", s, at, answer)
			}
			at = s.End
		}
		if strings.TrimSpace(answer[at:]) != "" {
			t.Fatalf("the end of %q is in no section", answer)
		}
	})
}
