package document

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeTree writes files into a new folder. A name ending in "/" is a folder; a text after
// "-> " is a link target.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		switch to, link := strings.CutPrefix(text, "-> "); {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(path, 0o700))
		case link:
			must(t, os.Symlink(strings.ReplaceAll(to, "ROOT", dir), path))
		default:
			must(t, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func relativeSources(c *Collection, dir string) []string {
	var out []string
	for _, d := range c.Documents() {
		rel, err := filepath.Rel(dir, d.Source)
		if err != nil {
			rel = d.Source
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out
}

func skipReasons(list []SkippedFile, dir string) []string {
	var out []string
	for _, s := range list {
		out = append(out, strings.ReplaceAll(strings.TrimPrefix(s.Path, dir+string(filepath.Separator))+": "+s.Reason, dir, "DIR"))
	}
	return out
}

func TestLoad(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   map[string]string
		opts    Options
		want    []string
		skipped []string
	}{
		{
			name:  "order and kinds",
			files: map[string]string{"b.md": "bb", "a.txt": "aa", "c/d.html": "<p>dd", "c/README": "rr", "B.MD": "BB"},
			want:  []string{"B.MD", "a.txt", "b.md", "c/README", "c/d.html"},
		},
		{
			name:  "hidden and machine made",
			files: map[string]string{"a.md": "a", ".b.md": "b", ".git/c.md": "c", "node_modules/d.md": "d", "go.mod": "module x", "vendor/e.md": "e", "env/pyvenv.cfg": "x", "env/f.md": "f", "x/vendor/g.md": "g"},
			want:  []string{"a.md", "x/vendor/g.md"}, skipped: []string{"DIR: unsupported format: 1 .mod"},
		},
		{
			name:  "ignored",
			files: map[string]string{".gitignore": "draft*\nout/\n", "a.md": "a", "draft1.md": "d", "out/b.md": "b", "x/draft2.md": "e", "x/.gitignore": "!draft2.md\nc.md", "x/c.md": "c"},
			want:  []string{"a.md", "x/draft2.md"},
		},
		{
			name:    "other formats",
			files:   map[string]string{"a.md": "a", "b.png": "x", "c.png": "y", "d.zip": "z"},
			want:    []string{"a.md"},
			skipped: []string{"DIR: unsupported format: 2 .png, 1 .zip"},
		},
		{
			name:    "bad files",
			files:   map[string]string{"a.md": "a", "b.md": "x\x00y", "c.md": "", "d.txt": strings.Repeat("d", 200)},
			opts:    Options{MaxFile: 100},
			want:    []string{"a.md"},
			skipped: []string{"d.txt: 200 bytes: larger than the limit of 100 bytes", "b.md: not a text", "c.md: it has no text"},
		},
		{
			name:    "same text",
			files:   map[string]string{"a.md": "the same", "b/c.txt": "the same", "d.md": "-> ROOT/a.md"},
			want:    []string{"a.md"},
			skipped: []string{"b/c.txt: the same text as DIR/a.md"},
		},
		{
			name:    "too many files",
			files:   map[string]string{"a.md": "a", "b.md": "b", "c.md": "c", "d.md": "d"},
			opts:    Options{MaxFiles: 2},
			want:    []string{"a.md", "b.md"},
			skipped: []string{"c.md: more than 2 files: the rest is skipped"},
		},
		{
			name:    "too much in all",
			files:   map[string]string{"a.md": "aaaa", "b.md": "bbbb", "c.md": "c"},
			opts:    Options{MaxTotal: 6},
			want:    []string{"a.md"},
			skipped: []string{"b.md: more than 6 bytes in all: the rest is skipped"},
		},
		{
			name:    "links",
			files:   map[string]string{"a/x.md": "x", "a/up": "-> ROOT", "a/self": "-> self", "b": "-> ROOT/a", "gone.md": "-> nowhere", "out": "-> /", "z.md": "-> ROOT/a/x.md"},
			want:    []string{"a/x.md"},
			skipped: []string{"a/self: symbolic links form a loop", "gone.md: no such file or folder", "out: the link points outside the folder"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTree(t, c.files)
			got, skipped, err := Load(t.Context(), []string{dir}, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, relativeSources(got, dir)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skipped, skipReasons(skipped, dir)); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadNamed(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"a.md": "aa", ".hidden.md": "hh", "code.go": "// cc", "odd.bin": "oo", "page": "<!DOCTYPE html><p>pp", "x/b.md": "bb", "link": "-> ROOT/x",
	})
	at := func(names ...string) []string {
		for i, n := range names {
			names[i] = filepath.Join(dir, n)
		}
		return names
	}
	for _, c := range []struct {
		name  string
		paths []string
		want  []string
	}{
		{"in their order", at("x", "a.md"), []string{"x/b.md", "a.md"}},
		{"twice", at("a.md", ".", "a.md", "x/../x"), []string{"a.md", "code.go", "x/b.md", "page"}},
		{"hidden, of any kind", at(".hidden.md", "odd.bin"), []string{".hidden.md", "odd.bin"}},
		{"link to a folder", at("link"), []string{"link/b.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := Load(t.Context(), c.paths, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, relativeSources(got, dir)); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"a.md": "a", "b.md": "x\x00y", "loop": "-> loop", "1": "-> 2", "2": "-> 1", "empty.md": "", "none/": "", "pics/p.png": "x", "a.png": "\x89PNG\x00",
	})
	big := filepath.Join(dir, "big.md")
	must(t, os.WriteFile(big, nil, 0o600))
	must(t, os.Truncate(big, 2<<30))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	must(t, err)
	defer l.Close()
	for name, want := range map[string]string{
		"nowhere":   "no such file or folder",
		"a.md/b":    "no such file or folder",
		"b.md":      "not a text",
		"a.png":     "not a text",
		"loop":      "symbolic links form a loop",
		"1":         "symbolic links form a loop",
		"empty.md":  "it has no text",
		"big.md":    "2 GiB: larger than the limit of 8 MiB",
		"pipe":      "a pipe, not a file",
		"s":         "a socket, not a file",
		"none":      "no readable text",
		"pics":      "no readable text",
		"/dev/zero": "a device, not a file",
	} {
		t.Run(name, func(t *testing.T) {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, name)
			}
			_, _, err := Load(t.Context(), []string{filepath.Join(dir, "a.md"), path}, Options{})
			if errors.Is(err, nil) && want == ErrNothing.Error() {
				_, _, err = Load(t.Context(), []string{path}, Options{})
			}
			if err == nil || err.Error() != "read "+path+": "+want {
				t.Errorf("error %v, want: read %s: %s", err, path, want)
			}
		})
	}
}

func TestSpecialFilesInFolder(t *testing.T) {
	dir := writeTree(t, map[string]string{"a.md": "a"})
	must(t, syscall.Mkfifo(filepath.Join(dir, "p.md"), 0o600))
	_, skipped, err := Load(t.Context(), []string{dir}, Options{})
	must(t, err)
	if diff := cmp.Diff([]string{"p.md: a pipe, not a file"}, skipReasons(skipped, dir)); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if _, _, err := openRegular(filepath.Join(dir, "p.md")); err == nil || err.Error() != "a pipe, not a file" {
		t.Errorf("open: %v", err)
	}
}

func TestLoadCancelled(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("%03d.md", i)] = fmt.Sprint("text ", i)
	}
	dir := writeTree(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	_, _, err := Load(ctx, []string{dir}, Options{Progress: func(p Progress) {
		calls++
		if p.TotalFiles != 200 || p.Files != calls {
			t.Errorf("progress %+v at call %d", p, calls)
		}
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if calls == 200 {
		t.Error("all files were read")
	}
	if _, err := Scan(ctx, []string{dir}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("scan: %v, want %v", err, context.Canceled)
	}
}

func TestListingKey(t *testing.T) {
	dir := writeTree(t, map[string]string{"a.md": "one", "b.md": "two"})
	key := func() string {
		t.Helper()
		l, err := Scan(t.Context(), []string{dir}, Options{})
		must(t, err)
		return l.Key()
	}
	first := key()
	if again := key(); again != first {
		t.Error("the key of the same files differs")
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("three"), 0o600))
	second := key()
	must(t, os.Rename(filepath.Join(dir, "b.md"), filepath.Join(dir, "c.md")))
	if third := key(); second == first || third == second {
		t.Error("the key does not change with the files")
	}
}

func TestReason(t *testing.T) {
	for want, err := range map[string]error{
		"permission denied":          &os.PathError{Op: "open", Path: "x", Err: syscall.EACCES},
		"no such file or folder":     &os.PathError{Op: "open", Path: "x", Err: syscall.ENOENT},
		"symbolic links form a loop": &os.PathError{Op: "open", Path: "x", Err: syscall.ELOOP},
		"input/output error":         &os.PathError{Op: "read", Path: "x", Err: syscall.EIO},
	} {
		if got := skipReason(err); got.Error() != want {
			t.Errorf("reason of %v: %v, want %s", err, got, want)
		}
	}
}
