package server

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestBrowserPrograms(t *testing.T) {
	for _, tt := range []struct {
		name, system string
		env          map[string]string
		want         string
	}{
		{"a Mac", "darwin", nil, "[[open]]"},
		{"Windows", "windows", nil, "[[rundll32 url.dll,FileProtocolHandler]]"},
		{"a desktop", "linux", map[string]string{"DISPLAY": ":0"}, "[[xdg-open] [gio open] [x-www-browser]]"},
		{"Wayland", "linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "[[xdg-open] [gio open] [x-www-browser]]"},
		{"a server", "linux", nil, "[]"},
		{"Linux on Windows", "linux", map[string]string{"WSL_DISTRO_NAME": "Debian"}, "[[wslview] [explorer.exe]]"},
		{"the user's browser", "linux", map[string]string{"BROWSER": "firefox --new-tab %s:w3m"}, "[[firefox --new-tab] [w3m]]"},
	} {
		if runtime.GOOS == "windows" && tt.env["BROWSER"] != "" {
			continue // another separator
		}
		if got := fmt.Sprint(browserPrograms(tt.system, func(name string) string { return tt.env[name] })); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestOpenBrowser checks that the user's browser gets the address, and that a failure is noticed.
func TestOpenBrowser(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Setenv("BROWSER", "missing")
		return
	}
	dir := t.TempDir()
	for name, script := range map[string]string{"works": "#!/bin/sh\nprintf '%s' \"$1\" > " + filepath.Join(dir, "opened"), "fails": "#!/bin/sh\nexit 3"} {
		checkOK(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700))
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	t.Setenv("WSL_DISTRO_NAME", "")
	const address = "http://127.0.0.1:8744/#/sign-in/ABC"
	for browser, want := range map[string]bool{"works": true, "fails": false, "missing": false, "fails:" + filepath.Join(dir, "works"): true} {
		first, rest, _ := strings.Cut(browser, ":")
		t.Setenv("BROWSER", strings.TrimSuffix(filepath.Join(dir, first)+":"+rest, ":"))
		os.Remove(filepath.Join(dir, "opened"))
		err := openBrowser(t.Context(), address)
		text, _ := os.ReadFile(filepath.Join(dir, "opened"))
		if (err == nil) != want || want && string(text) != address {
			t.Errorf("%s: %v, opened %q", browser, err, text)
		}
	}
}

func TestPageOpeningText(t *testing.T) {
	p := OpenResult{Address: "http://127.0.0.1:8744/#/sign-in/ABC"}
	if text := p.Text(); !strings.HasPrefix(text, p.Address+"\n") || !strings.Contains(text, "ssh -L 8744:127.0.0.1:8744 ") {
		t.Error(text)
	}
	p.Opened = true
	if p.Text() != "opened "+p.Address {
		t.Error(p.Text())
	}
}
