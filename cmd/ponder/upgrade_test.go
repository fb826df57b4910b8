package main

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ponder/internal/racetest"
)

// TestUpgrade runs testdata/upgrade/*.txt on a copy of v0.db, which has unfinished threads of
// an earlier version.
func TestUpgrade(t *testing.T) {
	racetest.Skip(t, "the scripts run the same commands")
	p := scriptParams("testdata/upgrade")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		gold, err := filepath.Glob("testdata/upgrade/*.gz")
		if err != nil {
			return err
		}
		for _, file := range gold {
			if err := unpackGzip(file, env.WorkDir); err != nil {
				return err
			}
		}
		return setup(env)
	}
	testscript.Run(t, p)
}

func unpackGzip(file, dir string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		return err
	}
	name := filepath.Base(file)
	out, err := os.Create(filepath.Join(dir, name[:len(name)-len(".gz")]))
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, z); err != nil {
		return err
	}
	return out.Close()
}
