package mail

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/sensor"
	"ponder/sensor/sensortest"
)

func putMessage(t *testing.T, dir, path, message string, at time.Time) {
	t.Helper()
	path = filepath.Join(dir, path)
	if err := os.WriteFile(path, []byte(message), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func newMaildir(t *testing.T) (dir string, open func() sensor.Sensor) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range []string{"new", "cur", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func() sensor.Sensor {
		s, err := New(Options{Maildir: dir, Name: "mail:home"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestMaildir(t *testing.T) {
	dir, open := newMaildir(t)
	now := sensortest.Start
	move := func(from, to string) {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	putMessage(t, dir, "cur/1.old:2,S", noteMail("old@x", "Old", "x"), now.Add(-30*time.Hour))
	putMessage(t, dir, "cur/2.a:2,FS", noteMail("a@x", "A", "x"), now.Add(-3*time.Hour))
	putMessage(t, dir, "new/3.b", noteMail("b@x", "B", "x"), now.Add(-2*time.Hour))
	putMessage(t, dir, "tmp/4.c", noteMail("c@x", "C", "x"), now.Add(-2*time.Hour))
	sensortest.Run(t, open,
		sensortest.Step{Name: "first look", Reports: []string{"new a@x", "new b@x"}},
		sensortest.Step{Name: "read elsewhere", Do: func() { move("new/3.b", "cur/3.b:2,S") }, Reports: []string{}},
		sensortest.Step{Name: "delivered", Do: func() { move("tmp/4.c", "new/4.c") }, Reports: []string{"new c@x"}},
		sensortest.Step{Name: "copied", Do: func() { putMessage(t, dir, "new/5.a", noteMail("a@x", "A", "x"), now) }, Reports: []string{}},
		sensortest.Step{Name: "without an id", Do: func() { putMessage(t, dir, "new/6.d", "Subject: D\n\nx\n", now) }, Reports: []string{"new maildir:6.d"}},
		sensortest.Step{Name: "many", Do: func() {
			for i := range 130 {
				putMessage(t, dir, fmt.Sprintf("new/7.%03d", i), noteMail(fmt.Sprint("m", i, "@x"), "M", "x"), now)
			}
		}},
		sensortest.Step{Name: "not files", Do: func() {
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "new/8.link")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "new/9.dir"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, Reports: []string{}},
		sensortest.Step{Name: "huge", Do: func() {
			putMessage(t, dir, "new/10.huge", noteMail("huge@x", "Huge", strings.Repeat("y", 5<<20)), now)
		}, Reports: []string{"new huge@x"}},
		sensortest.Step{Name: "gone", Do: func() { _ = os.Remove(filepath.Join(dir, "new/6.d")) }, Reports: []string{}},
	)
	if files, err := os.ReadDir(filepath.Join(dir, "new")); err != nil || len(files) < 130 {
		t.Errorf("the folder new was changed: %d files are left", len(files))
	}
}

func TestMaildirFaults(t *testing.T) {
	for want, dir := range map[string]string{"no folder new or cur": t.TempDir(), "no such file": filepath.Join(t.TempDir(), "none")} {
		s, err := New(Options{Maildir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = s.Look(t.Context(), sensortest.Start, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestMaildirSource(t *testing.T) {
	dir, open := newMaildir(t)
	putMessage(t, dir, "new/1.a", noteMail("a@x", "A", "x"), sensortest.Start)
	told, _, err := open().Look(t.Context(), sensortest.Start, nil)
	if err != nil || len(told) != 1 || told[0].Source != filepath.Join(dir, "new/1.a") || !told[0].Untrusted {
		t.Errorf("told %+v, %v", told, err)
	}
}
