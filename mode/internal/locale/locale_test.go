package locale

import (
	"testing"
	"time"
)

func TestDescribe(t *testing.T) {
	at := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		l    Locale
		at   time.Time
		want string
	}{
		{"nothing", Locale{}, time.Time{}, "Write in the language of the question."},
		{"UTC", Locale{}, at, "Today is Thursday, 31 December 2026 (UTC). Write in the language of the question."},
		{"the next day in the east", Locale{Zone: "Europe/Berlin", Offset: 3600, Language: "German"}, at.In(time.FixedZone("x", -7200)),
			"Today is Friday, 1 January 2027 (Europe/Berlin, UTC+01:00). Write in the language of the question. If it is unclear, write in German, the language of the user."},
		{"the west", Locale{Offset: -12600}, at, "Today is Thursday, 31 December 2026 (UTC-03:30). Write in the language of the question."},
	} {
		if got := tt.l.Describe(tt.at); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
