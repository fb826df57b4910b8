package report

import (
	"fmt"
	"testing"

	"ponder"
	"ponder/mode/session"
)

// BenchmarkReports writes the reports of a session of 5,000 thoughts.
func BenchmarkReports(b *testing.B) {
	v := session.NewView()
	apply := func(body ponder.Body) { v = v.Apply(ponder.Event{Run: run, Body: body}) }
	apply(ponder.RunStarted{Mode: session.Name, Input: "Why?"})
	for i := range 5000 {
		if i%5 == 0 {
			apply(ponder.SubQuestion{ID: fmt.Sprint("q", i/5+1), Parent: fmt.Sprint("q", i/10), Content: fmt.Sprintf("What of *%d*?", i)})
		}
		apply(ponder.Thought{Content: fmt.Sprintf("The **thought** number %d rests on `this` and on that, and goes on for a while.", i), Number: i, Kind: "insight", Focus: fmt.Sprint("Focus ", i/5), Offset: float64(i)})
	}
	size := 0
	b.Run("markdown", func(b *testing.B) {
		for b.Loop() {
			size = len(Markdown(v))
		}
		b.ReportMetric(float64(size), "bytes")
	})
	b.Run("html", func(b *testing.B) {
		for b.Loop() {
			page, err := HTML(v)
			if err != nil {
				b.Fatal(err)
			}
			size = len(page)
		}
		b.ReportMetric(float64(size), "bytes")
	})
}
