package document

import (
	"errors"
	"slices"
	"strings"
)

// A syntax is how languages write what is for people.
type syntax struct {
	name string
	exts []string
	line []string    // begins a comment
	span [][2]string // begins and ends a comment of lines
}

// syntaxes are the languages of programs that are read.
var syntaxes = []syntax{
	{
		name: "C and its kin", line: []string{"//"}, span: [][2]string{{"/*", "*/"}},
		exts: []string{
			".go", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".cs", ".java", ".kt", ".kts", ".swift", ".rs", ".js", ".jsx", ".mjs", ".cjs",
			".ts", ".tsx", ".scala", ".dart", ".php", ".proto", ".groovy", ".gradle", ".m", ".mm", ".zig", ".css", ".scss", ".less", ".glsl", ".sol",
		},
	},
	{name: "Python", line: []string{"#"}, span: [][2]string{{`"""`, `"""`}, {"'''", "'''"}}, exts: []string{".py", ".pyi", ".pyx"}},
	{
		name: "scripts and settings", line: []string{"#"}, span: [][2]string{{"=begin", "=end"}, {"<#", "#>"}},
		exts: []string{
			".rb", ".sh", ".bash", ".zsh", ".fish", ".pl", ".pm", ".r", ".jl", ".ex", ".exs", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf",
			".tf", ".mk", ".cmake", ".ps1", ".nix", ".properties", ".tcl", ".awk",
		},
	},
	{name: "SQL and its kin", line: []string{"--"}, span: [][2]string{{"/*", "*/"}, {"--[[", "]]"}, {"{-", "-}"}}, exts: []string{".sql", ".lua", ".hs", ".elm", ".adb", ".ads"}},
	{name: "Lisp", line: []string{";"}, span: [][2]string{{"#|", "|#"}}, exts: []string{".lisp", ".cl", ".el", ".clj", ".cljs", ".scm", ".rkt", ".asm"}},
	{name: "markup of programs", line: []string{"//"}, span: [][2]string{{"<!--", "-->"}, {"/*", "*/"}}, exts: []string{".vue", ".svelte", ".astro", ".xsl", ".xslt", ".xsd"}},
	{name: "mathematics", line: []string{"%"}, span: [][2]string{{"%{", "%}"}}, exts: []string{".erl", ".hrl", ".pro", ".sty", ".cls"}},
}

// codeFormats returns the formats of programs.
func codeFormats() []Format {
	out := make([]Format, 0, len(syntaxes))
	for _, s := range syntaxes {
		out = append(out, Format{Name: "source code: " + s.name, Exts: s.exts, Extract: func(file []byte) (Content, error) { return source(string(file), s) }})
	}
	return out
}

var errMachine = errors.New("a program wrote it")

// Bounds on source code.
const (
	maxCodeLine = 8000 // bytes of a line that somebody wrote
	pieceLines  = 40   // of a piece of code, about
)

// source takes a program apart: comments that have lines of their own are text,
// all else is code, in pieces at blank lines.
func source(text string, s syntax) (Content, error) {
	head := text[:min(len(text), 1024)]
	if strings.Contains(head, "DO NOT EDIT") && strings.Contains(head, "enerated") || strings.Contains(head, "@generated") {
		return Content{}, errMachine
	}
	r := &sourceReader{syntax: s}
	for line := range strings.Lines(text) {
		if len(line) > maxCodeLine {
			return Content{}, errMachine
		}
		r.read(strings.TrimRight(line, " \t\r\n"))
	}
	r.flush()
	return Content{Blocks: r.blocks}, nil
}

// sourceReader reads lines. At most one of code and comment is being gathered.
type sourceReader struct {
	syntax
	blocks  []Block
	code    []string
	comment []string
	until   string // what ends the comment; "" if it is of single lines or none is open
}

func (r *sourceReader) read(line string) {
	s := strings.TrimLeft(line, " \t")
	if r.until != "" {
		r.inSpan(s)
		return
	}
	for _, span := range r.span {
		if rest, ok := strings.CutPrefix(s, span[0]); ok {
			r.flushCode()
			r.until = span[1]
			r.inSpan(rest)
			return
		}
	}
	i := slices.IndexFunc(r.line, func(mark string) bool { return strings.HasPrefix(s, mark) })
	switch {
	case i >= 0 && !strings.HasPrefix(s, "#!"):
		r.flushCode()
		r.comment = append(r.comment, strings.TrimPrefix(strings.TrimLeft(s, r.line[i][:1]+"!"), " "))
	case i >= 0:
	case s == "" && len(r.code) == 0:
		r.flush()
	case s != "" && s == line && len(r.code) > 0 && (r.code[len(r.code)-1] == "" || len(r.code) >= pieceLines):
		r.flush() // a blank line, and then something new
		r.code = append(r.code, line)
	default:
		r.flushComment()
		r.code = append(r.code, line)
	}
}

// inSpan reads a line of a comment of lines.
func (r *sourceReader) inSpan(s string) {
	before, _, ends := strings.Cut(s, r.until)
	r.comment = append(r.comment, strings.TrimPrefix(strings.TrimLeft(before, "*!"), " "))
	if ends {
		r.until = ""
		r.flushComment()
	}
}

func (r *sourceReader) flush() {
	r.flushComment()
	r.flushCode()
}

func (r *sourceReader) flushCode() {
	if len(r.code) > 0 {
		r.blocks = append(r.blocks, Block{Kind: Code, Text: strings.Join(r.code, "\n")})
	}
	r.code = nil
}

// flushComment ends a comment. Nothing in it is a heading of the file.
func (r *sourceReader) flushComment() {
	for _, b := range Plain(strings.Join(r.comment, "\n")).Blocks {
		if b.Kind == Heading {
			b = Block{Text: b.Text}
		}
		r.blocks = append(r.blocks, b)
	}
	r.comment = nil
}
