package document

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "take PDFium from its module anew; it wants xz")

// PDFium is that of this module, byte by byte, without the functions that it does not
// need for those that are called.
const (
	pdfiumModule  = "github.com/klippa-app/go-pdfium@v1.15.0"
	pdfiumFile    = "webassembly/pdfium.wasm"
	pdfiumWhole   = "8238cc928fcf638751f409cce2417ba33a265e8462e9502bb9d29ef4a01c5eaf"
	pdfiumTrimmed = "1b5f45a6095f78e347350f12fdb710a45b2340c25de4b6e516ce4f4774e82ab4"
)

// What of PDFium is called: by the reader of PDFs, and by wazero.
var pdfiumCalled = strings.Fields(`
	malloc free
	FPDF_LoadMemDocument FPDF_GetLastError FPDF_GetPageCount FPDF_GetMetaText
	FPDF_LoadPage FPDF_ClosePage FPDFText_LoadPage FPDFText_ClosePage
	FPDFText_CountChars FPDFText_GetText FPDFText_GetUnicode
	FPDFText_GetFontWeight FPDFText_GetFontSize FPDFText_GetCharOrigin
	_initialize FPDF_InitLibrary
	setThrew _emscripten_stack_restore emscripten_stack_get_current`)

func TestPDFium(t *testing.T) {
	if *update {
		takePDFium(t)
	}
	wasm, err := unpackPDFium()
	must(t, err)
	if got := sum(wasm); got != pdfiumTrimmed {
		t.Errorf("PDFium has the sum %s, want %s", got, pdfiumTrimmed)
	}
	m, err := readWasm(wasm)
	must(t, err)
	if diff := cmp.Diff(slices.Sorted(slices.Values(pdfiumCalled)), slices.Sorted(maps.Keys(m.exports))); diff != "" {
		t.Errorf("what can be called (-want +got):\n%s", diff)
	}
}

func sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func takePDFium(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", pdfiumModule).Output()
	must(t, err)
	var module struct{ Dir string }
	must(t, json.Unmarshal(out, &module))
	whole, err := os.ReadFile(filepath.Join(module.Dir, pdfiumFile))
	must(t, err)
	if got := sum(whole); got != pdfiumWhole {
		t.Errorf("PDFium of %s has the sum %s, want %s", pdfiumModule, got, pdfiumWhole)
	}
	wasm, err := trimWasm(whole, pdfiumCalled)
	must(t, err)
	t.Logf("of %d bytes, %d are left", len(whole), len(wasm))
	pdfium = packPDFium(t, wasm)
	must(t, os.WriteFile("pdfium.wasm.lzma", pdfium, 0o644))
}

// packPDFium does what unpackPDFium undoes.
func packPDFium(t *testing.T, wasm []byte) []byte {
	t.Helper()
	b := bytes.Clone(wasm)
	must(t, eachFont(b, decryptFont))
	for i, plain := 0, bytes.Clone(b); i < len(plain); i += packBlock {
		b = append(b, differences(b[i:min(i+packBlock, len(plain))], plain, i))
	}
	xz := exec.CommandContext(t.Context(), "xz", "--format=lzma", "--lzma1=preset=9e,nice=64,lc=3,lp=0,pb=1", "--stdout")
	xz.Stdin = bytes.NewReader(b)
	out, err := xz.Output()
	must(t, err)
	return out
}

// differences puts into a block of what begins there the differences that pack best: to
// the bytes that are so far before, 0 for none.
func differences(block, plain []byte, from int) (back byte) {
	const worth = 16 // bytes
	least := deflated(block) - worth
	for _, k := range []int{2, 4, 6} { // tables have rows of one, two or three numbers of 16 bits
		b := bytes.Clone(plain[from:][:len(block)])
		for i := max(k-from, 0); i < len(b); i++ {
			b[i] -= plain[from+i-k]
		}
		if n := deflated(b); n < least {
			least, back = n, byte(k)
			copy(block, b)
		}
	}
	return back
}

func deflated(b []byte) int {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err == nil {
		_, err = w.Write(b)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		panic(err)
	}
	return out.Len()
}

func decryptFont(font []byte) {
	decrypt(font, fontKey)
	for {
		glyph, rest := nextGlyph(font)
		if glyph == nil {
			return
		}
		decrypt(glyph, glyphKey)
		font = rest
	}
}

func decrypt(b []byte, key uint16) {
	for i, c := range b {
		b[i] ^= byte(key >> 8)
		key = (uint16(c)+key)*52845 + 22719
	}
}

func TestUnlzma(t *testing.T) {
	file := bytes.Clone(pdfium[:200_000])
	if _, err := unlzma(file, pdfUnpacked); !errors.Is(err, errLZMA) {
		t.Errorf("cut off: error %v", err)
	}
	if _, err := unlzma(pdfium, 1<<20); !errors.Is(err, errLZMA) {
		t.Errorf("with too little room: error %v", err)
	}
	for i := range len(file) / 997 { // nothing that stands there makes it panic
		b := bytes.Clone(file[:20_000])
		b[i*997%len(b)] ^= byte(i + 1)
		if _, err := unlzma(b, 1<<20); !errors.Is(err, errLZMA) {
			t.Errorf("damaged at %d: error %v", i*997%len(b), err)
		}
	}
}
