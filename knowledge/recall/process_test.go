//go:build unix

package recall_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

// childEnv makes this program ingest a folder into a database.
const childEnv = "PONDER_RECALL_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	if err := runChild(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChild(file, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer store.Close()
	arch, err := archive.Open(ctx, store.SQL())
	if err != nil {
		return err
	}
	l, err := recall.Open(ctx, recall.Config{DB: store.SQL(), Archive: arch, Now: fixedNow})
	if err != nil {
		return err
	}
	_, err = l.Ingest(ctx, []string{dir}, recall.IngestOptions{Progress: func(p recall.Progress) { fmt.Println(p.Items) }})
	return err
}

func spawnChild(t *testing.T, file, dir string) (cmd *exec.Cmd, errs *strings.Builder, out io.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], file, dir)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	errs = &strings.Builder{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, errs, out
}

func libraryFolder(t *testing.T) string {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("notes/%d.md", i)] = fmt.Sprintf("# Note %d\n\nfirst%d of the note. %s\n\nlast%d of the note.\n", i, i, strings.Repeat("Some words between. ", 40), i)
	}
	var posts, long strings.Builder
	for i := range 600 {
		fmt.Fprintf(&posts, `{"id":"%d","source":"log","text":"Record %d of the ship's log: wind from the west, and rain."}`+"\n", i, i)
		fmt.Fprintf(&long, "Sentence %d of the long report, which says that everything is well.\n\n", i)
	}
	files["posts.jsonl"], files["report.txt"] = posts.String(), "beginning\n\n"+long.String()+"\n\nending\n"
	return writeFolder(t, files)
}

func TestKill(t *testing.T) {
	dir := libraryFolder(t)
	want := newRig(t)
	want.ingestPaths(recall.IngestOptions{}, dir)

	file := filepath.Join(t.TempDir(), "ponder.db")
	kills := 0
	for more := true; more; {
		maxTransactions := 1 + rand.IntN(8) // transactions; the kill hits the next
		if kills == maxKills {
			maxTransactions = math.MaxInt
		}
		if more = killAfter(t, file, dir, maxTransactions); more {
			kills++
		}
		r := openRig(t, file)
		r.checkComplete()
		r.store.Close()
	}
	r := openRig(t, file)
	if diff := cmp.Diff(want.allContent(), r.allContent()); diff != "" {
		t.Errorf("after %d kills (-want +got):\n%s", kills, diff)
	}
	r.checkConsistent()
	t.Logf("killed %d times", kills)
}

const maxKills = 5

// killAfter kills an ingestion after some transactions. It returns false if the process
// ended before.
func killAfter(t *testing.T, file, dir string, after int) bool {
	t.Helper()
	cmd, errs, out := spawnChild(t, file, dir)
	lines := bufio.NewScanner(out)
	for n := 0; n < after && lines.Scan(); n++ {
	}
	cmd.Process.Kill()
	err := cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() >= 0 {
		t.Fatalf("%v: %s", err, errs)
	}
	return err != nil
}

// checkComplete checks that documents have their beginning and end.
func (r *rig) checkComplete() {
	r.t.Helper()
	for _, it := range r.listItems(recall.Filter{N: -1}) {
		full, err := r.Item(r.t.Context(), it.ID)
		if err != nil {
			r.t.Fatal(err)
		}
		ok := len(full.Text) > 0
		switch {
		case strings.HasSuffix(it.Path, "report.txt"):
			ok = strings.HasPrefix(full.Text, "beginning") && strings.HasSuffix(full.Text, "ending")
		case strings.HasSuffix(it.Path, ".md"):
			n := strings.TrimSuffix(filepath.Base(it.Path), ".md")
			ok = strings.Contains(full.Text, "first"+n+" ") && strings.Contains(full.Text, "last"+n+" ")
		}
		if !ok {
			r.t.Errorf("%s#%s is not whole: %d bytes", it.Path, it.Part, len(full.Text))
		}
	}
	r.checkConsistent()
}

