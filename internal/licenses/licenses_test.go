package licenses

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const remedy = "run scripts/licences --write"

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The embedded texts are those of the modules in go.mod and NOTICE.
func TestComponents(t *testing.T) {
	sections, err := Sections()
	if err != nil {
		t.Fatal(err)
	}
	all := Components(sections)
	own := all[0]
	if own.Name != "Ponder" || !slices.Equal(own.Licenses, []string{"Apache-2.0", "NOTICE"}) || own.Texts[0] != readFile(t, "LICENSE") || own.Texts[1] != readFile(t, "NOTICE") {
		t.Errorf("%s %q: %s", own.Name, own.Licenses, remedy)
	}
	_, modules, _ := strings.Cut(readFile(t, "NOTICE"), "\nGo modules")
	versions := readFile(t, "go.mod")
	listed := regexp.MustCompile(`(?m)^  (\S+): (.+)$`).FindAllStringSubmatch(modules, -1)
	if len(listed) < 60 {
		t.Fatalf("NOTICE lists %d modules", len(listed))
	}
	for _, m := range listed {
		i := slices.IndexFunc(all, func(c Component) bool { return c.Name == m[1] })
		if i < 0 {
			t.Errorf("%s has no text: %s", m[1], remedy)
			continue
		}
		c := all[i]
		if !strings.Contains(versions, "\t"+c.Name+" "+c.Version) {
			t.Errorf("the text is of %s %s: %s", c.Name, c.Version, remedy)
		}
		for name := range strings.SplitSeq(m[2], ", ") {
			if !slices.Contains(c.Licenses, name) {
				t.Errorf("%s has %q, NOTICE has %s: %s", c.Name, c.Licenses, name, remedy)
			}
		}
	}
	for _, name := range []string{"Go", "PDFium", "Public Suffix List", "Unicode data", "tiktoken vocabulary"} {
		i := slices.IndexFunc(all, func(c Component) bool { return c.Name == name })
		if i < 0 || len(all[i].Texts[0]) < 500 {
			t.Errorf("no license of %s", name)
		}
	}
}
