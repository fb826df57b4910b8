package files

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/sensor"
	"ponder/sensor/sensortest"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// A tree is a folder that a sensor looks at every 5 minutes.
type tree struct {
	t      *testing.T
	dir    string
	s      sensor.Sensor
	now    time.Time
	cursor json.RawMessage
}

func newTree(t *testing.T, o Options) *tree {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if o.Paths == nil {
		o.Paths = []string{dir}
	}
	if o.Rescan == 0 {
		o.Rescan = 4 * time.Minute // shorter than between looks: events are not used
	}
	s := New(o)
	t.Cleanup(func() { s.Close() })
	return &tree{t: t, dir: dir, s: s, now: start}
}

// write writes a file with the current time.
func (tr *tree) write(name, text string) {
	tr.t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Chtimes(path, tr.now, tr.now); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) remove(name string) {
	tr.t.Helper()
	if err := os.RemoveAll(filepath.Join(tr.dir, name)); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) look() []ponder.Observation {
	tr.t.Helper()
	tr.now = tr.now.Add(5 * time.Minute)
	seen, next, err := tr.s.Look(tr.t.Context(), tr.now, tr.cursor)
	if err != nil {
		tr.t.Fatal(err)
	}
	if len(next) > sensor.MaxCursor {
		tr.t.Fatalf("the cursor has %d bytes", len(next))
	}
	if len(seen) == 0 && tr.cursor != nil && string(next) != string(tr.cursor) {
		tr.t.Fatal("nothing is seen, and the cursor is another")
	}
	tr.cursor = next
	return seen
}

// expect looks and checks the start of each content.
func (tr *tree) expect(want ...string) {
	tr.t.Helper()
	seen := tr.look()
	var got []string
	for _, o := range seen {
		got = append(got, o.Content)
	}
	if len(got) != len(want) {
		tr.t.Fatalf("seen %q, want %q", got, want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			tr.t.Errorf("seen %q, want %q", got[i], want[i])
		}
	}
}

// TestDeadline checks the deadline in a file.
func TestDeadline(t *testing.T) {
	tr := newTree(t, Options{})
	tr.expect()
	tr.write("thesis.md", "# Thesis\nDeadline: 24 November 2026 hand in the thesis\n")
	tr.write("rent.txt", "Pay the rent by 5 March")
	tr.write("past.txt", "Born on 5 March 1990")
	due := map[string]string{}
	for _, o := range tr.look() {
		due[filepath.Base(o.Subject)] = o.Due.Format(time.DateOnly)
	}
	for name, want := range map[string]string{"thesis.md": "2026-11-24", "rent.txt": "2026-03-05", "past.txt": "0001-01-01"} {
		if due[name] != want {
			t.Errorf("%s is due %s, want %s", name, due[name], want)
		}
	}
	tr.remove("rent.txt")
	if seen := tr.look(); len(seen) != 1 || !seen[0].Due.IsZero() {
		t.Errorf("seen %+v", seen)
	}
}

func TestChanges(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("notes/a.md", "# Title\nfirst\nsecond\nthird\n")
	tr.write("b.bin", "\x00\x01")
	tr.expect()
	tr.expect()
	tr.write("notes/a.md", "# Title\nfirst\nsecond\nthird\nCall Ann\n")
	tr.expect("notes/a.md changed: Call Ann")
	tr.write("notes/a.md", "# Title\nfirst\n2nd\nthird\nCall Ann\n")
	tr.expect("notes/a.md changed: 2nd")
	tr.write("notes/a.md", "# Title\nfirst\n")
	tr.expect("notes/a.md changed: (lines were taken out)")
	tr.write("c.txt", "Hello. This is new.")
	tr.write("b.bin", strings.Repeat("\x00", 2500))
	tr.expect("b.bin changed: (2 kB)", "c.txt: Hello. This is new.")
	tr.remove("c.txt")
	tr.expect("c.txt is gone")
	tr.expect()
}

func TestTouchedFileIsNoChange(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("a.txt", "one")
	tr.look()
	tr.now = tr.now.Add(time.Hour)
	tr.write("a.txt", "one")
	tr.expect()
}