// checkConsistent checks that the tables agree.
func (r *rig) checkConsistent() {
	r.t.Helper()
	for what, query := range map[string]string{
		"items without a document":  `SELECT count(*) FROM recall_item WHERE num NOT IN (SELECT id FROM index_doc)`,
		"documents without an item": `SELECT count(*) FROM index_doc WHERE id NOT IN (SELECT num FROM recall_item)`,
		"parts that are twice":      `SELECT count(*) FROM (SELECT 1 FROM recall_item WHERE path <> '' GROUP BY owner, path, part HAVING count(*) > 1)`,
		"items of no file":          `SELECT count(*) FROM recall_item i WHERE path <> '' AND NOT EXISTS (SELECT 1 FROM recall_file f WHERE f.path = i.path)`,
		"originals of nothing":      `SELECT count(*) FROM archive_blob b WHERE NOT EXISTS (SELECT 1 FROM recall_file f WHERE f.original = b.hash) AND NOT EXISTS (SELECT 1 FROM recall_item i WHERE i.original = b.hash) AND NOT EXISTS (SELECT 1 FROM recall_earlier e WHERE e.original = b.hash)`,
		"files without an original": `SELECT count(*) FROM recall_file f WHERE f.original <> '' AND f.original NOT IN (SELECT hash FROM archive_blob)`,
	} {
		var n int
		if err := r.store.SQL().Read.QueryRowContext(r.t.Context(), query).Scan(&n); err != nil {
			r.t.Fatal(err)
		}
		if n != 0 {
			r.t.Errorf("%d %s", n, what)
		}
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := libraryFolder(t)
	want := newRig(t)
	want.ingestPaths(recall.IngestOptions{}, dir)
	file := filepath.Join(t.TempDir(), "ponder.db")
	openRig(t, file).store.Close()
	a, aErr, aOut := spawnChild(t, file, dir)
	b, bErr, bOut := spawnChild(t, file, dir)
	var reading sync.WaitGroup
	reading.Go(func() { io.Copy(io.Discard, aOut) })
	reading.Go(func() { io.Copy(io.Discard, bOut) })
	reading.Wait()
	if err := a.Wait(); err != nil {
		t.Errorf("%v: %s", err, aErr)
	}
	if err := b.Wait(); err != nil {
		t.Errorf("%v: %s", err, bErr)
	}
	r := openRig(t, file)
	if diff := cmp.Diff(want.allContent(), r.allContent()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.checkConsistent()
}

// After random changes, the library equals a new one.
func TestAsBuiltAnew(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	r := newRig(t)
	at := old
	for round := range 12 / racetest.Stride(4) {
		for range 1 + rnd.IntN(12) {
			at = at.Add(time.Minute)
			changeFolder(t, rnd, dir, at)
		}
		r.ingestPaths(recall.IngestOptions{}, dir)
		if err := r.WaitIndexed(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		anew := newRig(t)
		anew.ingestPaths(recall.IngestOptions{}, dir)
		if diff := cmp.Diff(anew.allContent(), r.allContent()); diff != "" {
			t.Fatalf("round %d (-anew +followed):\n%s", round, diff)
		}
		for _, q := range []string{"who is alpha?", "what is the beta of gamma?", "when was delta?"} {
			a, b := foundIDs(anew.searchText(q, recall.SearchOptions{N: 100})), foundIDs(r.searchText(q, recall.SearchOptions{N: 100}))
			if diff := cmp.Diff(a, b); diff != "" {
				t.Fatalf("round %d, %s (-anew +followed):\n%s", round, q, diff)
			}
		}
		r.checkConsistent()
	}
}

func foundIDs(r recall.Result) (list []string) {
	for _, h := range r.Hits {
		list = append(list, h.Item.Path+"#"+h.Item.Part)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func changeFolder(t *testing.T, rnd *rand.Rand, dir string, at time.Time) {
	names := []string{"a.md", "b.txt", "sub/c.md", "sub/d.jsonl", "e.csv", "2024-02-03.md", "j.md", ".ignore", "sub/deep/f.html", "g.jsonl", "bad.md"}
	name := names[rnd.IntN(len(names))]
	path := filepath.Join(dir, name)
	switch rnd.IntN(6) {
	case 0:
		os.Remove(path)
		return
	case 1:
		if filepath.Ext(name) == ".md" {
			os.Rename(path, filepath.Join(dir, "moved-"+filepath.Base(name)))
		}
		return
	}
	writeFile(t, path, randomText(rnd, name))
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func randomText(rnd *rand.Rand, name string) string {
	all := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa")
	words := func() string {
		var list []string
		for range 3 + rnd.IntN(20) {
			list = append(list, all[rnd.IntN(len(all))])
		}
		return strings.Join(list, " ") + "."
	}
	var b strings.Builder
	for i := range 1 + rnd.IntN(6) {
		switch {
		case name == "bad.md" && rnd.IntN(2) == 0:
			b.WriteString("\x00\x01\x02")
		case name == ".ignore":
			return []string{"", "a.md\n", "sub\n", "*.txt\n"}[rnd.IntN(4)]
		case name == "j.md":
			fmt.Fprintf(&b, "## 2024-01-%02d\n\n%s\n\n", 1+rnd.IntN(28), words())
		case strings.HasSuffix(name, "d.jsonl"):
			fmt.Fprintf(&b, `{"id":"%d","source":"s","text":"%s"}`+"\n", rnd.IntN(8), words())
		case strings.HasSuffix(name, "g.jsonl"):
			fmt.Fprintf(&b, `{"speaker":"A%d","text":"%s","time":"2024-01-0%dT10:00:00Z"}`+"\n", rnd.IntN(2), words(), 1+i/2)
		case strings.HasSuffix(name, ".csv"):
			if i == 0 {
				b.WriteString("text,date,source\n")
			}
			fmt.Fprintf(&b, "%s,2024-01-%02d,s\n", words(), 1+rnd.IntN(28))
		default:
			fmt.Fprintf(&b, "# %s\n\n%s\n\n", all[rnd.IntN(len(all))], words())
		}
	}
	return b.String()
}
