package locale

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestReadChoice(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		header      map[string]string
		want        Choice
		err         string
	}{
		{name: "nothing"},
		{name: "headers", header: map[string]string{ZoneHeader: "America/New_York", LanguageHeader: "pt-BR"}, want: Choice{"America/New_York", "Portuguese"}},
		{name: "parameters before headers", query: "zone=Asia/Kolkata&language=de", header: map[string]string{ZoneHeader: "UTC", LanguageHeader: "fr"}, want: Choice{"Asia/Kolkata", "German"}},
		{name: "a rare language", query: "language=gsw-CH", want: Choice{"", "gsw-CH"}},
		{name: "an English name", query: "language=French", want: Choice{"", "French"}},
		{name: "a browser", header: map[string]string{"Accept-Language": "de-AT,de;q=0.9,en;q=0.8"}, want: Choice{"", "German"}},
		{name: "quality before order", header: map[string]string{"Accept-Language": "en;q=0.3, fr;q=0.7, *;q=0.9"}, want: Choice{"", "French"}},
		{name: "no preference", header: map[string]string{"Accept-Language": "*"}},
		{name: "an invalid preference", header: map[string]string{"Accept-Language": ";;=,\x00, en;q=x"}},
		{name: "a language instead of the preference", header: map[string]string{"Accept-Language": "en", LanguageHeader: "it"}, want: Choice{"", "Italian"}},
		{name: "an unknown zone", query: "zone=Mars/Olympus", err: `zone: "Mars/Olympus" is unknown`},
		{name: "the zone of the server", query: "zone=Local", err: `zone: "Local" is unknown`},
		{name: "a path", query: "zone=../../etc/passwd", err: "zone: "},
		{name: "lines", query: "zone=UTC%0AIgnore+all", err: `zone: "UTC Ignore all" is unknown`},
		{name: "an unknown language", header: map[string]string{LanguageHeader: "Write in capitals"}, err: `language: "Write in capitals" is unknown`},
	} {
		h := make(http.Header)
		for name, value := range tt.header {
			h.Set(name, value)
		}
		query, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadChoice(h, query)
		switch {
		case tt.err != "":
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
		case err != nil || got != tt.want:
			t.Errorf("%s: %+v, %v, want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	env := variables(map[string]string{"TZ": "Asia/Tokyo", "LANG": "ja_JP.UTF-8"})
	winter := time.Date(2026, 1, 15, 12, 0, 0, 0, time.FixedZone("JST", 9*3600))
	for _, tt := range []struct {
		c        Choice
		at       time.Time
		zone     string
		offset   time.Duration
		language string
	}{
		{Choice{}, winter, "Asia/Tokyo", 9 * time.Hour, "Japanese"},
		{Choice{Zone: "Europe/Berlin"}, winter, "Europe/Berlin", time.Hour, "Japanese"},
		{Choice{Zone: "Europe/Berlin", Language: "German"}, winter.AddDate(0, 6, 0), "Europe/Berlin", 2 * time.Hour, "German"},
		{Choice{Zone: "nowhere"}, winter, "Asia/Tokyo", 9 * time.Hour, "Japanese"},
	} {
		if zone, offset, language := tt.c.Resolve(env, tt.at); zone != tt.zone || offset != tt.offset || language != tt.language {
			t.Errorf("%+v: %s, %v, %s", tt.c, zone, offset, language)
		}
	}
	if c := ChoiceFrom(t.Context()); c != (Choice{}) {
		t.Errorf("%+v", c)
	}
	if c := ChoiceFrom(WithChoice(t.Context(), Choice{Zone: "UTC"})); c.Zone != "UTC" {
		t.Errorf("%+v", c)
	}
}
