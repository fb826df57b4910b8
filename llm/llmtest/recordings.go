package llmtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder/llm"
)

// A Recording is one recorded exchange with a provider.
type Recording struct {
	File    string // unique with the URL
	URL     string
	Dialect string // oaichat, oairesp, anth or gem
	Status  int
	Request []byte // JSON
	Body    []byte
	Type    string // content type
}

// recordings is relative to the repository's root.
const recordings = "../shared/data/llm-recordings/fantasy.jsonl"

// Recordings returns a dialect's exchanges in fixed order, or skips the test without the
// file.
func Recordings(t testing.TB, dialect string) []Recording {
	t.Helper()
	f, err := os.Open(filepath.Join(moduleRoot(t), filepath.FromSlash(recordings)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recordings are missing: " + recordings)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := readRecordings(f, dialect)
	if err != nil {
		t.Fatalf("read %s: %v", recordings, err)
	}
	return all
}

func readRecordings(r io.Reader, dialect string) (found []Recording, err error) {
	for in := json.NewDecoder(bufio.NewReader(r)); ; {
		var line struct {
			File, URL, Dialect, Req, Body, CT string
			Status                            int
		}
		if err := in.Decode(&line); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		if line.Dialect == dialect {
			found = append(found, Recording{File: line.File, URL: line.URL, Dialect: dialect, Status: line.Status,
				Request: []byte(line.Req), Body: []byte(line.Body), Type: line.CT})
		}
	}
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// Sent is a request that a replaying server received.
type Sent struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte
}

// Replay serves the recorded body in random pieces by seed until the test ends. The
// channel gets the requests and holds 16.
func Replay(t testing.TB, rec Recording, seed uint64) (*httptest.Server, <-chan Sent) {
	t.Helper()
	sent := make(chan Sent, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the request: %v", err)
		}
		sent <- Sent{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: body}
		w.Header().Set("Content-Type", rec.Type)
		w.WriteHeader(rec.Status)
		if err := WriteInPieces(w, rec.Body, seed); err != nil {
			t.Logf("replay %s: %v", rec.File, err)
		}
	}))
	t.Cleanup(server.Close)
	return server, sent
}

// WriteInPieces writes mostly small random pieces by seed, and flushes w if possible.
func WriteInPieces(w io.Writer, data []byte, seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 0))
	flusher, _ := w.(http.Flusher)
	for len(data) > 0 {
		n := 1 + rnd.IntN(1<<rnd.IntN(12))
		n = min(n, len(data))
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		if flusher != nil {
			flusher.Flush()
		}
		data = data[n:]
	}
	return nil
}

// RoundTrip replays a recording to the model that open returns for the server's URL. It
// returns the answer or error, and the sent request. It checks the stream, that one
// request was sent, and that storage does not change it.
func RoundTrip(t testing.TB, rec Recording, seed uint64, open func(base string) llm.Model, req *llm.Request) (*llm.Response, Sent, error) {
	t.Helper()
	server, sent := Replay(t, rec, seed)
	resp, err := Generate(t, open(server.URL), req)
	var first Sent
	select {
	case first = <-sent:
	default:
		t.Fatalf("%s: nothing was sent; the error is %v", rec.File, err)
	}
	stored, jsonErr := json.Marshal(req)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	var again llm.Request
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	select {
	case <-sent:
		t.Errorf("%s: more than one request was sent", rec.File)
	default:
	}
	if _, err := Generate(t, open(server.URL), &again); err != nil && resp != nil {
		t.Errorf("%s: the request fails after a trip through JSON: %v", rec.File, err)
	}
	if second := <-sent; string(second.Body) != string(first.Body) {
		t.Errorf("%s: the request differs after a trip through JSON:\n%s\n%s", rec.File, first.Body, second.Body)
	}
	return resp, first, err
}

// Generate reads an answer. It checks that the stream ends with one last delta or
// [llm.Error], and that the deltas add up.
func Generate(t testing.TB, m llm.Model, req *llm.Request) (resp *llm.Response, err error) {
	t.Helper()
	var text, reasoning strings.Builder
	for d, e := range m.Generate(context.Background(), req) {
		if resp != nil || err != nil {
			t.Errorf("%s: the stream continues after its end", m.Name())
		}
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		resp, err = d.Done, e
	}
	var failed *llm.Error
	switch {
	case err != nil && !errors.As(err, &failed):
		t.Errorf("%s: error %v is a %T", m.Name(), err, err)
	case err == nil && resp == nil:
		t.Errorf("%s: the stream has no end", m.Name())
	case resp != nil:
		said := ""
		for _, p := range resp.Message.Parts {
			said += p.Reasoning
		}
		if got := text.String(); got != resp.Message.Text() {
			t.Errorf("%s: the deltas' text is %q, the answer's %q", m.Name(), got, resp.Message.Text())
		}
		if got := reasoning.String(); !strings.Contains(got, said) { // deltas have doubtful text, too
			t.Errorf("%s: the deltas' reasoning is %q, the answer's %q", m.Name(), got, said)
		}
	}
	return resp, err
}
