package sensor

import (
	"testing"
	"time"
)

var sunday = time.Date(2026, 11, 22, 9, 30, 0, 0, time.FixedZone("CET", 3600))

func TestDue(t *testing.T) {
	for text, want := range map[string]string{
		"Deadline: 24 November 2026 hand in the thesis":        "2026-11-24 18:00",
		"Pay the rent by 25 November 2026":                     "2026-11-25 18:00",
		"signed roof quote by 24 November":                     "2026-11-24 18:00",
		"Please send the signed roof quote by Nov. 24th. Bye.": "2026-11-24 18:00",
		"call the plumber tomorrow":                            "2026-11-23 18:00",
		"I'll send Anna the offer by Tuesday":                  "2026-11-24 18:00",
		"by Tuesday, 24 November, 5 pm":                        "2026-11-24 17:00",
		"by 5 pm tomorrow":                                     "2026-11-23 17:00",
		"Ich muss bis morgen die Steuer abgeben":               "2026-11-23 18:00",
		"Morgen rufe ich an":                                   "2026-11-23 18:00",
		"Das muss übermorgen fertig sein":                      "2026-11-24 18:00",
		"bis spätestens zum 24.11. abgeben":                    "2026-11-24 18:00",
		"bis 24.11.2026 um 14:30 Uhr":                          "2026-11-24 14:30",
		"Abgabe der Arbeit am 24. November":                    "2026-11-24 18:00",
		"spätestens Dienstag":                                  "2026-11-24 18:00",
		"The form is due 2026-12-01.":                          "2026-12-01 18:00",
		"due 24/11":                                            "2026-11-24 18:00",
		"due 11/24/2026":                                       "2026-11-24 18:00",
		"1 December is the deadline":                           "2026-12-01 18:00",
		"Fällig am 3. Dezember":                                "2026-12-03 18:00",
		"water the plants tonight":                             "2026-11-22 22:00",
		"pay it by 11:00":                                      "2026-11-22 11:00",
		"due in 3 days":                                        "2026-11-25 18:00",
		"due within 2 hours":                                   "2026-11-22 11:30",
		"by the end of the week":                               "2026-11-27 18:00",
		"by January 4":                                         "2027-01-04 18:00",
		"by 1 December, and the other by 24 November":          "2026-11-24 18:00",
		"until Sunday":                                         "2026-11-29 18:00",
		"no later than 24 November":                            "2026-11-24 18:00",
		"Deadline was 20 November 2026":                        "",
		"due 04/05":                                            "",
		"by 20 November":                                       "", // it is past
		"by 1 December 2028":                                   "",
		"by 31 February":                                       "",
		"I was born on 24 November 2000":                       "",
		"the song by Anna of 24 November is nice":              "",
		"And now?": "",
		"Guten Morgen, ich bin jeden Morgen hier":   "",
		"Will it rain tomorrow?":                    "",
		"On Friday we met":                          "",
		"The meeting is at 14:30":                   "",
		"version 24.11.3 was released by 14 people": "",
		"": "",
	} {
		got := ""
		if at, ok := FindDeadline(text, sunday); ok {
			got = at.Format("2006-01-02 15:04")
		}
		if got != want {
			t.Errorf("%q is due %q, want %q", text, got, want)
		}
	}
}

// TestDueLate checks that a deadline today is before midnight.
func TestDueLate(t *testing.T) {
	late := time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)
	if at, ok := FindDeadline("pay by 22 November", late); !ok || at.Format("2006-01-02 15:04") != "2026-11-22 23:59" {
		t.Error(at, ok)
	}
	if at, ok := FindDeadline("pay by 14:00 today", late); ok {
		t.Error(at)
	}
}

func FuzzDue(f *testing.F) {
	f.Add("by 24 November 2026, 5 pm. bis 1.1.", int64(0))
	f.Add("Deadline 99/99/9999 \xff due 31.2. in 999 weeks", int64(1e9))
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		now := time.Unix(seconds%(1<<33), 0).UTC()
		if at, ok := FindDeadline(text, now); ok && (!at.After(now) || at.Sub(now) > maxAhead) || !ok && !at.IsZero() {
			t.Errorf("%q at %v: %v, %v", text, now, at, ok)
		}
	})
}
