package document

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ponder/internal/racetest"
)

// runLength packs n equal bytes for the filter RunLengthDecode.
func runLength(n int, c byte) string {
	return strings.Repeat(string([]byte{129, c}), n/128) + "\x80"
}

// memoryBombs returns PDFs that make the engine use much memory, in different ways.
func memoryBombs() map[string][]byte {
	page := func(stream string, more ...string) []byte {
		p := pdfFile{
			"<< /Type /Catalog /Pages 3 0 R >>", "<< >>", "<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
			"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
			"<< /Type /Page /Parent 3 0 R /MediaBox [0 0 612 792] /Contents 6 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
			stream,
		}
		return append(p, more...).encode()
	}
	return map[string][]byte{
		"unpacked":   page(pdfStream("/Filter /RunLengthDecode", runLength(400<<20, ' '))),
		"letters":    page(pdfStream("", "BT /F1 1 Tf ("+strings.Repeat("a", 3<<20)+") Tj ET")),
		"paths":      page(pdfStream("", strings.Repeat("1 1 m 2 2 l S ", 2<<20))),
		"large file": append(page(pdfStream("", pdfText(72, 700, 12, "a"))), bytes.Repeat([]byte("% filler\n"), 3<<20)...),
		"objects":    page(pdfStream("", ""), slicesRepeat("<< /A [1 2 3 4 5 6 7 8 9 0] /B (text) /C << /D 1 >> >>", 50_000)...),
	}
}

func slicesRepeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

var peakPattern = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMiB returns the highest resident memory since resetPeak.
func peakMiB() int {
	status, _ := os.ReadFile("/proc/self/status")
	m := peakPattern.FindSubmatch(status)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n >> 10
}

func resetPeak() error {
	debug.FreeOSMemory()
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// measureBombs reads bombs, first alone and then five at once, and prints the peaks.
func measureBombs() error {
	bombs := memoryBombs()
	began := peakMiB()
	if _, err := PDF(pdfPages(harbourPages(1)...)); err != nil {
		return err
	}
	fmt.Println("start", began, peakMiB())
	if err := resetPeak(); err != nil {
		return err
	}
	base := peakMiB() // with the bombs themselves
	for name, file := range bombs {
		if err := resetPeak(); err != nil {
			return err
		}
		c, err := PDF(file)
		fmt.Println("alone", base, peakMiB(), name, len(file)>>20, len(c.Blocks), err)
	}
	if err := resetPeak(); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, name := range []string{"unpacked", "letters", "paths", "large file", "objects"} {
		all.Go(func() { _, _ = PDF(bombs[name]) })
	}
	all.Wait()
	fmt.Println("together", base, peakMiB())
	return nil
}

// TestPDFMemory checks the resident memory of a process that reads hostile PDFs: 256 MiB more
// than before for one, and 512 MiB in all for five at once.
func TestPDFMemory(t *testing.T) {
	racetest.Skip(t, "it measures the memory of another process, which the detector multiplies")
	out := runChild(t, "memory")
	for line := range strings.Lines(out) {
		t.Log(strings.TrimSpace(line))
		var what string
		var base, peak int
		if _, err := fmt.Sscan(line, &what, &base, &peak); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		switch {
		case peak == 0:
			t.Errorf("no measure: %s", line)
		case what == "alone" && peak > base+256+64:
			t.Errorf("the engine exceeds its memory: %s", line)
		case what == "together" && peak > 512:
			t.Errorf("five PDFs exceed their memory: %s", line)
		}
	}
	if n := strings.Count(out, "\n"); n != len(memoryBombs())+2 {
		t.Errorf("%d lines", n)
	}
}
