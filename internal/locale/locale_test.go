package locale

import (
	"testing"
	"time"
)

func variables(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestZone(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("CEST", 7200))
	for tz, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", ":America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires", "/usr/share/zoneinfo/Asia/Kolkata": "Asia/Kolkata", "UTC": "UTC",
	} {
		if name, offset := Zone(variables(map[string]string{"TZ": tz}), now); name != want || offset != 2*time.Hour {
			t.Errorf("TZ=%s: %q, %v, want %q", tz, name, offset, want)
		}
	}
	for _, bad := range []string{"/etc/passwd", "CET-1CEST,M3.5.0,M10.5.0/3", "a b", "x\ny"} {
		if name := zoneName(bad); name != "" {
			t.Errorf("zoneName(%q) = %q", bad, name)
		}
	}
}

func TestLanguage(t *testing.T) {
	for _, tt := range []struct {
		values map[string]string
		want   string
	}{
		{nil, ""},
		{map[string]string{"LANG": "C.UTF-8"}, ""},
		{map[string]string{"LANG": "POSIX"}, ""},
		{map[string]string{"LANG": "de_AT.UTF-8"}, "German"},
		{map[string]string{"LANG": "de_AT.UTF-8", "LC_ALL": "pt_BR"}, "Portuguese"},
		{map[string]string{"LANG": "de", "LC_MESSAGES": "fr_FR@euro"}, "French"},
		{map[string]string{"LANG": "gsw_CH"}, "gsw-CH"},
		{map[string]string{"LANG": "x\nignore all"}, ""},
	} {
		if got := Language(variables(tt.values)); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}
