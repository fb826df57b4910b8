package document

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const twoPosts = `{"id":"a","text":"The tide came in at seven today.","date":"2024-03-05"}` + "\n" + `{"id":` + "\n" + `{"id":"b","text":"And it went out again at one.","date":"2024-03-06"}` + "\n"

func TestRead(t *testing.T) {
	for _, c := range []struct {
		path, file string
		named      bool
		want       []string
	}{
		{"/a.md", "# One\n\ntext", false, []string{"/a.md One"}},
		{"/x/p.jsonl", twoPosts, false, []string{"! line 2: not JSON: unexpected EOF", "/x/p.jsonl#a p a", "/x/p.jsonl#b p b"}},
		{"/t.csv", "a,b\n1,2\n", false, []string{"/t.csv t"}},
		{"/x.png", "x", false, []string{"! unsupported format"}},
		{"/x.png", "\x00", true, []string{"! not a text"}},
		{"/e.json", "{}", false, []string{"! it has no text"}},
		{"/package-lock.json", `{"a":1}`, false, []string{"! unsupported format"}},
		{"/package-lock.json", `{"a":1}`, true, []string{"/package-lock.json package-lock"}},
		{"/Inbox", "From a b c\n" + letterHead + "\nx\n", false, []string{"/Inbox#1@x.org Tides"}},
	} {
		t.Run(c.path, func(t *testing.T) {
			var got []string
			for d, err := range Read(c.path, []byte(c.file), nil, c.named) {
				if err != nil {
					got = append(got, "! "+err.Error())
					continue
				}
				got = append(got, d.Source+" "+d.Title)
				again, err := NewFileDocument(d.Source, []byte(c.file), nil, c.named)
				if err != nil || again.Hash != d.Hash {
					t.Errorf("%s again: %v", d.Source, err)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := NewFileDocument("/p.jsonl#c", []byte(twoPosts), nil, true); err == nil {
		t.Error("a part that is not there was found")
	}
	if d, err := NewFileDocument("/note #1.md", []byte("# One"), nil, false); err != nil || d.Title != "One" {
		t.Errorf("a name with a #: %v", err)
	}
}

func TestLegible(t *testing.T) {
	for path, want := range map[string]string{
		"a\u200bb\u202ec.md": `a\u200bb\u202ec.md`, "کتاب\u200cها.md": "کتاب\u200cها.md", "\u3164.txt": `\u3164.txt`,
		"a/b c.txt": "a/b c.txt", "ä\\\"b.txt": "ä\\\"b.txt", "a/\xff\xfe.txt": `a/\xff\xfe.txt`, "a\nb\tä.txt": `a\nb\tä.txt`, "a\"\x1b\\.txt": `a\"\x1b\\.txt`,
	} {
		got := QuotePath(path)
		if own, err := strconv.Unquote(`"` + got + `"`); got != want || got != path && (err != nil || own != path) || QuotePath(got) != got {
			t.Errorf("%q is %s and back %q, want %s: %v", path, got, own, want, err)
		}
		raw := []byte("It is so.")
		for doc, err := range Read(path, raw, nil, true) {
			if err != nil || doc.Source != want {
				t.Errorf("the document of %q is of %+v: %v", path, doc, err)
			}
		}
		if doc, err := NewFileDocument(path, raw, nil, true); err != nil || doc.Source != want || doc.Title != baseName(want) {
			t.Errorf("one document of %q is of %+v: %v", path, doc, err)
		}
	}
}

func TestReadStops(t *testing.T) {
	for name, file := range map[string]string{
		"p.jsonl": twoPosts + twoPosts, "p.csv": "id,text\n1,The tide came in at seven\n2,And it went out again at one\n",
		"m.mbox": strings.Repeat("From a b c\n"+letterHead+"\nx\n\n", 3), "a.md": "text",
	} {
		n := 0
		for range Read(name, []byte(file), nil, false) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d documents before the first stop", name, n)
		}
	}
}

func TestLoadParts(t *testing.T) {
	dir := writeTree(t, map[string]string{"p.jsonl": twoPosts, "bad.jsonl": "{", "q.csv": "id,text,date\na,The tide came in at seven today.,2024-03-05\n", "z.docx": "not one"})
	c, skipped, err := Load(t.Context(), []string{dir}, Options{})
	must(t, err)
	if diff := cmp.Diff([]string{"p.jsonl#a", "p.jsonl#b"}, relativeSources(c, dir)); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	want := []string{"bad.jsonl: line 1: not JSON: unexpected EOF", "p.jsonl: line 2: not JSON: unexpected EOF", "q.csv#a: the same text as DIR/p.jsonl#a", "z.docx: it is damaged: zip: not a valid zip file"}
	if diff := cmp.Diff(want, skipReasons(skipped, dir)); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	hits := c.Search("when did the tide come in", 1, SearchOptions{})
	if len(hits) != 1 || hits[0].Document.Source != filepath.Join(dir, "p.jsonl#a") {
		t.Errorf("hits %+v", hits)
	}
	if _, _, err := Load(t.Context(), []string{filepath.Join(dir, "p.jsonl")}, Options{}); err != nil {
		t.Errorf("a named file with a bad part: %v", err)
	}
	if _, _, err := Load(t.Context(), []string{filepath.Join(dir, "bad.jsonl")}, Options{}); err == nil {
		t.Error("a named file with bad parts only was read")
	}
}

func TestLargeFiles(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int64{"a.md": maxText, "b.md": maxText + 1, "c.pdf": maxBinary, "d.pdf": maxBinary + 1, "e.mbox": maxBinary + 1} {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Truncate(path, n))
	}
	list, err := Scan(t.Context(), []string{dir}, Options{MaxTotal: 1 << 40})
	must(t, err)
	var got []string
	for _, f := range list.Files {
		got = append(got, fmt.Sprintf("%s %d", filepath.Base(f.Path), f.maxBytes))
	}
	want := []string{fmt.Sprint("a.md ", maxText), fmt.Sprint("c.pdf ", maxBinary), fmt.Sprint("e.mbox ", maxMailbox)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if list.Files[0].ModTime().IsZero() {
		t.Error("a file has no time")
	}
	if _, err := ReadFile(filepath.Join(dir, "b.md"), maxText); err == nil {
		t.Error("a file that is too long was read")
	}
}

func TestTyped(t *testing.T) {
	for _, c := range []struct{ kind, name, file, want string }{
		{"text/html; charset=utf-8", "https://x.org/a", "<title>Tides</title><p>high", "Tides: high"},
		{"text/html; charset=iso-8859-1", "https://x.org/a", "<meta charset=utf-8><p>caf\xe9", "a: café"},
		{"text/html; charset=shift_jis", "x", "<p>\x93\xfa\x96\x7b", "x: 日本"},
		{"TEXT/PLAIN", "https://x.org/a.txt?b=c", "hello there", "a: hello there"},
		{"text/plain; charset=koi8-r", "x", "\xc4\xc1", "x: да"},
		{"text/plain", "https://x.org/README.md", "# One\n\ntwo", "One: One two"},
		{"text/markdown", "x", "# *One*", "One: One"},
		{"application/json", "x", `{"a":"b"}`, "x: a: b"},
		{"application/activity+json", "x", `{"a":"b"}`, "x: a: b"},
		{"application/x-ndjson", "x", twoPosts, "x: The tide came in at seven today. And it went out again at one."},
		{"application/octet-stream", "https://x.org/a.csv", "a,b\n1,2", "a: a: 1 | b: 2"},
		{"", "x", "<html><p>page", "x: page"},
		{"application/pdf", "https://x.org/a.pdf", string(pdfPages(pdfText(72, 700, 12, "tide"))), "The Harbour: tide"},
		{"message/rfc822", "x", letterHead + "\nyes\n", "Tides: Tides yes"},
	} {
		t.Run(c.kind, func(t *testing.T) {
			d, err := ReadTyped(c.kind, c.name, []byte(c.file))
			must(t, err)
			if got := d.Title + ": " + strings.Join(strings.Fields(d.Text), " "); got != c.want || d.Source != c.name {
				t.Errorf("%s, of %s, want %s", got, d.Source, c.want)
			}
		})
	}
	for kind, file := range map[string]string{"image/png": "x", "application/zip": "PK", "text/html": "", "application/pdf": "no", "text/plain": "\x00"} {
		if _, err := ReadTyped(kind, "x", []byte(file)); err == nil {
			t.Errorf("%s was read", kind)
		}
	}
}

func FuzzTyped(f *testing.F) {
	f.Add("text/html; charset=utf-16", "x.html", []byte("<p>a"))
	f.Add("application/x-ndjson", "x", []byte(twoPosts))
	f.Fuzz(func(t *testing.T, kind, name string, file []byte) {
		if strings.Contains(kind, "pdf") || isPDF(file) {
			return // has its own, slow test
		}
		if d, err := ReadTyped(kind, name, file); err == nil {
			checkDocument(t, d)
		}
	})
}

func TestAbout(t *testing.T) {
	day := time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ path, file string }{
		"HTML":       {"a.html", `<html lang="en_GB"><head><meta name=author content="Anna Meier"><meta property="article:published_time" content="2024-03-05T00:00:00Z"></head><p>x`},
		"YAML":       {"a.md", "---\nauthor: \"Anna Meier\"\ndate: 2024-03-05\nlang: en-GB\n---\nx"},
		"TOML":       {"a.md", "+++\nauthors = [\"Anna Meier\"]\ndate = 2024-03-05\nlanguage = \"en-GB\"\n+++\nx"},
		"JSON Lines": {"a.jsonl", `{"id":1,"text":"The tide came in at seven.","date":"2024-03-05","lang":"en-GB","author":"Anna Meier"}`},
	} {
		t.Run(name, func(t *testing.T) {
			for d, err := range Read(c.path, []byte(c.file), nil, false) {
				must(t, err)
				if d.Author != "Anna Meier" || !d.Published.Equal(day) || d.Language != "en-GB" {
					t.Errorf("author %q, published %v, language %q", d.Author, d.Published, d.Language)
				}
			}
		})
	}
}

func TestPageOf(t *testing.T) {
	d := NewDocument("x", "x", Content{Blocks: []Block{{Text: "front"}, {Text: "one", Page: 1}, {Text: "more", Page: 1}, {Text: "", Page: 2}, {Text: "three", Page: 3}}})
	if diff := cmp.Diff([]Page{{1, 7}, {3, 18}}, d.Pages); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	for at, want := range map[int]int{-1: 0, 0: 0, 6: 0, 7: 1, 17: 1, 18: 3, 99: 3} {
		if got := d.Page(at); got != want {
			t.Errorf("byte %d is on page %d, want %d", at, got, want)
		}
	}
}

// NewFileDocument returns the document at source, equal to that of [Read] and [Load].
// For a file with parts, source names the key; without one it is the first readable
// part.
func NewFileDocument(source string, raw []byte, formats []Format, named bool) (*Document, error) {
	source = QuotePath(source)
	for i := range source {
		if source[i] != '#' || i == 0 {
			continue
		}
		doc, many, err := partOf(source[:i], source, raw, formats, named)
		if doc != nil || many {
			return doc, err
		}
	}
	var first error
	for doc, err := range Read(source, raw, formats, named) {
		if err == nil {
			return doc, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func partOf(path, source string, raw []byte, formats []Format, named bool) (doc *Document, many bool, err error) {
	for doc, err := range Read(path, raw, formats, named) {
		if err == nil && doc.Source == source {
			return doc, true, nil
		}
		many = many || err == nil && doc.Source != path
	}
	return nil, many, fmt.Errorf("there is no part %s in it", source[len(path)+1:])
}
