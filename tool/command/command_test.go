//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runScript runs a script with texts.
func runScript(t *testing.T, o Options, script string, texts map[string]string) (string, error) {
	t.Helper()
	o.Name, o.Doc = "act", "Acts"
	if o.Command == nil {
		o.Command = []string{"sh", "-c", script, "sh"}
	}
	tool, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if !tool.Once {
		t.Error("it may be used twice")
	}
	js, _ := json.Marshal(texts)
	return tool.Do(t.Context(), js)
}

func TestUse(t *testing.T) {
	t.Setenv("PONDER_KEY", "geheim")
	long := strings.Repeat("x", MaxText+1)
	show := `printf '%s|' "$#" "$@"; cat`
	tests := []struct {
		name   string
		o      Options
		script string
		texts  map[string]string
		want   string
		fails  string
	}{
		{name: "no text", script: show, want: "0|"},
		{name: "nothing is printed", script: "true", want: "Done. It printed nothing."},
		{name: "one text is one argument", o: Options{Args: []string{"text"}}, script: show, texts: map[string]string{"text": "a; rm -rf / $(id) `id` \"b\" 'c'"}, want: "1|a; rm -rf / $(id) `id` \"b\" 'c'|"},
		{name: "two", o: Options{Args: []string{"a", "b"}}, script: show, texts: map[string]string{"b": "2", "a": "1"}, want: "2|1|2|"},
		{name: "standard input", o: Options{Args: []string{"text"}, Stdin: true}, script: show, texts: map[string]string{"text": "- one\n- two\x1b[31m\x00"}, want: "0|- one\n- two"},
		{name: "cleaned", o: Options{Args: []string{"text"}}, script: show, texts: map[string]string{"text": " a\nb\u202e\x1b]0;x\x07 "}, want: "1|a b|"},
		{name: "a dash", o: Options{Args: []string{"text"}}, script: show, texts: map[string]string{"text": "\n --exec=sh"}, fails: "text must not begin with a dash"},
		{name: "missing", o: Options{Args: []string{"text"}}, script: show, fails: "text is missing"},
		{name: "empty", o: Options{Args: []string{"text"}}, script: show, texts: map[string]string{"text": " \x00"}, fails: "text is empty"},
		{name: "long", o: Options{Args: []string{"text"}}, script: show, texts: map[string]string{"text": long}, fails: "too long"},
		{name: "environment", o: Options{Env: []string{"PONDER_OTHER"}}, script: `echo "[$PONDER_KEY]"`, want: "[]"},
		{name: "status", script: "echo no disk >&2; exit 3", fails: "act failed (exit status 3). no disk"},
		{name: "too long", o: Options{Limit: 100 * time.Millisecond}, script: "sleep 100", fails: "not done after 100ms"},
		{name: "no program", o: Options{Command: []string{"/no/such/program", "geheim"}}, fails: "no such program"},
		{name: "refused", o: Options{Before: func(context.Context) error { return errors.New("enough for today") }}, script: "echo run", fails: "enough for today"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := runScript(t, tt.o, tt.script, tt.texts)
			switch {
			case tt.fails == "" && (err != nil || got != tt.want):
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "geheim")):
				t.Errorf("error %v, want %s", err, tt.fails)
			}
		})
	}
}

func TestMuchOutput(t *testing.T) {
	got, err := runScript(t, Options{}, "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done", nil)
	if err != nil || len(got) > MaxOutput || !strings.HasPrefix(got, "line 0\nline 1\n") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Child processes end with their command.
func TestChildProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	if _, err := runScript(t, Options{Args: []string{"file"}}, `sleep 1000 >/dev/null 2>&1 & echo $! > "$1"`, map[string]string{"file": file}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	for until := time.Now().Add(time.Minute); !hasEnded(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// hasEnded reports whether a process has ended, possibly as a zombie.
func hasEnded(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no command":  {Doc: "d"},
		"no doc":      {Command: []string{"x"}},
		"bad name":    {Doc: "d", Command: []string{"x"}, Args: []string{"a b"}},
		"the reason":  {Doc: "d", Command: []string{"x"}, Args: []string{Reason}},
		"twice":       {Doc: "d", Command: []string{"x"}, Args: []string{"a", "a"}},
		"many":        {Doc: "d", Command: []string{"x"}, Args: []string{"a", "b", "c", "d", "e"}},
		"bare stdin":  {Doc: "d", Command: []string{"x"}, Stdin: true},
		"blank first": {Doc: "d", Command: []string{""}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// For any input, the command gets the declared number of arguments, and none starts with a
// dash.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{`{"text":"a"}`, `{"text":"-a"}`, `{"text":1}`, `[]`, `{"text":"\u0000-\n-"}`} {
		f.Add([]byte(s))
	}
	o := Options{Name: "act", Args: []string{"text"}}
	f.Fuzz(func(t *testing.T, input []byte) {
		args, stdin, err := o.parseTexts(input)
		if err == nil && (len(args) != 1 || stdin != "" || args[0] == "" || args[0][0] == '-' || len(args[0]) > MaxText || strings.ContainsAny(args[0], "\x00\n\x1b")) {
			t.Errorf("%q, %q", args, stdin)
		}
	})
}
