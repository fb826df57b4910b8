package tui

import (
	"fmt"
	"testing"
)

func BenchmarkRender(b *testing.B) {
	f := fullFrame()
	for i := range 2000 {
		f.Tree.Branches = append(f.Tree.Branches, Branch{ID: "q" + fmt.Sprint(i+100), Parent: "q" + fmt.Sprint(i+50), Text: "What became of the rats?", Weight: float64(i % 10)})
	}
	foot, _ := (&keyPanel{KeyBindings: testBindings()}).renderFoot(79, Style{})
	for b.Loop() {
		Render(f, foot, Size{80, 24}, Style{})
	}
}
