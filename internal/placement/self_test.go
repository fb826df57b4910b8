package placement

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"ponder"
	"ponder/store/memory"
)

func TestGone(t *testing.T) {
	self := ponder.Node{ID: "nod_self", Host: "h", Boot: "b", PID: 10, Start: "100"}
	other := ponder.Node{ID: "nod_other", Host: "h", Boot: "b", PID: 20, Start: "200"}
	with := func(change func(*ponder.Node)) ponder.Node {
		n := other
		change(&n)
		return n
	}
	tests := []struct {
		name  string
		other ponder.Node
		start string
		there liveness
		want  bool
	}{
		{"still there", other, "200", processAlive, false},
		{"ended", other, "", processGone, true},
		{"its number is another's", other, "300", processAlive, true},
		{"nobody knows", other, "", processUnknown, false},
		{"there, but since when", other, "", processAlive, false},
		{"it did not know when it began", with(func(n *ponder.Node) { n.Start = "" }), "300", processAlive, false},
		{"before the machine booted", with(func(n *ponder.Node) { n.Boot = "a" }), "200", processAlive, true},
		{"it did not know the boot", with(func(n *ponder.Node) { n.Boot = "" }), "", processGone, false},
		{"another machine", with(func(n *ponder.Node) { n.Host, n.Boot = "i", "c" }), "", processGone, false},
		{"no process", with(func(n *ponder.Node) { n.PID = 0 }), "", processGone, false},
		{"a group of processes", with(func(n *ponder.Node) { n.PID = -1 }), "", processGone, false},
		{"itself", self, "", processGone, false},
		{"itself as it was before", with(func(n *ponder.Node) { n.PID, n.Start = 10, "100" }), "100", processAlive, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lookup := func(int) (string, liveness) { return tt.start, tt.there }
			if got := isGone(self, tt.other, lookup); got != tt.want {
				t.Errorf("gone is %t, want %t", got, tt.want)
			}
		})
	}
}

func TestSelf(t *testing.T) {
	a, b := CurrentNode(), CurrentNode()
	if a.ID == b.ID || a.ID == "" {
		t.Errorf("ids %q and %q", a.ID, b.ID)
	}
	b.ID = a.ID
	if a != b || a.PID != os.Getpid() || a.Host == "" {
		t.Errorf("first %+v, then %+v", a, b)
	}
	if runtime.GOOS == "linux" && (a.Boot == "" || a.Start == "") {
		t.Errorf("boot and start are not known: %+v", a)
	}
}

// TestBury checks that only nodes of ended processes are marked dead.
func TestBury(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("processes are not known here: nothing is certain")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	self, store := CurrentNode(), memory.New()
	ended := self
	ended.ID, ended.PID, ended.Start = "nod_ended", cmd.Process.Pid, "1"
	far := ended
	far.ID, far.Host = "nod_far", "elsewhere"
	for _, n := range []ponder.Node{self, ended, far} {
		if err := store.Join(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	want := 0
	if runtime.GOOS == "linux" {
		want = 1
	}
	if n, err := MarkDeadNodes(t.Context(), store, self); n != want || err != nil {
		t.Errorf("buried %d, %v, want %d", n, err, want)
	}
	nodes, err := store.AllNodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.ID == ended.ID && want == 1 {
			t.Error("the node of the process that ended is not buried")
		}
	}
	if len(nodes) != 3-want {
		t.Errorf("nodes %+v", nodes)
	}
}
