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

// Load reads files and folders into a collection, by [Scan] and [FileList.Load]. It
// returns an error if a named path is unreadable or no document results.
func Load(ctx context.Context, paths []string, opts Options) (*Collection, []SkippedFile, error) {
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

// ErrNothing reports that the paths contain no readable file.
var ErrNothing = errors.New("no readable text")

// Load reads the listed files. It skips unreadable files and parts with a reason;
// skips of the scan come first. It returns an error if a file that the user named is
// unreadable. Equal files give equal collections.
func (l *FileList) Load(ctx context.Context) (*Collection, []SkippedFile, error) {
	skipped := append([]SkippedFile(nil), l.Skipped...)
	build := newBuilder()
	hashes := map[string]string{}
	progress := Progress{TotalFiles: len(l.Files), TotalBytes: l.Bytes()}
	for i, r := range l.readFiles(ctx) {
		f := l.Files[i]
		progress.Files++
		progress.Bytes += f.Size
		if l.opts.Progress != nil {
			l.opts.Progress(progress)
		}
		if len(r.docs) == 0 && f.Named && ctx.Err() == nil {
			return nil, nil, fmt.Errorf("read %s: %w", f.Path, r.firstError())
		}
		if l.opts.CacheResults {
			l.opts.CheckCache.storeResult(f, r)
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
			build.addDocument(d)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read documents: %w", err)
	}
	return build.buildCollection(), skipped, nil
}

type fileResult struct {
	docs []*Document
	errs []error // at most maxSkipped
}

func (r fileResult) firstError() error {
	if len(r.errs) == 0 {
		return errEmpty
	}
	return r.errs[0]
}

func (l *FileList) readFiles(ctx context.Context) iter.Seq2[int, fileResult] {
	return func(yield func(int, fileResult) bool) {
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ahead := make([]chan fileResult, runtime.GOMAXPROCS(0))
		for w := range ahead {
			ahead[w] = make(chan fileResult, 4)
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

// readFile reads a file unless Readings has it. It stops after enough documents; 0
// means all.
func (l *FileList) readFile(ctx context.Context, f File, enough int) fileResult {
	if err := ctx.Err(); err != nil {
		return fileResult{errs: []error{err}}
	}
	if r, ok := l.opts.CheckCache.takeResult(f); ok {
		return r
	}
	release, err := inFlight.acquire(ctx, f.Size)
	if err != nil {
		return fileResult{errs: []error{err}}
	}
	defer release()
	raw, err := ReadFile(f.Path, f.maxBytes)
	if err != nil {
		return fileResult{errs: []error{err}}
	}
	var r fileResult
	for doc, err := range Read(f.Path, raw, l.opts.Formats, f.Named) {
		switch {
		case ctx.Err() != nil:
			return fileResult{errs: []error{ctx.Err()}}
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

// Check returns the reason why a listed file is unreadable, or nil. It stops at the
// first document unless Readings can keep the result.
func (l *FileList) Check(ctx context.Context, f File) error {
	enough := 1
	if l.opts.CheckCache != nil {
		enough = 0
	}
	r := l.readFile(ctx, f, enough)
	if len(r.docs) == 0 {
		return r.firstError()
	}
	l.opts.CheckCache.storeResult(f, r)
	return nil
}

// A CheckCache keeps the results of [FileList.Check] until [FileList.Load] takes them. It
// is safe for concurrent use. A nil Readings keeps nothing.
type CheckCache struct {
	mu     sync.Mutex
	byFile map[File]fileResult
}

func (k *CheckCache) storeResult(f File, r fileResult) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byFile == nil {
		k.byFile = make(map[File]fileResult)
	}
	k.byFile[f] = r
}

// takeResult returns and forgets the reading of an unchanged file.
func (k *CheckCache) takeResult(f File) (fileResult, bool) {
	if k == nil {
		return fileResult{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.byFile[f]
	delete(k.byFile, f)
	return r, ok
}

// Options bound a load. The zero value has suitable bounds.
type Options struct {
	MaxFile  int64 // maximum bytes per file; 0: the format's limit
	MaxTotal int64 // maximum bytes of all files; 0: 256 MiB
	MaxFiles int   // maximum number of files; 0: 20,000

	Formats []Format // nil: [Formats]

	// CheckCache keeps check results for listings with the same Formats. If nil, a load
	// reads checked files again.
	CheckCache   *CheckCache
	CacheResults bool // store results in Readings

	// Progress, if set, is called after each file on the caller's goroutine.
	Progress func(Progress)
}

// Progress reports how much of a load is complete.
type Progress struct {
	Files, TotalFiles int
	Bytes, TotalBytes int64
}

func (o Options) withDefaults() Options {
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

const (
	maxDepth   = 64      // nested folders
	maxEntries = 500_000 // visited folders and files
	maxSkipped = 1000    // reported one by one
)

// SkippedFile is a file or folder that was not read.
type SkippedFile struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// A File is a readable file of a walk.
type File struct {
	Path  string
	Size  int64
	Named bool // the user named it directly

	mtime    int64
	id       fileID
	maxBytes int64 // bytes to read
}

// ModTime returns the modification time at the walk.
func (f File) ModTime() time.Time { return time.Unix(0, f.mtime) }

// A FileList is the result of [Scan], in the order of the paths and of the names in
// each folder.
type FileList struct {
	Files   []File
	Skipped []SkippedFile

	opts Options
}

// Scan walks files and folders and lists the readable files without reading them. It
// silently omits hidden files, matches of .gitignore and .ignore, and generated
// folders; Skipped lists other omissions. A missing or unreadable path is a one-line
// error.
func Scan(ctx context.Context, paths []string, opts Options) (*FileList, error) {
	w := &walk{ctx: ctx, list: &FileList{opts: opts.withDefaults()}, seen: map[fileID]bool{}}
	var named []string
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err == nil {
			named = append(named, abs)
			abs, err = filepath.EvalSymlinks(abs)
			w.roots = append(w.roots, abs)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", p, skipReason(err))
		}
	}
	for i, p := range named {
		if err := w.walkRoot(p); err != nil {
			return nil, fmt.Errorf("read %s: %w", paths[i], err)
		}
	}
	return w.list, nil
}

// Key returns a hash of the files' state. It changes when a file is added, removed,
// renamed or written.
func (l *FileList) Key() string {
	h := sha256.New()
	for _, f := range l.Files {
		fmt.Fprintf(h, "%q %d %d %v\n", f.Path, f.Size, f.mtime, f.id)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Bytes returns the total size of the files.
func (l *FileList) Bytes() int64 {
	var n int64
	for _, f := range l.Files {
		n += f.Size
	}
	return n
}

// A syntax describes the comments of some languages.
type syntax struct {
	name string
	exts []string
	line []string    // line comment marks
	span [][2]string // block comment marks
}

var syntaxes = []syntax{
	{
		name: "C and related languages", line: []string{"//"}, span: [][2]string{{"/*", "*/"}},
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
	{name: "SQL and related languages", line: []string{"--"}, span: [][2]string{{"/*", "*/"}, {"--[[", "]]"}, {"{-", "-}"}}, exts: []string{".sql", ".lua", ".hs", ".elm", ".adb", ".ads"}},
	{name: "Lisp", line: []string{";"}, span: [][2]string{{"#|", "|#"}}, exts: []string{".lisp", ".cl", ".el", ".clj", ".cljs", ".scm", ".rkt", ".asm"}},
	{name: "markup of user interfaces", line: []string{"//"}, span: [][2]string{{"<!--", "-->"}, {"/*", "*/"}}, exts: []string{".vue", ".svelte", ".astro", ".xsl", ".xslt", ".xsd"}},
	{name: "mathematics", line: []string{"%"}, span: [][2]string{{"%{", "%}"}}, exts: []string{".erl", ".hrl", ".pro", ".sty", ".cls"}},
}

func codeFormats() []Format {
	out := make([]Format, 0, len(syntaxes))
	for _, s := range syntaxes {
		out = append(out, Format{Name: "source code: " + s.name, Exts: s.exts, Extract: func(file []byte) (Content, error) { return splitSource(string(file), s) }})
	}
	return out
}

var errGenerated = errors.New("generated file")

// Bounds on source code.
const (
	maxCodeLine = 8000 // longer lines are generated
	pieceLines  = 40   // approximate lines per code block
)

// splitSource divides a program into text and code: whole-line comments are text, and code
// splits at blank lines.
func splitSource(text string, s syntax) (Content, error) {
	head := text[:min(len(text), 1024)]
	if strings.Contains(head, "DO NOT EDIT") && strings.Contains(head, "enerated") || strings.Contains(head, "@generated") {
		return Content{}, errGenerated
	}
	r := &sourceReader{syntax: s}
	for line := range strings.Lines(text) {
		if len(line) > maxCodeLine {
			return Content{}, errGenerated
		}
		r.readLine(strings.TrimRight(line, " \t\r\n"))
	}
	r.flush()
	return Content{Blocks: r.blocks}, nil
}

// A sourceReader reads lines. At most one of code and comment is open.
type sourceReader struct {
	syntax
	blocks  []Block
	code    []string
	comment []string
	until   string // end of the block comment; "" if none is open
}

func (r *sourceReader) readLine(line string) {
	s := strings.TrimLeft(line, " \t")
	if r.until != "" {
		r.readCommentLine(s)
		return
	}
	for _, span := range r.span {
		if rest, ok := strings.CutPrefix(s, span[0]); ok {
			r.flushCode()
			r.until = span[1]
			r.readCommentLine(rest)
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
		r.flush() // a new piece after a blank line
		r.code = append(r.code, line)
	default:
		r.flushComment()
		r.code = append(r.code, line)
	}
}

// readCommentLine reads a line of a block comment.
func (r *sourceReader) readCommentLine(s string) {
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

// flushComment ends a comment. Headings in it become text.
func (r *sourceReader) flushComment() {
	for _, b := range Plain(strings.Join(r.comment, "\n")).Blocks {
		if b.Kind == Heading {
			b = Block{Text: b.Text}
		}
		r.blocks = append(r.blocks, b)
	}
	r.comment = nil
}
