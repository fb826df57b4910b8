package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

type noReader struct{}

func (noReader) Write([]byte) (int, error) { return 0, errors.New("no client reads") }

// A closed input is delayed until requests are answered, at most for the patience.
func TestSettle(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":%s,"result":{}}` + "\n"
	for _, tt := range []struct {
		name    string
		asked   []string // ids, or methods of notifications
		answers []string // one each second
		out     io.Writer
		want    time.Duration
	}{
		{"nothing was asked", nil, nil, io.Discard, 0},
		{"only told", []string{"notifications/initialized"}, nil, io.Discard, 0},
		{"answered", []string{"1", `"b"`}, []string{fmt.Sprintf(answer, `"b"`), fmt.Sprintf(answer, "1")}, io.Discard, 2 * time.Second},
		{"listening", []string{"subscriptions/listen"}, nil, io.Discard, 0},
		{"never answered", []string{"1"}, []string{`{"jsonrpc":"2.0","method":"notifications/progress"}` + "\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"}, io.Discard, lastAnswers},
		{"nobody reads", []string{"1", "2"}, []string{fmt.Sprintf(answer, "1")}, noReader{}, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCalls()
				for _, id := range tt.asked {
					line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
					switch {
					case strings.HasPrefix(id, "notifications/"):
						line = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, id)
					case strings.HasPrefix(id, "subscriptions/"):
						line = fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":%q}`, id)
					}
					m, err := jsonrpc.DecodeMessage([]byte(line))
					if err != nil {
						t.Fatal(err)
					}
					c.noteRequest(m)
				}
				go func() {
					for _, line := range tt.answers {
						time.Sleep(time.Second)
						_, _ = answerTracker{nopCloser{tt.out}, c, newExactIDs()}.Write([]byte(line))
					}
				}()
				began := time.Now()
				if c.awaitAnswers(); time.Since(began) != tt.want {
					t.Errorf("it took %s, want %s", time.Since(began), tt.want)
				}
			})
		})
	}
}

// A client that closes its end still gets its answers.
func TestTalkToTheEnd(t *testing.T) {
	r := newRig(t, defaultOptions())
	for range 20 {
		var out bytes.Buffer
		in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ponder_session","arguments":{"action":"list"}}}
nonsense`
		if err := r.server.ServeStream(context.Background(), testCaller(), nothingToClose{strings.NewReader(in)}, nopCloser{&out}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"id":1,"result"`, `"id":2,"result"`, `"id":3,"result"`, `"code":-32700`} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s is not there: %.2000s", want, out.String())
			}
		}
	}
}
