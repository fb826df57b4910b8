package document

import (
	"bytes"
	"compress/gzip"
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

var update = flag.Bool("update", false, "write PDFium from its module again")

// The module's PDFium and the expected hashes before and after trimming.
const (
	pdfiumModule  = "github.com/klippa-app/go-pdfium@v1.21.4"
	pdfiumFile    = "internal/pdfium_wasm/pdfium.wasm"
	pdfiumWhole   = "e6f77e01dce34de05ad62515114152da580b64c23871e3e3e2afef3f7bb88ade"
	pdfiumTrimmed = "4ec9cceb4262401ecae47295daa9f613b71ddf8a11f68f31d56475d464da420f"
)

// pdfiumCalled are the functions that the PDF reader and wazero call.
var pdfiumCalled = strings.Fields(`
	malloc free
	FPDF_LoadMemDocument FPDF_GetLastError FPDF_GetPageCount FPDF_GetMetaText
	FPDF_LoadPage FPDF_ClosePage FPDFText_LoadPage FPDFText_ClosePage
	FPDFText_CountChars FPDFText_GetText FPDFText_GetUnicode
	FPDFText_GetFontWeight FPDFText_GetFontSize FPDFText_GetCharOrigin
	_initialize FPDF_InitLibrary`)

func TestPDFium(t *testing.T) {
	if *update {
		takePDFium(t)
	}
	wasm, err := unpackPDFium()
	must(t, err)
	if got := hexSum(wasm); got != pdfiumTrimmed {
		t.Errorf("PDFium has the sum %s, want %s", got, pdfiumTrimmed)
	}
	m, err := readWasm(wasm)
	must(t, err)
	if diff := cmp.Diff(slices.Sorted(slices.Values(pdfiumCalled)), slices.Sorted(maps.Keys(m.exports))); diff != "" {
		t.Errorf("exported functions (-want +got):\n%s", diff)
	}
}

func hexSum(b []byte) string {
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
	if got := hexSum(whole); got != pdfiumWhole {
		t.Errorf("PDFium of %s has the sum %s, want %s", pdfiumModule, got, pdfiumWhole)
	}
	wasm, err := trimWasm(whole, pdfiumCalled)
	must(t, err)
	t.Logf("of %d bytes, %d are left", len(whole), len(wasm))
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	must(t, err)
	_, err = z.Write(wasm)
	must(t, errors.Join(err, z.Close()))
	pdfium = packed.Bytes()
	must(t, os.WriteFile("pdfium.wasm.gz", pdfium, 0o644))
}
