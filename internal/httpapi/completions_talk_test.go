package httpapi

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ponder"
	"ponder/internal/stream"
)

// A listener puts together what is said.
type listener struct {
	text     string
	replaced int
}

func (l *listener) add(text string, replace bool) {
	if replace {
		l.text, l.replaced = "", l.replaced+1
	}
	l.text += text
}

// However a turn goes, and whatever of it is heard, the text is that of the log in the
// end; and it is never taken back unless a model was asked again or pieces were lost.
func TestTalkTellerProperty(t *testing.T) {
	words := []string{"a", " b", "\n", "  ", "é", "日本", " c.", "\n\nd", "**e**", ""}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		said := func() (pieces []string) {
			for range rnd.IntN(8) {
				pieces = append(pieces, words[rnd.IntN(len(words))])
			}
			return pieces
		}
		g := &going{t: newTalkTeller(ponder.Event{ID: "evt_5", Seq: 5}, 0, nil, false), seq: 5, rnd: rnd}
		var want []string
		clean := true
		for round := 1; round <= 1+rnd.IntN(3); round++ {
			key := fmt.Sprintf("turn-5-%d", round)
			for attempt := 1; ; attempt++ {
				g.event(key+fmt.Sprintf("#%d", attempt), ponder.CallStarted{Model: "test/model"})
				text := said()
				fails, lossy := rnd.IntN(4) == 0 && attempt < 3, rnd.IntN(4) == 0
				for i, piece := range text {
					if fails && i == len(text)-1 {
						break
					}
					if lossy && rnd.IntN(3) == 0 {
						g.flush()
						g.t.missed()
						clean = false
						continue
					}
					g.piece(key, piece)
				}
				if !fails {
					g.event(key+fmt.Sprintf("#%d", attempt), ponder.CallFinished{Model: "test/model"})
					if all := strings.TrimSpace(strings.Join(text, "")); all != "" {
						want = append(want, all)
						g.event(fmt.Sprintf("say-5-%d/1.1", round), ponder.AssistantMessage{Content: all, Model: "test/model"})
					}
					break
				}
				clean = false
				g.event(key+fmt.Sprintf("#%d", attempt), ponder.CallFinished{Model: "test/model", Outcome: ponder.Outcome{Error: "broken"}})
			}
		}
		g.event("end-5/1.1", ponder.Progress{Stage: turnEnded, Ref: "evt_5"})
		g.flush()
		for _, c := range g.t.close() {
			g.l.add(c.Content, c.Replace)
		}
		if all := strings.Join(want, "\n\n"); g.l.text != all {
			t.Fatalf("seed %d: %q, not %q", seed, g.l.text, all)
		}
		if over, _ := g.t.over(); !over || clean && g.l.replaced > 0 {
			t.Fatalf("seed %d: over %v, replaced %d times", seed, over, g.l.replaced)
		}
	}
}

// A going is a turn as a client hears of it: events come late, but in their order, and
// before the pieces that come later.
type going struct {
	t    *talkTeller
	l    listener
	seq  ponder.Seq
	rnd  *rand.Rand
	late []ponder.Event
}

func (g *going) event(cause string, b ponder.Body) {
	g.seq++
	g.late = append(g.late, ponder.Event{Seq: g.seq, Run: "run_1", Cause: cause, Body: b})
	if g.rnd.IntN(2) == 0 {
		g.flush()
	}
}

func (g *going) piece(key, text string) {
	if g.rnd.IntN(4) == 0 {
		g.flush()
	}
	g.hear(g.t.piece(stream.Piece{Run: "run_1", Key: key, Text: text}))
}

func (g *going) flush() {
	for _, ev := range g.late {
		g.hear(g.t.event(ev))
	}
	g.late = nil
}

func (g *going) hear(list []Chunk) {
	for _, c := range list {
		g.l.add(c.Content, c.Replace)
	}
}

func TestPieces(t *testing.T) {
	for _, text := range []string{"", "a", strings.Repeat("word ", 200), strings.Repeat("x", 1000), strings.Repeat("日", 700), strings.Repeat("a 日本\n", 300)} {
		list := pieces(text, 100)
		if strings.Join(list, "") != text {
			t.Errorf("%.20q is not what its pieces are", text)
		}
		for _, p := range list {
			if len(p) > 210 || strings.ToValidUTF8(p, "") != p {
				t.Errorf("a piece of %.20q has %d bytes: %q", text, len(p), p)
			}
		}
	}
}
