package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
)

// What was made ready is what is sent, and how it is answered; a request that is asked
// again, or must do without something, is made anew.
func TestPrepare(t *testing.T) {
	good := stream(say("Yes.") + finish + counted + done)
	server, p := serveCanned(t, Config{BaseURL: "https://lab.example/v1"}, good, good, good, refuse(400, "Unsupported parameter: 'stream_options'"), good)
	m := p.Model("m-1")
	req := ask("Is it?")
	generate := func() {
		t.Helper()
		var answer string
		for d, err := range m.Generate(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Done != nil {
				answer = d.Done.Message.Text()
			}
		}
		if answer != "Yes." {
			t.Errorf("answered %q", answer)
		}
	}
	generate()
	llm.Prepare(m, ask("Is it another?"))
	llm.Prepare(m, req)
	generate()
	generate()
	llm.Prepare(m, req)
	generate() // and again, without what was refused
	for i := range 4 {
		if diff := cmp.Diff(server.asked[0], server.asked[i]); diff != "" {
			t.Errorf("request %d (-first +got):\n%s", i, diff)
		}
	}
	if _, ok := server.asked[4]["stream_options"]; ok {
		t.Error("what was refused is asked for again")
	}
}
