package links

import (
	"html"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// parsers are the ways in which clients read Markdown: with and without HTML, extensions and
// addresses in plain text.
var parsers = []parser.Parser{
	goldmark.New().Parser(),
	goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList)).Parser(),
	goldmark.New(goldmark.WithExtensions(extension.Linkify)).Parser(),
	parser.NewParser(
		parser.WithBlockParsers(withoutHTML(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
		parser.WithInlineParsers(withoutHTML(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	),
}

func withoutHTML(list []util.PrioritizedValue, without any) (out []util.PrioritizedValue) {
	for _, v := range list {
		if v.Value != without {
			out = append(out, v)
		}
	}
	return out
}

// attributes matches a tag that may load something.
var attributes = regexp.MustCompile(`(?i)<(?:[a-z][a-z0-9-]*[\s/]+[^\s/>]|/?(?:img|script|style|iframe|svg|pre|textarea|base|meta|link|object|embed|math)[\s/>]|[!?])`)

// plainAddress matches addresses that clients find in decoded text.
var plainAddress = regexp.MustCompile(`(?i)\b(?:[a-z0-9_-]+\.)+[a-z]{2,24}[/?][a-z0-9][^\s<]*|(?:(?:https?|ftp)://|\bwww\.)[\pL\pN_-][^\s<]*|[a-z0-9._+-]+@[a-z0-9_-]+(?:\.[a-z0-9_-]*[a-z][a-z0-9_-]*)+`)

// remote returns the first remote content of a Markdown text that a policy does not know.
func remote(md string, p Policy) string {
	src := []byte(md)
	for _, one := range parsers {
		bad := ""
		note := func(what, address string, image bool) {
			if bad == "" && !p.Knows(address, image) && !(isLocal(address) && !image) {
				bad = what + " " + address
			}
		}
		_ = ast.Walk(one.Parse(text.NewReader(src)), func(n ast.Node, in bool) (ast.WalkStatus, error) {
			if !in {
				return ast.WalkContinue, nil
			}
			switch n := n.(type) {
			case *ast.Image:
				note("image", unescape(n.Destination), true)
			case *ast.Link:
				note("link", unescape(n.Destination), false)
				return ast.WalkContinue, nil
			case *ast.AutoLink:
				if label := html.UnescapeString(string(n.Label(src))); !strings.HasPrefix(label, "`") { // goldmark looks for mail addresses in code
					note("address", label, false)
				}
			case *ast.RawHTML:
				for i := range n.Segments.Len() {
					s := n.Segments.At(i)
					if m := attributes.Find(s.Value(src)); m != nil {
						bad = "tag " + string(m)
					}
				}
			case *ast.HTMLBlock:
				for i := range n.Lines().Len() {
					s := n.Lines().At(i)
					if m := attributes.Find(s.Value(src)); m != nil {
						bad = "block " + string(m)
					}
				}
			case *ast.CodeSpan:
				return ast.WalkSkipChildren, nil
			case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
				for _, found := range plainAddress.FindAllString(plainText(n, src), -1) {
					whole := strings.TrimLeft(strings.TrimRight(found, endings+"]"), "_-.")
					if i := strings.IndexAny(found, "]"); i > 0 && p.Knows(trimAddress(found[:i]), false) && strings.HasPrefix(found[i:], "](") {
						continue
					}
					if !strings.ContainsAny(md, "_*~") || !p.(known).isBeginning(trimAddress(whole)) { // emphasis may cut an address
						note("text", trimAddress(whole), false)
					}
				}
			}
			return ast.WalkContinue, nil
		})
		if bad != "" {
			return bad
		}
	}
	return ""
}

// isBeginning reports whether a known address begins with an address.
func (k known) isBeginning(address string) bool {
	part, ok := Key(address)
	for key := range k.source {
		if ok && strings.HasPrefix(key, part) {
			return true
		}
	}
	return false
}

// plainText returns the text of a node outside code and links, decoded.
func plainText(n ast.Node, src []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(c.Value(src)))))
			if c.SoftLineBreak() || c.HardLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.Emphasis:
			b.WriteString(" " + plainText(c, src) + " ")
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// hostile are the parts of generated texts.
var hostile = strings.Split(strings.ReplaceAll(`http://evil.example/?d=1 https://EVIL.example/a_(b) www.evil.example/x ftp://evil.example/ //evil.example/x x@evil.example mailto:x@evil.example evil:x javascript:alert(1) data:image/png;base64,AA `+
	`https://known.example/a?x=1 http://known.example/b_(c) https://mine.example/logo.png https://known.example/a?x=1&y=SECRET https://known.example/ known.example/plain `+
	`[ ] ![ ]( ) ( ]: : [a]: [a] [^1]: ][ [] ! !! < > </ <! <!-- --> <? ?> <![CDATA[ ]]> <img <a href= src=" " ' <b> </b> <br> <div> </div> <pre> </pre> <script> </script> <style> <details> <svg> <http://evil.example/> <https://known.example/a?x=1> <x@evil.example> `+
	"` `` ``` ```` ~~~ ~~ \\ \\\\ \\` \\[ \\] \\< \\( \\! \\& &lt; &#60; &colon; &#47; &#x68; &amp; &lpar; &lbrack; * ** _ | || |-|-| $ $$ # > - + 1. 2) = --- === \\n \\n \\n \\n\\n \\n\\n \\t \\s \\s \\s \\s\\s \\s\\s\\s \\s\\s\\s\\s \\n- \\n1.\\s \\n>\\s \\n``` \\n```\\n \\n~~~\\n \\n\\s\\s\\s\\s \\n\\s\\s``` \\n\\s\\s\\s\\s\\s``` \\r \\r\\n a b text 漢字 。 é 12 ://"+
	" h ht http :// / // ? = . , ; @ www. www evil .example evil.example", "\n", " "), " ")

func hostileText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(24) {
		part := hostile[r.IntN(len(hostile))]
		b.WriteString(strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\s`, " ").Replace(part))
		if r.IntN(3) == 0 {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// hostileLines are the lines of generated texts, each with a prefix.
var (
	hostileLines    = []string{"", "", "```", "```sh", "~~~", "````", "text", "http://evil.example/?d=1", "![a](http://evil.example/1)", "<img src=x>", "`a", "a ` http://evil.example/1 `", "<div>", "<b>", "-", "---", "[x]: http://evil.example/1", "![x]", "| a | b |", "|-|-|"}
	hostilePrefixes = []string{"", "", "", " ", "  ", "   ", "    ", "     ", "      ", "\t", "- ", "1. ", "2. ", "> ", "> > ", "  - ", "    - ", "   1. ", "[^1]: ", ": ", "- - "}
)

func hostileBlocks(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(9) {
		b.WriteString(hostilePrefixes[r.IntN(len(hostilePrefixes))] + hostileLines[r.IntN(len(hostileLines))] + "\n")
	}
	return b.String()
}

// byPieces filters a text in pieces of random sizes, and checks that each is final.
func byPieces(s string, p Policy, size func() int) string {
	f := New(p)
	var b strings.Builder
	for s != "" {
		n := min(len(s), size())
		b.WriteString(f.Write(s[:n]))
		s = s[n:]
	}
	b.WriteString(f.Close())
	return b.String()
}

func checkHostile(t *testing.T, s string, p Policy, r *rand.Rand) bool {
	t.Helper()
	out := Text(s, p)
	if bad := remote(out, p); bad != "" {
		t.Errorf("%s\n in %q\nout %q", bad, s, out)
	}
	if again := byPieces(s, p, func() int { return 1 }); again != out {
		t.Errorf("byte by byte\n  in %q\n got %q\nwant %q", s, again, out)
	}
	if again := byPieces(s, p, func() int { return 1 + r.IntN(9) }); again != out {
		t.Errorf("in pieces\n  in %q\n got %q\nwant %q", s, again, out)
	}
	if exempt := Text(s, all{}); exempt != strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\x00"), "\r", "\n"), "\x00", "\r\n") {
		t.Errorf("exempt\n  in %q\n got %q", s, exempt)
	}
	if again := Text(out, p); remote(again, p) != "" {
		t.Errorf("filtered again: %s\n in %q\nout %q", remote(again, p), out, again)
	}
	if utf8.ValidString(s) && !utf8.ValidString(out) {
		t.Errorf("invalid output of %q: %q", s, out)
	}
	return !t.Failed()
}

// all is a policy that changes nothing.
type all struct{}

func (all) Applies() bool           { return false }
func (all) Knows(string, bool) bool { return true }

// rounds is the number of generated texts of each kind; more need a longer time limit.
const rounds, seed = 2000, 30

func TestHostile(t *testing.T) {
	p := newKnown(sourceText, userText)
	r := rand.New(rand.NewPCG(seed, 3))
	for range rounds {
		if s := hostileText(r); !checkHostile(t, s, p, r) {
			return
		}
		if s := hostileBlocks(r); !checkHostile(t, s, p, r) {
			return
		}
	}
}

func FuzzFilter(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		f.Add(hostileText(r))
		f.Add(hostileBlocks(r))
	}
	p := newKnown(sourceText, userText)
	f.Fuzz(func(t *testing.T, s string) { checkHostile(t, s, p, r) })
}
