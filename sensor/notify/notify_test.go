package notify

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const hostile = "\x1b]0;owned\x07a\x1b[31mb\x1b[0m\u202ec\x00\x9b2Jd\u2028e\nf\r\n\x1b]8;;http://x\x1b\\g <b>&amp;</b> $(id)"

func checkShown(t *testing.T, text string) {
	t.Helper()
	for _, r := range strings.TrimSuffix(text, "\n") {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%q has %U", text, r)
		}
	}
	if !utf8.ValidString(text) {
		t.Errorf("%q is no UTF-8", text)
	}
}

func FuzzClean(f *testing.F) {
	f.Add(hostile)
	f.Fuzz(func(t *testing.T, text string) {
		m := Message{ID: text, Title: text, Text: text, Sources: []string{text}}.sanitizeMessage()
		if len(m.Text) > maxText || len(m.Title) > maxTitle {
			t.Errorf("cleaned %q is too long: %q", text, m.Text)
		}
		checkShown(t, m.formatBody())
		if id := headerToken(text); id == "" || len(id) > 128 || strings.IndexFunc(id, isNotToken) >= 0 {
			t.Errorf("token of %q is %q", text, id)
		}
	})
}

func TestDesktop(t *testing.T) {
	m := Message{Title: "-x --urgency=low", Text: hostile, Importance: 9}.sanitizeMessage()
	for _, system := range []string{"linux", "darwin"} {
		argv, err := argvOf(system, m)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range argv {
			checkShown(t, a)
		}
		if title := argv[len(argv)-2]; !strings.HasPrefix(title, "Ponder: ") {
			t.Errorf("%s: title is %q", system, title)
		}
	}
	argv, _ := argvOf("linux", m)
	if text := argv[len(argv)-1]; strings.Contains(text, "<b>") || !strings.Contains(text, "&lt;b&gt;&amp;amp;") {
		t.Errorf("text is %q", text)
	}
	if _, err := argvOf("windows", m); err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("error is %v", err)
	}
}

func TestDesktopProgram(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no programs of this kind")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	ch := newDesktop("linux")
	if err := ch.Send(t.Context(), message); err == nil || !strings.Contains(err.Error(), "notify-send is not installed") {
		t.Errorf("error is %v", err)
	}
	script := "#!/bin/sh\nfor a; do echo \"$a\"; done > " + filepath.Join(dir, "out") + "\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ch.Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || !strings.Contains(string(got), "Ponder: The disk is nearly full\n") {
		t.Errorf("called with %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte("#!/bin/sh\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ch.Send(t.Context(), message); err == nil {
		t.Error("a program that fails is no error")
	}
}

// Only addresses of the sources of a message stay links.
func TestMessageLinks(t *testing.T) {
	m := Message{
		Title: "See http://evil.example/?d=SECRET", Text: "![x](http://evil.example/?d=SECRET) and [y](https://known.example/a) <img src='http://evil.example/'>",
		Sources: []string{"https://known.example/a"},
	}.sanitizeMessage()
	if m.Title != "See `http://evil.example/?d=SECRET`" || strings.Contains(m.Text, "](http:") || strings.Contains(m.Text, "<img") || !strings.Contains(m.Text, "[y](https://known.example/a)") {
		t.Errorf("%q %q", m.Title, m.Text)
	}
}
