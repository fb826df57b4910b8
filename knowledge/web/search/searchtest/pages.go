package searchtest

import (
	"cmp"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Load reads HTML and text of a trusted folder.
func Load(dir string) ([]Page, error) {
	var pages []Page
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		ext := strings.ToLower(path.Ext(name))
		if !slices.Contains([]string{".html", ".htm", ".txt", ".md"}, ext) {
			return nil
		}
		raw, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		pages = append(pages, newPage(name, ext, raw))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load pages: %w", err)
	}
	return pages, nil
}

func newPage(name, ext string, raw []byte) Page {
	p := Page{Name: name, Title: name, Raw: raw, Type: cmp.Or(mime.TypeByExtension(ext), "text/plain; charset=utf-8"), Text: string(raw)}
	if !strings.HasPrefix(ext, ".htm") {
		first, _, _ := strings.Cut(strings.TrimSpace(p.Text), "\n")
		p.Title = strings.TrimLeft(first, "# ")
		return p
	}
	one := func(pattern string) string {
		if m := regexp.MustCompile(`(?is)` + pattern).FindStringSubmatch(string(raw)); m != nil {
			return html.UnescapeString(strings.TrimSpace(m[1]))
		}
		return ""
	}
	p.Title = cmp.Or(one(`<title[^>]*>(.*?)</title>`), name)
	p.URL = one(`<link[^>]*rel="canonical"[^>]*href="([^"]*)"`)
	p.Author = one(`<meta[^>]*name="author"[^>]*content="([^"]*)"`)
	if d := one(`<meta[^>]*article:published_time"[^>]*content="([^"]*)"`); len(d) >= 10 {
		p.Published = parseDay(d[:10])
	}
	text := regexp.MustCompile(`(?is)<(script|style|head|nav|footer)\b.*?</(script|style|head|nav|footer)>`).ReplaceAllString(string(raw), " ")
	text = regexp.MustCompile(`(?i)</(p|div|li|h[1-6]|tr)>|<br[^>]*>`).ReplaceAllString(text, "\n")
	p.Text = strings.TrimSpace(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")))
	return p
}

// findPages returns pages with words of the query, the most first.
func (s *Server) findPages(a searchRequest) []Page {
	type scoredPage struct {
		Page
		score int
	}
	var list []scoredPage
	want := sortedWords(a.query)
	for _, p := range s.pages {
		p.URL = cmp.Or(p.URL, a.base+"/pages/"+p.Name)
		if n := 3*countCommon(sortedWords(p.Title), want) + countCommon(sortedWords(p.Text), want); n > 0 && a.admitsPage(p) {
			list = append(list, scoredPage{p, n})
		}
	}
	slices.SortStableFunc(list, func(x, y scoredPage) int { return y.score - x.score })
	var out []Page
	for _, x := range list[:min(len(list), a.n)] {
		out = append(out, x.Page)
	}
	return out
}

func (a searchRequest) admitsPage(p Page) bool {
	of := func(h string) bool { return urlHost(p.URL) == h || strings.HasSuffix(urlHost(p.URL), "."+h) }
	switch {
	case len(a.include) > 0 && !slices.ContainsFunc(a.include, of), slices.ContainsFunc(a.exclude, of):
		return false
	case p.Published.IsZero():
		return true
	}
	return !p.Published.Before(a.from) && (a.to.IsZero() || p.Published.Before(a.to))
}

func sortedWords(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	slices.Sort(list)
	return slices.Compact(list)
}

func countCommon(a, b []string) (n int) {
	for _, w := range b {
		if _, ok := slices.BinarySearch(a, w); ok {
			n++
		}
	}
	return n
}

// bestLine returns the line with the most words of the query.
func bestLine(text, query string) string {
	want := sortedWords(query)
	line, most := "", -1
	for l := range strings.Lines(text) {
		if n := countCommon(sortedWords(l), want); n > most && strings.TrimSpace(l) != "" {
			line, most = strings.TrimSpace(l), n
		}
	}
	return line
}
