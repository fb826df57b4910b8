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
		p.Published = day(d[:10])
	}
	text := regexp.MustCompile(`(?is)<(script|style|head|nav|footer)\b.*?</(script|style|head|nav|footer)>`).ReplaceAllString(string(raw), " ")
	text = regexp.MustCompile(`(?i)</(p|div|li|h[1-6]|tr)>|<br[^>]*>`).ReplaceAllString(text, "\n")
	p.Text = strings.TrimSpace(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")))
	return p
}

// find returns pages with words of the query, the most first.
func (s *Server) find(a ask) []Page {
	type scored struct {
		Page
		score int
	}
	var list []scored
	want := words(a.query)
	for _, p := range s.pages {
		p.URL = cmp.Or(p.URL, a.base+"/pages/"+p.Name)
		if n := 3*common(words(p.Title), want) + common(words(p.Text), want); n > 0 && a.admits(p) {
			list = append(list, scored{p, n})
		}
	}
	slices.SortStableFunc(list, func(x, y scored) int { return y.score - x.score })
	var out []Page
	for _, x := range list[:min(len(list), a.n)] {
		out = append(out, x.Page)
	}
	return out
}

func (a ask) admits(p Page) bool {
	of := func(h string) bool { return host(p.URL) == h || strings.HasSuffix(host(p.URL), "."+h) }
	switch {
	case len(a.with) > 0 && !slices.ContainsFunc(a.with, of), slices.ContainsFunc(a.without, of):
		return false
	case p.Published.IsZero():
		return true
	}
	return !p.Published.Before(a.from) && (a.to.IsZero() || p.Published.Before(a.to))
}

func words(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	slices.Sort(list)
	return slices.Compact(list)
}

func common(a, b []string) (n int) {
	for _, w := range b {
		if _, ok := slices.BinarySearch(a, w); ok {
			n++
		}
	}
	return n
}

// best returns the line with the most words of the query.
func best(text, query string) string {
	want := words(query)
	line, most := "", -1
	for l := range strings.Lines(text) {
		if n := common(words(l), want); n > most && strings.TrimSpace(l) != "" {
			line, most = strings.TrimSpace(l), n
		}
	}
	return line
}
