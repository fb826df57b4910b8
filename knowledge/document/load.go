package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Load reads paths, files and folders, into a collection: [Scan] and then
// [Listing.Load]. It is an error if a path that was named cannot be read, or if
// there is nothing to read at all.
func Load(ctx context.Context, paths []string, opts Options) (*Collection, []Skipped, error) {
	list, err := Scan(ctx, paths, opts)
	if err != nil {
		return nil, nil, err
	}
	c, skipped, err := list.Load(ctx)
	if err == nil && len(c.docs) == 0 {
		return nil, skipped, fmt.Errorf("read %s: %w", strings.Join(paths, ", "), ErrNothing)
	}
	return c, skipped, err
}

// ErrNothing says that paths have no file that can be read.
var ErrNothing = errors.New("there is no text in it that can be read")

// Load reads the files of the listing. A file that cannot be read, or one of
// several documents in it, is skipped, with the reason; it is an error if the
// user named the file and nothing of it can be read. What was skipped by the
// scan comes first. The same files give the same collection.
func (l *Listing) Load(ctx context.Context) (*Collection, []Skipped, error) {
	skipped := append([]Skipped(nil), l.Skipped...)
	build := newBuilder()
	hashes := map[string]string{}
	progress := Progress{OfFiles: len(l.Files), OfBytes: l.Bytes()}
	for i, r := range l.read(ctx) {
		f := l.Files[i]
		progress.Files++
		progress.Bytes += f.Size
		if l.opts.Progress != nil {
			l.opts.Progress(progress)
		}
		if len(r.docs) == 0 && f.Named && ctx.Err() == nil {
			return nil, nil, fmt.Errorf("read %s: %w", f.Path, r.reason())
		}
		if l.opts.Check {
			l.opts.Readings.keep(f, r)
		}
		for _, err := range r.errs {
			skipped = appendSkipped(skipped, f.Path, err)
		}
		for _, d := range r.docs {
			if first := hashes[d.Hash]; first != "" {
				skipped = appendSkipped(skipped, d.Source, fmt.Errorf("the same text as %s", first))
				continue
			}
			hashes[d.Hash] = d.Source
			build.add(d)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read documents: %w", err)
	}
	return build.collection(), skipped, nil
}

// A reading is what came of a file.
type reading struct {
	docs []*Document
	errs []error // at most maxSkipped
}

// reason returns why nothing could be read.
func (r reading) reason() error {
	if len(r.errs) == 0 {
		return errEmpty
	}
	return r.errs[0]
}

// read yields what comes of each file, in order. It reads a few files ahead.
func (l *Listing) read(ctx context.Context) iter.Seq2[int, reading] {
	return func(yield func(int, reading) bool) {
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ahead := make([]chan reading, runtime.GOMAXPROCS(0))
		for w := range ahead {
			ahead[w] = make(chan reading, 4)
			wg.Go(func() {
				for i := w; i < len(l.Files); i += len(ahead) {
					select {
					case ahead[w] <- l.readFile(ctx, l.Files[i], 0):
					case <-ctx.Done():
						return
					}
				}
			})
		}
		for i := range l.Files {
			select {
			case r := <-ahead[i%len(ahead)]:
				if !yield(i, r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// readFile reads a file that is not kept. It stops after so many documents, unless enough
// is 0.
func (l *Listing) readFile(ctx context.Context, f File, enough int) reading {
	if err := ctx.Err(); err != nil {
		return reading{errs: []error{err}}
	}
	if r, ok := l.opts.Readings.take(f); ok {
		return r
	}
	raw, err := ReadFile(f.Path, f.most)
	if err != nil {
		return reading{errs: []error{err}}
	}
	var r reading
	for doc, err := range Read(f.Path, raw, l.opts.Formats, f.Named) {
		switch {
		case ctx.Err() != nil:
			return reading{errs: []error{ctx.Err()}}
		case err == nil:
			if r.docs = append(r.docs, doc); len(r.docs) == enough {
				return r
			}
		case len(r.errs) < maxSkipped:
			r.errs = append(r.errs, err)
		}
	}
	return r
}

// Check returns why nothing can be read of a file of the listing, or nil. It stops at the
// first document unless it can keep the file.
func (l *Listing) Check(ctx context.Context, f File) error {
	enough := 1
	if l.opts.Readings != nil {
		enough = 0
	}
	r := l.readFile(ctx, f, enough)
	if len(r.docs) == 0 {
		return r.reason()
	}
	l.opts.Readings.keep(f, r)
	return nil
}

// Readings keeps what was read of files for a check until [Listing.Load] takes it. It is
// safe for concurrent use. A nil one keeps nothing.
type Readings struct {
	mu     sync.Mutex
	byFile map[File]reading
}

func (k *Readings) keep(f File, r reading) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byFile == nil {
		k.byFile = make(map[File]reading)
	}
	k.byFile[f] = r
}

// take returns what is kept of a file as it is now, and forgets it.
func (k *Readings) take(f File) (reading, bool) {
	if k == nil {
		return reading{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.byFile[f]
	delete(k.byFile, f)
	return r, ok
}

// Options bound what is read. The zero value has good bounds.
type Options struct {
	MaxFile  int64 // most bytes of a file; if zero, what its format allows
	MaxTotal int64 // most bytes of all files; 256 MiB if zero
	MaxFiles int   // most files; 20,000 if zero

	Formats []Format // what can be read; [Formats] if nil

	// Readings keeps what was read for a check, for listings with the same Formats. If nil,
	// a file that was checked is read again.
	Readings *Readings
	Check    bool // the load is a check, and Readings keeps what it reads

	// Progress, if set, is called after each file, on the goroutine of the caller.
	Progress func(Progress)
}

// Progress says how far reading has come.
type Progress struct {
	Files, OfFiles int
	Bytes, OfBytes int64
}

func (o Options) orDefault() Options {
	if o.MaxTotal <= 0 {
		o.MaxTotal = 256 << 20
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 20_000
	}
	if o.Formats == nil {
		o.Formats = Formats()
	}
	return o
}

// Bounds on a walk.
const (
	maxDepth   = 64      // of folders
	maxEntries = 500_000 // of folders and files looked at
	maxSkipped = 1000    // told one by one
)

// Skipped is a file or folder that was left out, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// A File is a file worth reading, as a walk found it.
type File struct {
	Path  string
	Size  int64
	Named bool // the user named it, not a folder it is in

	mtime int64
	id    fileID
	most  int64 // bytes that are read of it
}

// ModTime returns when the file was written last, as the walk found it.
func (f File) ModTime() time.Time { return time.Unix(0, f.mtime) }

// A Listing is what [Scan] found, in the order of the paths and, in a folder, of
// the names.
type Listing struct {
	Files   []File
	Skipped []Skipped

	opts Options
}

// Scan walks paths, files and folders, and lists what is worth reading, without
// reading it. Hidden files, what .gitignore and .ignore name, and folders that
// only programs fill are left out silently; what is left out for another reason
// is in Skipped. A path that is missing, or is itself not readable, is an error
// of one line.
func Scan(ctx context.Context, paths []string, opts Options) (*Listing, error) {
	w := &walk{ctx: ctx, list: &Listing{opts: opts.orDefault()}, seen: map[fileID]bool{}}
	var named []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err == nil {
			named = append(named, abs)
			abs, err = filepath.EvalSymlinks(abs)
			w.roots = append(w.roots, abs)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p, reason(err))
		}
	}
	for i, p := range named {
		if err := w.root(p); err != nil {
			return nil, fmt.Errorf("read %s: %w", paths[i], err)
		}
	}
	return w.list, nil
}

// Key names the state of the files: it changes when one is added, removed,
// renamed or written to.
func (l *Listing) Key() string {
	h := sha256.New()
	for _, f := range l.Files {
		fmt.Fprintf(h, "%q %d %d %v\n", f.Path, f.Size, f.mtime, f.id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Bytes returns how much there is to read.
func (l *Listing) Bytes() int64 {
	var n int64
	for _, f := range l.Files {
		n += f.Size
	}
	return n
}

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
