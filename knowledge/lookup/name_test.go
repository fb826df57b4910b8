package lookup

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSourceName(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "twitter": "twitter", "user": "user", "memory:mem_1": "memory:mem_1", "thread:thr_1": "thread:thr_1", "https://a.test/docs/b.md": "https://a.test/docs/b.md",
		"/home/ada/notes/boats.md": "boats.md", "/home/ada/mail.mbox#3": "mail.mbox#3", "~/notes/a b.txt": "a b.txt", `C:\Users\ada\a.docx`: "a.docx",
		"file:///home/ada/a.md": "a.md", "/home/ada/x.zip#inner/dir/a.md": "x.zip#a.md", "notes/a.md": "notes/a.md",
	} {
		if got := SourceName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestNameSources(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{"hits":[{"source":"/home/ada/a.md","quote":"/home/ada/a.md"}]}`, `{"hits":[{"source":"a.md","quote":"/home/ada/a.md"}]}`},
		{`{"query":"x","paths":["/home/ada", "/srv/b"],"limit":3}`, `{"query":"x","paths":["ada", "b"],"limit":3}`},
		{`{"source" : "/home/\u00e9\"/a.md","url":"https://a.test/b"}`, `{"source" : "a.md","url":"https://a.test/b"}`},
		{`{"source":"twitter","tool":"/x/y"}`, `{"source":"twitter","tool":"/x/y"}`},
		{`{"source":"/home/ada`, `{"source":"/home/ada`},
		{``, ``},
	} {
		if got := string(NameSources([]byte(tt.in))); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestNamePaths(t *testing.T) {
	for in, want := range map[string]string{
		"read /home/ada/notes: no such file or folder":        "read notes: no such file or folder",
		`path "/home/ada/out" may not be searched`:            `path "out" may not be searched`,
		"see https://a.test/b/c and //x":                      "see https://a.test/b/c and //x",
		"use /deep, or POST /api/memory/x and /v1/models":     "use /deep, or POST /api/memory/x and /v1/models",
		"3 of 4, and/or 1/2":                                  "3 of 4, and/or 1/2",
		"Not read: /a/b.png: unsupported; /c/d.png: too big":  "Not read: b.png: unsupported; d.png: too big",
		"set it in ~/.config/ponder/config.toml (see `help`)": "set it in config.toml (see `help`)",
	} {
		if got := NamePaths(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Names keep valid JSON valid, and leave no path in a source.
func FuzzNameSources(f *testing.F) {
	for _, js := range []string{`{"source":"/a/b"}`, `{"docs":["/a","b"],"x":{"path":"\\/c\""}}`, `"\`, `[]`} {
		f.Add(js)
	}
	f.Fuzz(func(t *testing.T, js string) {
		got := NameSources([]byte(js))
		if json.Valid([]byte(js)) != json.Valid(got) {
			t.Fatalf("%q: %q", js, got)
		}
		var v struct{ Source string }
		if json.Unmarshal(got, &v) == nil && strings.HasPrefix(v.Source, "/") && SourceName(v.Source) != v.Source {
			t.Errorf("%q: source %q", js, v.Source)
		}
	})
}
