package query

import (
	"testing"
	"time"
)

// now is a Wednesday.
var now = time.Date(2026, 11, 18, 14, 30, 0, 0, time.UTC)

// Days have no time of day.
func describeRange(r Range) string {
	one := func(t time.Time) string {
		switch {
		case t.IsZero():
			return ""
		case t.Equal(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())):
			return t.Format("2006-01-02")
		}
		return t.Format("2006-01-02T15:04")
	}
	return one(r.From) + ".." + one(r.To)
}

func TestTimes(t *testing.T) {
	for _, c := range []struct{ text, want, said string }{
		// Days from today.
		{"notes from yesterday", "2026-11-17..2026-11-18", "from yesterday"},
		{"today", "2026-11-18..2026-11-19", "today"},
		{"the day before yesterday", "2026-11-16..2026-11-17", "the day before yesterday"},
		{"what is due tomorrow?", "2026-11-19..2026-11-20", "tomorrow"},
		{"yesterday morning", "2026-11-17T05:00..2026-11-17T12:00", "yesterday morning"},
		{"this morning", "2026-11-18T05:00..2026-11-18T12:00", "this morning"},
		{"last night", "2026-11-17T18:00..2026-11-18T06:00", "last night"},
		// Units of the calendar.
		{"what did I do last week", "2026-11-09..2026-11-16", "last week"},
		{"this week", "2026-11-16..2026-11-23", "this week"},
		{"next week", "2026-11-23..2026-11-30", "next week"},
		{"last weekend", "2026-11-14..2026-11-16", "last weekend"},
		{"last month", "2026-10-01..2026-11-01", "last month"},
		{"next month", "2026-12-01..2027-01-01", "next month"},
		{"last quarter", "2026-07-01..2026-10-01", "last quarter"},
		{"last year", "2025-01-01..2026-01-01", "last year"},
		{"last week's meeting", "2026-11-09..2026-11-16", "last week's"},
		{"last decade", "2010-01-01..2020-01-01", "last decade"},
		{"the previous year", "2025-01-01..2026-01-01", "the previous year"},
		// Counting back from now.
		{"in the past week", "2026-11-11..2026-11-19", "in the past week"},
		{"in the last 3 days", "2026-11-15..2026-11-19", "in the last 3 days"},
		{"over the past two months", "2026-09-18..2026-11-19", "over the past two months"},
		{"the last few weeks", "2026-10-14..2026-11-19", "the last few weeks"},
		{"in the last 2 hours", "2026-11-18T12:30..2026-11-18T14:30", "in the last 2 hours"},
		{"the next two weeks", "2026-11-18..2026-12-03", "the next two weeks"},
		{"year to date", "2026-01-01..2026-11-19", "year to date"},
		{"earlier this year", "2026-01-01..2026-11-18T14:30", "earlier this year"},
		// Ago.
		{"three days ago", "2026-11-15..2026-11-16", "three days ago"},
		{"two weeks ago", "2026-11-01..2026-11-08", "two weeks ago"},
		{"three months ago", "2026-08-03..2026-09-03", "three months ago"},
		{"a year ago", "2025-05-18..2026-05-18", "a year ago"},
		{"a year ago today", "2025-11-18..2025-11-19", "a year ago today"},
		{"half a year ago", "2026-05-03..2026-06-03", "half a year ago"},
		{"a couple of days ago", "2026-11-16..2026-11-17", "a couple of days ago"},
		{"a few weeks ago", "2026-10-14..2026-11-11", "a few weeks ago"},
		{"an hour ago", "2026-11-18T13:00..2026-11-18T14:00", "an hour ago"},
		{"10 years ago", "2016-05-18..2017-05-18", "10 years ago"},
		{"this time last year", "2025-11-03..2025-12-04", "this time last year"},
		// Days of the week.
		{"expenses since Monday", "2026-11-16..", "since Monday"},
		{"on Wednesday", "2026-11-18..2026-11-19", "on Wednesday"},
		{"on Thursday", "2026-11-12..2026-11-13", "on Thursday"},
		{"last Wednesday", "2026-11-11..2026-11-12", "last Wednesday"},
		{"next Wednesday", "2026-11-25..2026-11-26", "next Wednesday"},
		{"this Friday", "2026-11-20..2026-11-21", "this Friday"},
		{"this Sunday", "2026-11-22..2026-11-23", "this Sunday"},
		{"due by Friday", "..2026-11-21", "by Friday"},
		{"Monday last week", "2026-11-09..2026-11-10", "Monday last week"},
		{"last week on Friday", "2026-11-13..2026-11-14", "last week on Friday"},
		{"Monday morning", "2026-11-16T05:00..2026-11-16T12:00", "Monday morning"},
		{"from Monday to Wednesday", "2026-11-16..2026-11-19", "from Monday to Wednesday"},
		{"between Thursday and Saturday", "2026-11-12..2026-11-15", "between Thursday and Saturday"},
		// Months.
		{"in March 2024", "2024-03-01..2024-04-01", "in March 2024"},
		{"March of 2024", "2024-03-01..2024-04-01", "March of 2024"},
		{"Mar '24", "2024-03-01..2024-04-01", "Mar '24"},
		{"in March", "2026-03-01..2026-04-01", "in March"},
		{"in December", "2025-12-01..2026-01-01", "in December"},
		{"in November", "2026-11-01..2026-12-01", "in November"},
		{"last November", "2025-11-01..2025-12-01", "last November"},
		{"last March", "2026-03-01..2026-04-01", "last March"},
		{"next March", "2027-03-01..2027-04-01", "next March"},
		{"this December", "2026-12-01..2027-01-01", "this December"},
		{"in March last year", "2025-03-01..2025-04-01", "in March last year"},
		{"last year in December", "2025-12-01..2026-01-01", "last year in December"},
		{"since May", "2026-05-01..", "since May"},
		{"before May 2025", "..2025-05-01", "before May 2025"},
		{"until March 2024", "..2024-04-01", "until March 2024"},
		{"after June 2024", "2024-07-01..", "after June 2024"},
		{"around March 2024", "2024-01-30..2024-05-02", "around March 2024"},
		{"what happened between May and July", "2026-05-01..2026-08-01", "between May and July"},
		{"between October and February", "2025-10-01..2026-03-01", "between October and February"},
		{"between May and July 2023", "2023-05-01..2023-08-01", "between May and July 2023"},
		{"from November 2022 to February", "2022-11-01..2023-03-01", "from November 2022 to February"},
		{"March and April 2024", "2024-03-01..2024-05-01", "March and April 2024"},
		// Days of a month.
		{"March 5, 2024", "2024-03-05..2024-03-06", "March 5, 2024"},
		{"on the 5th of March 2024", "2024-03-05..2024-03-06", "on the 5th of March 2024"},
		{"5 March", "2026-03-05..2026-03-06", "5 March"},
		{"December 24th", "2025-12-24..2025-12-25", "December 24th"},
		{"on 29 February", "2024-02-29..2024-03-01", "on 29 February"},
		{"February 29, 2023", "2023-01-01..2024-01-01", "2023"},
		{"March 3-7, 2024", "2024-03-03..2024-03-08", "March 3-7, 2024"},
		{"3 to 7 March 2024", "2024-03-03..2024-03-08", "3 to 7 March 2024"},
		{"Monday, 4 March 2024", "2024-03-04..2024-03-05", "Monday, 4 March 2024"},
		{"on the 15th", "2026-11-15..2026-11-16", "on the 15th"},
		{"on the 20th", "2026-10-20..2026-10-21", "on the 20th"},
		{"between the 3rd and the 7th of March 2024", "2024-03-03..2024-03-08", "between the 3rd and the 7th of March 2024"},
		{"May 5, 2024 to May 9, 2024", "2024-05-05..2024-05-10", "May 5, 2024 to May 9, 2024"},
		// Digits.
		{"2024-03-05", "2024-03-05..2024-03-06", "2024-03-05"},
		{"log of 2024-03-05T10:20:00Z please", "2024-03-05..2024-03-06", "of 2024-03-05T10:20:00Z"},
		{"2024-03", "2024-03-01..2024-04-01", "2024-03"},
		{"2024-W01", "2024-01-01..2024-01-08", "2024-W01"},
		{"2020-W53", "2020-12-28..2021-01-04", "2020-W53"},
		{"week 12 of 2024", "2024-03-18..2024-03-25", "week 12 of 2024"},
		{"20240305", "2024-03-05..2024-03-06", "20240305"},
		{"2024/03/05", "2024-03-05..2024-03-06", "2024/03/05"},
		{"05.03.2024", "2024-03-05..2024-03-06", "05.03.2024"},
		{"3/5/2024", "2024-03-05..2024-03-06", "3/5/2024"},
		{"25/12/2023", "2023-12-25..2023-12-26", "25/12/2023"},
		{"2024-01-01 to 2024-02-15", "2024-01-01..2024-02-16", "2024-01-01 to 2024-02-15"},
		{"from 2024-01-01 until 2024-02-15", "2024-01-01..2024-02-16", "from 2024-01-01 until 2024-02-15"},
		// Years and more.
		{"in 2019", "2019-01-01..2020-01-01", "in 2019"},
		{"taxes 2023", "2023-01-01..2024-01-01", "2023"},
		{"2019-2021", "2019-01-01..2022-01-01", "2019-2021"},
		{"2019-21", "2019-01-01..2022-01-01", "2019-21"},
		{"before 2020", "..2020-01-01", "before 2020"},
		{"after 2020", "2021-01-01..", "after 2020"},
		{"since 2020", "2020-01-01..", "since 2020"},
		{"from 2019 onwards", "2019-01-01..", "from 2019 onwards"},
		{"the 1990s", "1990-01-01..2000-01-01", "the 1990s"},
		{"in the 90s", "1990-01-01..2000-01-01", "in the 90s"},
		{"the early 2010s", "2010-01-01..2013-05-02", "the early 2010s"},
		{"the 1800s", "1800-01-01..1900-01-01", "the 1800s"},
		{"in the 19th century", "1801-01-01..1901-01-01", "in the 19th century"},
		{"in the nineties", "1990-01-01..2000-01-01", "in the nineties"},
		{"Q2 2023", "2023-04-01..2023-07-01", "Q2 2023"},
		{"2023 Q4", "2023-10-01..2024-01-01", "2023 Q4"},
		{"in Q1", "2026-01-01..2026-04-01", "in Q1"},
		{"third quarter of 2024", "2024-07-01..2024-10-01", "third quarter of 2024"},
		{"H1 2023", "2023-01-01..2023-07-01", "H1 2023"},
		{"last summer", "2026-06-01..2026-09-01", "last summer"},
		{"last winter", "2025-12-01..2026-03-01", "last winter"},
		{"notes from the summer of 2019", "2019-06-01..2019-09-01", "from the summer of 2019"},
		{"winter 2023/24", "2023-12-01..2024-03-01", "winter 2023/24"},
		{"in spring", "2026-03-01..2026-06-01", "in spring"},
		{"last Christmas", "2025-12-24..2025-12-27", "last Christmas"},
		{"Easter 2024", "2024-03-29..2024-04-02", "Easter 2024"},
		{"Thanksgiving 2025", "2025-11-27..2025-11-28", "Thanksgiving 2025"},
		{"early March 2024", "2024-03-01..2024-03-11", "early March 2024"},
		{"mid-March 2024", "2024-03-11..2024-03-22", "mid-March 2024"},
		{"at the end of last year", "2025-09-01..2026-01-01", "at the end of last year"},
		{"first week of March 2024", "2024-03-01..2024-03-08", "first week of March 2024"},
		{"last day of 2023", "2023-12-31..2024-01-01", "last day of 2023"},
		{"first half of 2023", "2023-01-01..2023-07-01", "first half of 2023"},
		{"since Monday and before Wednesday", "2026-11-16..2026-11-18", "since Monday, before Wednesday"},
		{"compare 2021 and 2023", "2021-01-01..2024-01-01", "2021 and 2023"},
		// Not times.
		{"may I come in", "..", ""},
		{"March on Rome", "..", ""},
		{"how to march in step", "..", ""},
		{"a second opinion", "..", ""},
		{"the fall of Rome", "..", ""},
		{"Windows 2000 drivers", "..", ""},
		{"an essay of 2000 words", "..", ""},
		{"price $2024", "..", ""},
		{"version 2024.1", "..", ""},
		{"RFC 2026", "..", ""},
		{"CVE-2024-12345", "..", ""},
		{"call 2024-555-0199", "..", ""},
		{"spring boot configuration", "..", ""},
		{"sun and moon", "..", ""},
		{"what is his last name", "..", ""},
		{"on the 5th floor", "..", ""},
		{"e-mail 3 times a day", "..", ""},
		{"1984 by Orwell", "1984-01-01..1985-01-01", "1984"},
		{"13.45.2024", "..", ""},
		{"3.14", "..", ""},
		{"192.168.20.24", "..", ""},
		{"half a second", "..", ""},
		// German.
		{"was habe ich letzte Woche gemacht", "2026-11-09..2026-11-16", "letzte Woche"},
		{"was geschah im März 2022?", "2022-03-01..2022-04-01", "im März 2022"},
		{"vor drei Wochen", "2026-10-25..2026-11-01", "vor drei Wochen"},
		{"seit Montag", "2026-11-16..", "seit Montag"},
		{"am 5. März 2024", "2024-03-05..2024-03-06", "am 5. März 2024"},
		{"am 5.3.2024", "2024-03-05..2024-03-06", "am 5.3.2024"},
		{"vorgestern Abend", "2026-11-16T18:00..2026-11-17", "vorgestern Abend"},
		{"in den letzten drei Monaten", "2026-08-18..2026-11-19", "in den letzten drei Monaten"},
		{"zwischen Mai und Juli 2023", "2023-05-01..2023-08-01", "zwischen Mai und Juli 2023"},
		{"Ende 2023", "2023-09-01..2024-01-01", "Ende 2023"},
		{"KW 12 2024", "2024-03-18..2024-03-25", "KW 12 2024"},
		{"die 90er Jahre", "1990-01-01..2000-01-01", "die 90er Jahre"},
		{"im 19. Jahrhundert", "1801-01-01..1901-01-01", "im 19. Jahrhundert"},
		{"letzten Sommer", "2026-06-01..2026-09-01", "letzten Sommer"},
		{"vor 2020", "..2020-01-01", "vor 2020"},
		{"was steht hier", "..", ""},
		{"2. Quartal 2023", "2023-04-01..2023-07-01", "2. Quartal 2023"},
		// French.
		{"qu'est-ce que j'ai fait hier", "2026-11-17..2026-11-18", "hier"},
		{"la semaine dernière", "2026-11-09..2026-11-16", "la semaine dernière"},
		{"il y a trois semaines", "2026-10-25..2026-11-01", "il y a trois semaines"},
		{"en mars 2024", "2024-03-01..2024-04-01", "en mars 2024"},
		{"le 1er mars 2024", "2024-03-01..2024-03-02", "le 1er mars 2024"},
		{"depuis lundi", "2026-11-16..", "depuis lundi"},
		{"les trois derniers mois", "2026-08-18..2026-11-19", "les trois derniers mois"},
		{"aujourd'hui", "2026-11-18..2026-11-19", "aujourd'hui"},
		{"entre mai et juillet 2023", "2023-05-01..2023-08-01", "entre mai et juillet 2023"},
		{"l'été dernier", "2026-06-01..2026-09-01", "l'été dernier"},
		{"les années 90", "1990-01-01..2000-01-01", "les années 90"},
		{"fin 2023", "2023-09-01..2024-01-01", "fin 2023"},
		// Spanish.
		{"qué hice ayer", "2026-11-17..2026-11-18", "ayer"},
		{"la semana pasada", "2026-11-09..2026-11-16", "la semana pasada"},
		{"hace tres semanas", "2026-10-25..2026-11-01", "hace tres semanas"},
		{"qué pasó en enero de 2020", "2020-01-01..2020-02-01", "en enero de 2020"},
		{"el 5 de marzo de 2024", "2024-03-05..2024-03-06", "el 5 de marzo de 2024"},
		{"desde el lunes", "2026-11-16..", "desde el lunes"},
		{"los últimos tres meses", "2026-08-18..2026-11-19", "los últimos tres meses"},
		{"entre mayo y julio de 2023", "2023-05-01..2023-08-01", "entre mayo y julio de 2023"},
		{"el verano pasado", "2026-06-01..2026-09-01", "el verano pasado"},
		{"a finales de 2023", "2023-09-01..2024-01-01", "a finales de 2023"},
		{"antes de 2020", "..2020-01-01", "antes de 2020"},
	} {
		t.Run(c.text, func(t *testing.T) {
			q := Parse(c.text, now)
			if got := describeRange(q.Time); got != c.want || q.Time.Text != c.said {
				t.Errorf("is %s (%q), want %s (%q)", got, q.Time.Text, c.want, c.said)
			}
		})
	}
}
