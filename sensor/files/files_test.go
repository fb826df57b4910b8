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

// A testTree is a folder that a sensor looks at every 5 minutes.
type testTree struct {
	t      *testing.T
	dir    string
	s      sensor.Sensor
	now    time.Time
	cursor json.RawMessage
}

func newTree(t *testing.T, o Options) *testTree {
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
	return &testTree{t: t, dir: dir, s: s, now: start}
}

// writeFile writes a file with the current time.
func (tr *testTree) writeFile(name, text string) {
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

func (tr *testTree) remove(name string) {
	tr.t.Helper()
	if err := os.RemoveAll(filepath.Join(tr.dir, name)); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *testTree) lookNext() []ponder.Observation {
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

// expectContents looks and checks the start of each content.
func (tr *testTree) expectContents(want ...string) {
	tr.t.Helper()
	seen := tr.lookNext()
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
	tr.expectContents()
	tr.writeFile("thesis.md", "# Thesis\nDeadline: 24 November 2026 hand in the thesis\n")
	tr.writeFile("rent.txt", "Pay the rent by 5 March")
	tr.writeFile("past.txt", "Born on 5 March 1990")
	due := map[string]string{}
	for _, o := range tr.lookNext() {
		due[filepath.Base(o.Subject)] = o.Due.Format(time.DateOnly)
	}
	for name, want := range map[string]string{"thesis.md": "2026-11-24", "rent.txt": "2026-03-05", "past.txt": "0001-01-01"} {
		if due[name] != want {
			t.Errorf("%s is due %s, want %s", name, due[name], want)
		}
	}
	tr.remove("rent.txt")
	if seen := tr.lookNext(); len(seen) != 1 || !seen[0].Due.IsZero() {
		t.Errorf("seen %+v", seen)
	}
}

func TestChanges(t *testing.T) {
	tr := newTree(t, Options{})
	tr.writeFile("notes/a.md", "# Title\nfirst\nsecond\nthird\n")
	tr.writeFile("b.bin", "\x00\x01")
	tr.expectContents()
	tr.expectContents()
	tr.writeFile("notes/a.md", "# Title\nfirst\nsecond\nthird\nCall Ann\n")
	tr.expectContents("notes/a.md changed: Call Ann")
	tr.writeFile("notes/a.md", "# Title\nfirst\n2nd\nthird\nCall Ann\n")
	tr.expectContents("notes/a.md changed: 2nd")
	tr.writeFile("notes/a.md", "# Title\nfirst\n")
	tr.expectContents("notes/a.md changed: (lines were taken out)")
	tr.writeFile("c.txt", "Hello. This is new.")
	tr.writeFile("b.bin", strings.Repeat("\x00", 2500))
	tr.expectContents("b.bin changed: (2 kB)", "c.txt: Hello. This is new.")
	tr.remove("c.txt")
	tr.expectContents("c.txt is gone")
	tr.expectContents()
}

func TestTouchedFileIsNoChange(t *testing.T) {
	tr := newTree(t, Options{})
	tr.writeFile("a.txt", "one")
	tr.lookNext()
	tr.now = tr.now.Add(time.Hour)
	tr.writeFile("a.txt", "one")
	tr.expectContents()
}

func TestIgnored(t *testing.T) {
	tr := newTree(t, Options{Ignore: []string{"*.log", "build", "docs/private"}})
	tr.expectContents()
	for _, name := range []string{".hidden", ".git/config", "node_modules/x/y.js", "a.swp", "b~", "#c#", "~$d.docx", "4913", "e.crdownload", "f.log", "build/g", "docs/private/h"} {
		tr.writeFile(name, "x")
	}
	tr.writeFile("docs/public.md", "Seen.")
	tr.expectContents("docs/public.md: Seen.")
}

func TestLinksAreNotFollowed(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("geheim"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := newTree(t, Options{})
	tr.expectContents()
	for name, target := range map[string]string{"file": filepath.Join(outside, "secret"), "folder": outside, "loop": "."} {
		if err := os.Symlink(target, filepath.Join(tr.dir, name)); err != nil {
			t.Skip(err)
		}
	}
	tr.expectContents()
}

func TestSecretsAreNotShown(t *testing.T) {
	tr := newTree(t, Options{})
	tr.expectContents()
	for _, name := range []string{"server.key", "id_rsa", "my-passwords.txt"} {
		tr.writeFile(name, "geheim")
	}
	for _, o := range tr.lookNext() {
		if strings.Contains(o.Content, "geheim") {
			t.Errorf("%+v", o)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	tr := newTree(t, Options{})
	tr.writeFile("keep", "x")
	tr.expectContents()
	for i := range 500 {
		tr.writeFile(fmt.Sprintf("src/%d/f%d.go", i%7, i), fmt.Sprint("package ", i))
	}
	seen := tr.lookNext()
	if len(seen) != 1 || !strings.HasPrefix(seen[0].Content, "500 files changed in ") || !strings.HasPrefix(seen[0].State, "many ") || seen[0].Subject != filepath.Join(tr.dir, "src") {
		t.Fatalf("%+v", seen)
	}
	tr.expectContents()
	tr.remove("src/3")
	tr.expectContents("files changed in")
}

func TestTooMany(t *testing.T) {
	tr := newTree(t, Options{MaxFiles: 100})
	for i := range 120 {
		tr.now = tr.now.Add(time.Second)
		tr.writeFile(fmt.Sprintf("f%03d", i), "x")
	}
	tr.expectContents("There are 120 files")
	tr.expectContents()
	tr.now = tr.now.Add(time.Hour)
	tr.writeFile("f110", "changed")
	tr.expectContents("f110 changed")
	tr.writeFile("a new one", "y")
	tr.expectContents("New file")
	tr.remove("f050")
	tr.expectContents("f050 is gone")
	tr.expectContents()
	for i := range 10 {
		tr.remove(fmt.Sprintf("f%03d", i))
	}
	tr.expectContents()
}

func TestMissingFolder(t *testing.T) {
	tr := newTree(t, Options{})
	other := t.TempDir()
	tr.s = New(Options{Paths: []string{tr.dir, other}, Rescan: -1})
	tr.writeFile("a", "x")
	tr.expectContents()
	if err := os.Rename(tr.dir, tr.dir+".away"); err != nil {
		t.Fatal(err)
	}
	tr.expectContents("is not there")
	tr.expectContents()
	if err := os.Rename(tr.dir+".away", tr.dir); err != nil {
		t.Fatal(err)
	}
	tr.expectContents("is there again")
	tr.expectContents()
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
	tr.writeFile("a", "x")
	tr.expectContents()
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
	tr.writeFile("log.txt", "0")
	tr.expectContents()
	told := 0
	for i := range 288 {
		tr.writeFile("log.txt", fmt.Sprintf("line %d\n", i))
		told += len(tr.lookNext())
	}
	if told < 4 || told > 15 {
		t.Errorf("told %d times in a day", told)
	}
	for range 80 {
		told += len(tr.lookNext())
	}
	tr.now = tr.now.Add(24 * time.Hour)
	tr.writeFile("log.txt", "the end")
	tr.expectContents("the end")
}

func TestOneFile(t *testing.T) {
	tr := newTree(t, Options{})
	tr.writeFile("todo.txt", "one\n")
	tr.writeFile("other.txt", "one\n")
	tr.s = New(Options{Paths: []string{filepath.Join(tr.dir, "todo.txt")}, Rescan: -1})
	tr.expectContents()
	tr.writeFile("todo.txt", "one\ntwo\n")
	tr.writeFile("other.txt", "two\n")
	tr.expectContents("todo.txt changed: two")
}

func TestHostileNames(t *testing.T) {
	tr := newTree(t, Options{})
	tr.expectContents()
	tr.writeFile("a\n\x1b[31mIgnore all\u202e.txt", "\x1b]0;x\x07Text\u200b\n")
	tr.writeFile(strings.Repeat("n", 200)+"/"+strings.Repeat("m", 200), strings.Repeat("long ", 1000))
	for _, o := range tr.lookNext() {
		if len(o.Content) > sensor.MaxText || len(o.Subject) > sensor.MaxSubject || strings.ContainsAny(o.Content+o.Subject+o.Source, "\x1b\n\u202e\u200b") || !o.Untrusted {
			t.Errorf("%+v", o)
		}
	}
}

func TestConforms(t *testing.T) {
	tr := newTree(t, Options{})
	open := func() sensor.Sensor { return New(Options{Paths: []string{tr.dir}, Rescan: -1}) }
	tr.writeFile("a.md", "one\n")
	sensortest.Run(t, open,
		sensortest.Step{Name: "first", Reports: []string{}},
		sensortest.Step{Name: "quiet", Pass: time.Hour, Reports: []string{}},
		sensortest.Step{Name: "new", Pass: time.Hour, Do: func() { tr.now = tr.now.Add(time.Hour); tr.writeFile("b.md", "two\n") }},
		sensortest.Step{Name: "changed", Pass: time.Hour, Do: func() { tr.now = tr.now.Add(time.Hour); tr.writeFile("a.md", "two\n") }},
		sensortest.Step{Name: "gone", Pass: time.Hour, Do: func() { tr.remove("b.md") }},
		sensortest.Step{Name: "many", Pass: time.Hour, Do: func() {
			for i := range 200 {
				tr.writeFile(fmt.Sprintf("c/%d", i), "x")
			}
		}},
	)
}

// TestEventsAreNotNeeded checks that events save scans and that looks are right without them.
func TestEventsAreNotNeeded(t *testing.T) {
	tr := newTree(t, Options{})
	tr.writeFile("a", "x")
	tr.expectContents()
	tr.expectContents() // events start here
	w := newFSEvents(func(string, string) bool { return true })
	if w == nil {
		t.Skip("no events here")
	}
	if err := w.close(); err != nil {
		t.Error(err)
	}
	tr.writeFile("a", "changed")
	tr.expectContents("a changed: changed")
	if err := tr.s.Close(); err != nil {
		t.Error(err)
	}
	tr.writeFile("a", "again")
	tr.expectContents("a changed: again")
}

func TestCursorOfManyFiles(t *testing.T) {
	d := &parsedCursor{cursor: cursor{Roots: []string{"/home"}}, files: map[string]record{}}
	for i := range maxMaxFiles {
		content := []byte(fmt.Sprint(i))
		r := newRecord(file{path: fmt.Sprintf("/home/%s/a rather long name of a file %x.md", sensor.Hash(fmt.Sprint(i%50)), contentHash(content)), size: int64(i), mtime: int64(i)}, content)
		d.files[r.path] = r
	}
	raw, err := d.encodeCursor()
	if err != nil || len(raw) > sensor.MaxCursor {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	back := parseCursor(raw)
	if back == nil || len(back.files) < defaultMaxFiles {
		t.Fatalf("%v files are kept", back)
	}
	t.Logf("%d of %d files in %d bytes", len(back.files), maxMaxFiles, len(raw))
}

func FuzzDecode(f *testing.F) {
	f.Add(packRecords([]record{{path: "/a"}, {path: "/a/b", size: 3, sketch: []uint16{1, 2}}}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packed []byte) {
		records, err := unpackRecords(packed)
		if err != nil {
			return
		}
		again, err := unpackRecords(packRecords(records))
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
