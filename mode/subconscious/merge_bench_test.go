//go:build unix

package subconscious

import (
	"syscall"
	"testing"
	"time"
)

func BenchmarkAggregate(b *testing.B) {
	w := newWorld(1)
	s := NewState()
	for range 200 {
		_, got := w.randomTick(s)
		s = got.State
	}
	in := w.randomInput(s)
	in.Reports = nil
	for _, r := range testRoles() {
		report := Report{Role: r.Name, Escalate: "it matters"}
		for range 5 {
			report.Findings = append(report.Findings, Finding{Type: pickOne(w, kinds), Summary: w.randomText(), Importance: 1 + w.IntN(10)})
		}
		in.Reports = append(in.Reports, report)
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		Aggregate(s, in, w.now, rules)
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "µs-of-CPU/op")
}

func BenchmarkAggregateNothing(b *testing.B) {
	w := newWorld(1)
	s := NewState()
	for range 200 {
		_, got := w.randomTick(s)
		s = got.State
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		Aggregate(s, Input{Tick: 201}, w.now, rules)
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "µs-of-CPU/op")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
