package document

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "take PDFium from its module anew")

// PDFium is that of this module, byte by byte.
const (
	pdfiumModule = "github.com/klippa-app/go-pdfium@v1.15.0"
	pdfiumFile   = "webassembly/pdfium.wasm"
	pdfiumSum    = "8238cc928fcf638751f409cce2417ba33a265e8462e9502bb9d29ef4a01c5eaf"
)

func TestPDFium(t *testing.T) {
	if *update {
		takePDFium(t)
	}
	wasm, err := unpackPDFium()
	must(t, err)
	sum := sha256.Sum256(wasm)
	if got := hex.EncodeToString(sum[:]); got != pdfiumSum {
		t.Errorf("PDFium has the sum %s, and that of %s %s", got, pdfiumModule, pdfiumSum)
	}
}

func takePDFium(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", pdfiumModule).Output()
	must(t, err)
	var module struct{ Dir string }
	must(t, json.Unmarshal(out, &module))
	wasm, err := os.ReadFile(filepath.Join(module.Dir, pdfiumFile))
	must(t, err)
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	must(t, err)
	_, err = z.Write(wasm)
	must(t, err)
	must(t, z.Close())
	must(t, os.WriteFile("pdfium.wasm.gz", b.Bytes(), 0o644))
	pdfium = b.Bytes()
}
