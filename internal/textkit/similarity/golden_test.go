package similarity

import (
	"crypto/sha256"
	"flag"
	"fmt"
	digest "hash"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/verdicts.golden anew")

// A verdictCounts counts verdicts and hashes their sequence.
type verdictCounts struct {
	digest.Hash
	n [3]int
}

func (v *verdictCounts) add(x, y Text) {
	verdict := x.Compare(y)
	v.n[verdict]++
	v.Write([]byte{byte(verdict)})
}

func (v *verdictCounts) formatLine(name string) string {
	return fmt.Sprintf("%s: %d different, %d same, %d opposite, sha256 %x\n", name, v.n[Different], v.n[Same], v.n[Opposite], v.Sum(nil)[:8])
}

// rewriteText returns mechanical rewrites of a text.
func rewriteText(s string) []string {
	return []string{
		strings.ToUpper(s), strings.ReplaceAll(s, "'", "’"), strings.TrimRight(s, ".?!。") + "?", s + " " + s, "It seems that " + s,
		strings.ReplaceAll(s, " ", "\n"), strings.NewReplacer("a", "á", "o", "ö").Replace(s), "If " + s + ", then not.", "42.5% of " + s,
	}
}

// TestVerdicts compares every text with every other and with mechanical rewrites. Run it with
// -update after a change of tables or rules; an optimisation must not change the file.
func TestVerdicts(t *testing.T) {
	crossed, changed := verdictCounts{Hash: sha256.New()}, verdictCounts{Hash: sha256.New()}
	var of []Text
	for _, p := range loadPairs(t) {
		a, b := Parse(p.A), Parse(p.B)
		of = append(of, a, b)
		last := b
		for _, s := range append(append(changedTexts(p.A), rewriteText(p.A)...), rewriteText(p.B)...) {
			x := Parse(s)
			changed.add(x, a)
			changed.add(b, x)
			changed.add(x, last)
			last = x
		}
	}
	for i := range of {
		for j := range i + 1 {
			crossed.add(of[i], of[j])
		}
	}
	got := crossed.formatLine("every text with every other") + changed.formatLine("texts changed mechanically")
	const name = "testdata/verdicts.golden"
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("verdicts changed (-want +got):\n%s", diff)
	}
}
