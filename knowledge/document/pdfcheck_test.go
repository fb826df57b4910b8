package document

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder/internal/racetest"
)

func packedStream(t testing.TB, dict string, n int) string {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	piece := bytes.Repeat([]byte("(a) Tj "), 1<<17)
	for ; n > 0; n -= len(piece) {
		w.Write(piece[:min(n, len(piece))])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("4 0 obj\n<<%s/Filter/FlateDecode/Length %d>>\nstream\n%s\nendstream\nendobj\n", dict, b.Len(), b.String())
}

func TestCheckPDF(t *testing.T) {
	racetest.Skip(t, "one goroutine, which unpacks long streams")
	for _, c := range []struct {
		name, file string
		want       error
	}{
		{"bomb", packedStream(t, "", maxPDFStream+1), errPDFStream},
		{"long page", packedStream(t, "", maxPDFStream/2), nil},
		{"many long pages", strings.Repeat(packedStream(t, "", maxPDFStream-1), 5), errPDFStream},
		{"picture", packedStream(t, "/Subtype/Image", maxPDFStream+1), nil},
		{"picture before", "1 0 obj\n<</Subtype/Image>>\nendobj\n" + packedStream(t, "", maxPDFStream+1), errPDFStream},
		{"no end", "stream\n" + strings.Repeat("x", 1<<17), nil},
		{"nothing but the word", strings.Repeat("stream", 10), nil},
		{"empty", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := checkPDF([]byte(c.file)); !errors.Is(err, c.want) {
				t.Errorf("checkPDF: %v, want %v", err, c.want)
			}
		})
	}
}

func TestSlowPDFIsTriedOnce(t *testing.T) {
	file := append(nestedForms(29, false), "% tried once"...)
	if _, err := readPDF(file, time.Millisecond); !errors.Is(err, errSlow) {
		t.Fatalf("the engine reads it in no time: %v", err)
	}
	began := time.Now()
	if _, err := readPDF(file, time.Minute); !errors.Is(err, errSlow) || time.Since(began) > 10*time.Second {
		t.Errorf("the second time: %v after %v", err, time.Since(began))
	}
}
