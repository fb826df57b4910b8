package notify

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The bell rings a terminal that is known only as an open file.
func TestBell(t *testing.T) {
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", n)
	program, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if got := TerminalPath(program); got != path {
		t.Fatalf("the terminal is %q, want %q", got, path)
	}
	if err := Bell(path).Send(t.Context(), Message{}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	if k, err := user.Read(b); err != nil || string(b[:k]) != "\a" {
		t.Errorf("%q, %v", b[:k], err)
	}
}

func TestNoBell(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, f := range []*os.File{f, null} {
		if path := TerminalPath(f); path != "" {
			t.Errorf("%s is the terminal %s", f.Name(), path)
		}
	}
	for path, want := range map[string]string{file: "is not a terminal", filepath.Join(t.TempDir(), "none"): "ring the bell: "} {
		if err := Bell(path).Send(t.Context(), Message{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
