package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var installing sync.Mutex

// installed reports whether dir has the versions that files request, according to the recorded
// state. done records them.
func installed(t *testing.T, dir string, files ...string) (done func(), ok bool) {
	t.Helper()
	h := sha256.New()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(text)
	}
	sum, note := hex.EncodeToString(h.Sum(nil)), filepath.Join(dir, ".installed")
	was, err := os.ReadFile(note)
	return func() {
		if err := os.WriteFile(note, []byte(sum), 0o600); err != nil {
			t.Fatal(err)
		}
	}, err == nil && string(was) == sum
}

// node returns the command for Node scripts: a version that comes with the packages, because some
// need a recent one.
func node(t *testing.T) []string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	bin, err := filepath.Abs(filepath.Join("node_modules", "node", "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	run := []string{bin, "--test-reporter=tap"}
	done, ok := installed(t, "node_modules", "package.json", "package-lock.json")
	if ok {
		return run
	}
	ready := t.Run("npm ci", func(t *testing.T) {
		if _, err := exec.LookPath("npm"); err != nil {
			missing(t, "there is no npm: install Node.js 20 or newer")
		}
		needs(t, command("npm", "ci", "--no-audit", "--no-fund"), "the clients for Node")
		done()
	})
	if _, err := os.Stat(bin); !ready || err != nil {
		return nil
	}
	return run
}

func python(t *testing.T) []string {
	t.Helper()
	installing.Lock()
	defer installing.Unlock()
	bin, err := filepath.Abs(filepath.Join(".venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	done, ok := installed(t, ".venv", "requirements.txt")
	if ok {
		return []string{bin}
	}
	ready := t.Run("pip install", func(t *testing.T) {
		needs(t, command("python3", "-m", "venv", "--clear", ".venv"), "python3-venv")
		needs(t, command(bin, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", "requirements.txt"), "the clients for Python")
		done()
	})
	if _, err := os.Stat(filepath.Join(".venv", ".installed")); !ready || err != nil {
		return nil
	}
	return []string{bin}
}
