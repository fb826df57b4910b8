package extract_test

import (
	"strings"
	"testing"

	"ponder/knowledge/web/extract"
)

// Texts of separate blocks are never joined, even on short pages.
func TestBlocksStayApart(t *testing.T) {
	for name, page := range map[string]string{
		"an article of two sentences": `<html><body><article><h1>Broken Bow, Nebraska</h1><p>As of the census of 2020, there were 10,000 people residing in Broken Bow. The city was founded in 1884 according to this site.</p><p>It lies on the edge of the Sandhills, and many tourists visit in the summer season.</p></article></body></html>`,
		"parts without paragraphs":    `<html><body><article><div>Broken Bow, Nebraska</div><div>As of the census of 2020, there were 10,000 people residing in Broken Bow. The city was founded in 1884 according to this site.</div><div>It lies on the edge of the Sandhills, and many tourists visit in the summer season.</div></article></body></html>`,
	} {
		c, err := extract.Article([]byte(page), "https://facts.example/")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, text := range []string{c.Text, c.Markdown} {
			if strings.Contains(text, "NebraskaAs") || strings.Contains(text, "site.It") || strings.Contains(text, "site. It") {
				t.Errorf("%s: blocks run together: %q", name, text)
			}
		}
	}
}
