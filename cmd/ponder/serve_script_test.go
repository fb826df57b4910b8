package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ponder/internal/server"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveCommands are the commands of scripts that use a server:
//
//	serves                     waits for a server that was just started, then sets $SERVE
//	ask CODE METHOD PATH [BODY] [HEADER: VALUE]...
//	                           sends a request, checks the status (2.. is any of them), keeps the body in the file answer
//	hears FILE PATH PATTERN [BODY] [HEADER: VALUE]...
//	                           reads a stream into a file until a line matches, then disconnects
//	takes NAME FIELD           sets $NAME to a field of the answer, such as session.status or list.0.id
//	secret                     sets $TOKEN to the secret that a server without tokens leaves to its user
//	until PATTERN METHOD PATH  repeats the request until the answer matches
//
// They send $TOKEN if set. A request that takes longer than askTime fails.
func serveCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"serves": cmdServes, "ask": cmdAsks, "hears": cmdHears, "takes": cmdTakes, "until": cmdUntil, "approval": cmdApproval, "misuse": cmdMisuses, "secret": cmdSecret,
	}
}

// cmdApproval sets APPROVAL and CODE to those of the first question in the standard output, and writes a message that
// approves it to the file lines.
func cmdApproval(ts *testscript.TestScript, _ bool, _ []string) {
	m := regexp.MustCompile(`"approval_id":"(\w+)","code":"(\w+)"`).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("no question in %s", ts.ReadFile("stdout"))
	}
	ts.Setenv("APPROVAL", m[1])
	ts.Setenv("CODE", m[2])
	ts.Check(os.WriteFile(ts.MkAbs("lines"), []byte("approve "+m[2]+"\n"), 0o600))
}

func cmdSecret(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile(filepath.Join(ts.Getenv("HOME"), ".local", "state", "ponder", "serve.token"))
	ts.Setenv("TOKEN", strings.TrimSpace(text))
}

const askTime = 30 * time.Second

func cmdServes(ts *testscript.TestScript, _ bool, _ []string) {
	dir := filepath.Join(ts.Getenv("HOME"), ".local", "state", "ponder")
	for since := time.Now(); time.Since(since) < askTime; time.Sleep(20 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(dir, "serve*.json"))
		for _, file := range files {
			s, err := server.ReadLocalServer(file)
			if err != nil || s.Gone() || strings.Contains(ts.Getenv("SERVED"), s.Address) {
				continue
			}
			if resp, err := http.Get(s.Address + "/healthz"); err == nil {
				resp.Body.Close()
				ts.Setenv("SERVE", s.Address)
				ts.Setenv("SERVED", ts.Getenv("SERVED")+" "+s.Address)
				return
			}
		}
	}
	ts.Fatalf("no server answers")
}

func newRequest(ctx context.Context, ts *testscript.TestScript, method, path string, more []string) *http.Request {
	body, header := "", http.Header{}
	for _, arg := range more {
		if name, value, ok := strings.Cut(arg, ": "); ok && !strings.ContainsAny(name, `{" `) {
			header.Add(name, value)
		} else {
			body = arg
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, ts.Getenv("SERVE")+path, strings.NewReader(body))
	ts.Check(err)
	req.Header = header
	if body != "" && header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token := ts.Getenv("TOKEN"); token != "" && header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Host = header.Get("Host")
	return req
}

func sendRequest(ts *testscript.TestScript, method, path string, more []string) (status int, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	resp, err := http.DefaultClient.Do(newRequest(ctx, ts, method, path, more))
	ts.Check(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), text, 0o600))
	return resp.StatusCode, string(text)
}

func cmdAsks(ts *testscript.TestScript, _ bool, args []string) {
	status, body := sendRequest(ts, args[1], args[2], args[3:])
	if got := fmt.Sprint(status); !regexp.MustCompile("^" + args[0] + "$").MatchString(got) {
		ts.Fatalf("%s %s: status %s, want %s:\n%s", args[1], args[2], got, args[0], body)
	}
}

func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	want, last := regexp.MustCompile(args[0]), ""
	for since := time.Now(); time.Since(since) < askTime; time.Sleep(50 * time.Millisecond) {
		if _, last = sendRequest(ts, args[1], args[2], args[3:]); want.MatchString(last) {
			return
		}
	}
	ts.Fatalf("%s %s: no answer matches %s:\n%s", args[1], args[2], args[0], last)
}

func cmdTakes(ts *testscript.TestScript, _ bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("answer")), &v))
	for part := range strings.SplitSeq(args[1], ".") {
		if list, ok := v.([]any); ok && part == "0" && len(list) > 0 {
			v = list[0]
			continue
		}
		table, _ := v.(map[string]any)
		v = table[part]
	}
	if v == nil {
		ts.Fatalf("no %s in %s", args[1], ts.ReadFile("answer"))
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

func cmdHears(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	req := newRequest(ctx, ts, http.MethodGet, args[1], append(args[3:], "Accept: text/event-stream"))
	if req.ContentLength > 0 {
		req.Method = http.MethodPost
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	var received strings.Builder
	in, want, found := bufio.NewScanner(resp.Body), regexp.MustCompile(args[2]), false
	in.Buffer(nil, 1<<20)
	for !found && in.Scan() {
		received.WriteString(in.Text() + "\n")
		found = want.MatchString(in.Text())
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(received.String()), 0o600))
	if !found {
		ts.Fatalf("%s: the stream (%s) ended (%v) before %s:\n%s", args[1], resp.Status, in.Err(), args[2], received.String())
	}
}
