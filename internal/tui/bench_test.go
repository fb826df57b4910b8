package tui

import "testing"

func BenchmarkRender(b *testing.B) {
	f := full()
	for i := range 2000 {
		f.Tree.Branches = append(f.Tree.Branches, Branch{ID: "q" + itoa(i+100), Parent: "q" + itoa(i+50), Text: "What became of the rats?", Weight: float64(i % 10)})
	}
	foot, _ := desk{Desk: controls()}.foot(79, Style{})
	for b.Loop() {
		Render(f, foot, Size{80, 24}, Style{})
	}
}