func TestIgnored(t *testing.T) {
	tr := newTree(t, Options{Ignore: []string{"*.log", "build", "docs/private"}})
	tr.expect()
	for _, name := range []string{".hidden", ".git/config", "node_modules/x/y.js", "a.swp", "b~", "#c#", "~$d.docx", "4913", "e.crdownload", "f.log", "build/g", "docs/private/h"} {
		tr.write(name, "x")
	}
	tr.write("docs/public.md", "Seen.")
	tr.expect("docs/public.md: Seen.")
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := newTree(t, Options{})
	tr.expect()
	for name, target := range map[string]string{"file": filepath.Join(outside, "secret"), "folder": outside, "loop": "."} {
		if err := os.Symlink(target, filepath.Join(tr.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	tr.expect()
}

func TestSecretsAreNotShown(t *testing.T) {
	tr := newTree(t, Options{})
	tr.expect()
	for _, name := range []string{"server.key", "id_rsa", "my-passwords.txt"} {
		tr.write(name, "geheim")
	}
	for _, o := range tr.look() {
		if strings.Contains(o.Content, "geheim") {
			t.Errorf("%+v", o)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("keep", "x")
	tr.expect()
	for i := range 500 {
		tr.write(fmt.Sprintf("src/%d/f%d.go", i%7, i), fmt.Sprint("package ", i))
	}
	seen := tr.look()
	if len(seen) != 1 || !strings.HasPrefix(seen[0].Content, "500 files changed in ") || !strings.HasPrefix(seen[0].State, "many ") || seen[0].Subject != filepath.Join(tr.dir, "src") {
		t.Fatalf("%+v", seen)
	}
	tr.expect()
	tr.remove("src/3")
	tr.expect("files changed in")
}

func TestTooMany(t *testing.T) {
	tr := newTree(t, Options{MaxFiles: 100})
	for i := range 120 {
		tr.now = tr.now.Add(time.Second)
		tr.write(fmt.Sprintf("f%03d", i), "x")
	}
	tr.expect("There are 120 files")
	tr.expect()
	tr.now = tr.now.Add(time.Hour)
	tr.write("f110", "changed")
	tr.expect("f110 changed")
	tr.write("a new one", "y")
	tr.expect("New file")
	tr.remove("f050")
	tr.expect("f050 is gone")
	tr.expect()
	for i := range 10 {
		tr.remove(fmt.Sprintf("f%03d", i))
	}
	tr.expect()
}

func TestMissingFolder(t *testing.T) {
	tr := newTree(t, Options{})
	other := t.TempDir()
	tr.s = New(Options{Paths: []string{tr.dir, other}, Rescan: -1})
	tr.write("a", "x")
	tr.expect()
	if err := os.Rename(tr.dir, tr.dir+".away"); err != nil {
		t.Fatal(err)
	}
	tr.expect("is not there")
	tr.expect()
	if err := os.Rename(tr.dir+".away", tr.dir); err != nil {
		t.Fatal(err)
	}
	tr.expect("is there again")
	tr.expect()
	_, _, err := New(Options{Paths: []string{filepath.Join(other, "none")}}).Look(t.Context(), start, nil)
	if err == nil || !strings.Contains(err.Error(), "create it") {
		t.Errorf("error %v", err)
	}
	if _, _, err := New(Options{}).Look(t.Context(), start, nil); err == nil {
		t.Error("no paths, and no error")
	}
}

func TestNewFolderIsBaseline(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("a", "x")
	tr.expect()
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "b"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr.s = New(Options{Paths: []string{tr.dir, other}, Rescan: -1})
	tr.now = tr.now.Add(5 * time.Minute)
	seen, next, err := tr.s.Look(t.Context(), tr.now, tr.cursor)
	if err != nil || len(seen) != 0 || string(next) == string(tr.cursor) {
		t.Errorf("%v, %v", seen, err)
	}
}

// TestBusyFile checks that a busy file is rarely reported, finally with its last content.
func TestBusyFile(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("log.txt", "0")
	tr.expect()
	told := 0
	for i := range 288 {
		tr.write("log.txt", fmt.Sprintf("line %d\n", i))
		told += len(tr.look())
	}
	if told < 4 || told > 15 {
		t.Errorf("told %d times in a day", told)
	}
	for range 80 {
		told += len(tr.look())
	}
	tr.now = tr.now.Add(24 * time.Hour)
	tr.write("log.txt", "the end")
	tr.expect("the end")
}

func TestOneFile(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("todo.txt", "one\n")
	tr.write("other.txt", "one\n")
	tr.s = New(Options{Paths: []string{filepath.Join(tr.dir, "todo.txt")}, Rescan: -1})
	tr.expect()
	tr.write("todo.txt", "one\ntwo\n")
	tr.write("other.txt", "two\n")
	tr.expect("todo.txt changed: two")
}

func TestHostileNames(t *testing.T) {
	tr := newTree(t, Options{})
	tr.expect()
	tr.write("a\n\x1b[31mIgnore all\u202e.txt", "\x1b]0;x\x07Text\u200b\n")
	tr.write(strings.Repeat("n", 200)+"/"+strings.Repeat("m", 200), strings.Repeat("long ", 1000))
	for _, o := range tr.look() {
		if len(o.Content) > sensor.MaxText || len(o.Subject) > sensor.MaxSubject || strings.ContainsAny(o.Content+o.Subject+o.Source, "\x1b\n\u202e\u200b") || !o.Untrusted {
			t.Errorf("%+v", o)
		}
	}
}

func TestConforms(t *testing.T) {
	tr := newTree(t, Options{})
	open := func() sensor.Sensor { return New(Options{Paths: []string{tr.dir}, Rescan: -1}) }
	tr.write("a.md", "one\n")
	sensortest.Run(t, open,
		sensortest.Step{Name: "first", Tells: []string{}},
		sensortest.Step{Name: "quiet", Pass: time.Hour, Tells: []string{}},
		sensortest.Step{Name: "new", Pass: time.Hour, Do: func() { tr.now = tr.now.Add(time.Hour); tr.write("b.md", "two\n") }},
		sensortest.Step{Name: "changed", Pass: time.Hour, Do: func() { tr.now = tr.now.Add(time.Hour); tr.write("a.md", "two\n") }},
		sensortest.Step{Name: "gone", Pass: time.Hour, Do: func() { tr.remove("b.md") }},
		sensortest.Step{Name: "many", Pass: time.Hour, Do: func() {
			for i := range 200 {
				tr.write(fmt.Sprintf("c/%d", i), "x")
			}
		}},
	)
}

// TestEventsAreNotNeeded checks that events save scans and that looks are right without them.
func TestEventsAreNotNeeded(t *testing.T) {
	tr := newTree(t, Options{})
	tr.write("a", "x")
	tr.expect()
	tr.expect() // events start here
	w := newEvents(func(string, string) bool { return true })
	if w == nil {
		t.Skip("no events here")
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	tr.write("a", "changed")
	tr.expect("a changed: changed")
	if err := tr.s.Close(); err != nil {
		t.Error(err)
	}
	tr.write("a", "again")
	tr.expect("a changed: again")
}

func TestCursorOfManyFiles(t *testing.T) {
	d := &decoded{cursor: cursor{Roots: []string{"/home"}}, files: map[string]record{}}
	for i := range maxMaxFiles {
		content := []byte(fmt.Sprint(i))
		r := recordOf(file{path: fmt.Sprintf("/home/%s/a rather long name of a file %x.md", sensor.Hash(fmt.Sprint(i%50)), hashOf(content)), size: int64(i), mtime: int64(i)}, content)
		d.files[r.path] = r
	}
	raw, err := d.encode()
	if err != nil || len(raw) > sensor.MaxCursor {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	back := decode(raw)
	if back == nil || len(back.files) < defaultMaxFiles {
		t.Fatalf("%v files are kept", back)
	}
	t.Logf("%d of %d files in %d bytes", len(back.files), maxMaxFiles, len(raw))
}

func FuzzDecode(f *testing.F) {
	f.Add(pack([]record{{path: "/a"}, {path: "/a/b", size: 3, sketch: []uint16{1, 2}}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		records, err := unpack(packed)
		if err != nil {
			return
		}
		again, err := unpack(pack(records))
		if err != nil || len(again) != len(records) {
			t.Errorf("%d records became %d: %v", len(records), len(again), err)
		}
	})
}

// BenchmarkDay measures a day of looks, every 5 minutes, at 3,000 unchanged files.
func BenchmarkDay(b *testing.B) {
	dir := b.TempDir()
	for i := range defaultMaxFiles {
		sub := filepath.Join(dir, fmt.Sprint(i%60))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), []byte("text"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s, now := New(Options{Paths: []string{dir}}), start
		_, cursor, err := s.Look(b.Context(), now, nil)
		for range 288 {
			if now = now.Add(5 * time.Minute); err == nil {
				_, cursor, err = s.Look(b.Context(), now, cursor)
			}
		}
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
