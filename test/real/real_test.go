// Package real tests the program with a small real model, a real embedder, and servers that
// misbehave as real ones do.
//
// The model is SmolLM2 with 135 million parameters. It answers badly, so the tests check
// properties that must hold with any model: every run ends in time and without an error, each
// citation names a passage that exists, each quote is in its source, and no answer has repeated
// lines, words of the prompt or remains of JSON. A table shows the figures of each run.
//
//	go test -count=1 ./test/real              the short part, as in make test
//	PONDER_REAL=all go test ... ./test/real   everything, as in make real
//
// scripts/real installs the packages that package-lock.json and requirements.txt pin, into a cache
// outside of the checkout. Where they cannot be installed, the tests are skipped, except in CI.
// With OPENAI_BASE_URL, make real tests the model of that server, which OPENAI_API_KEY and
// PONDER_REAL_MODEL describe further, and prints the answers.
//
// scripted_test.go has servers with a script instead of a model. They repeat behaviours that were
// seen with real servers.
package real

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// wantAll selects the whole suite instead of the short part.
var wantAll = os.Getenv("PONDER_REAL") == "all"

// buildDir is a temporary folder for the program.
var buildDir string

// ponderBinary builds the program once and returns its path.
var ponderBinary = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(buildDir, "ponder")
	build := exec.Command("go", "build", "-trimpath", "-o", bin, "./cmd/ponder")
	build.Dir, build.Stderr = filepath.Join("..", ".."), os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return bin, build.Run()
})

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "ponder-real")
	if err != nil {
		panic(err)
	}
	buildDir = dir
	code := m.Run()
	fmt.Print(figures.format())
	os.RemoveAll(dir)
	os.Exit(code)
}
