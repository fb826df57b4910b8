package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// talks is a command of scripts: "talks FILE" is a client that starts `ponder mcp` and says
// the lines of a file to it, one after the other. After each it waits for the answer, but
// not after a notification. All that it hears is then in the file answers. The program has
// to end by itself, and well, once its client has gone. A line behind the word "leave" is
// not waited for: the client goes once the simulated server was asked something.
func talks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: talks FILE")
	}
	p := startTalk(ts)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		p.say(ts, strings.TrimSpace(line))
	}
	ts.Check(p.in.Close())
	rest, err := io.ReadAll(p.out)
	ts.Check(err)
	p.heard.Write(rest)
	if err := p.cmd.Wait(); err != nil {
		ts.Fatalf("%v: %s", err, p.errs.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("answers"), p.heard.Bytes(), 0o600))
}

// A talk is a program that is talked to.
type talk struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	heard bytes.Buffer
	errs  bytes.Buffer
}

func startTalk(ts *testscript.TestScript) *talk {
	path, err := exec.LookPath("ponder")
	ts.Check(err)
	p := &talk{cmd: exec.Command(path, "mcp")} //nolint:noctx // it ends with its input
	p.cmd.Dir, p.cmd.Stderr = ts.MkAbs("."), &p.errs
	for _, name := range []string{"HOME", "PATH", "OLLAMA_HOST", "NO_PROXY", "TZ", "PONDER_MODEL_FAST"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
	}
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	p.out = bufio.NewReader(out)
	p.in, err = p.cmd.StdinPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	ts.Defer(func() { _ = p.cmd.Process.Kill() }) // if the script fails before
	return p
}

// say says a line, and hears until it is answered.
func (p *talk) say(ts *testscript.TestScript, line string) {
	line, leaves := strings.CutPrefix(line, "leave ")
	_, err := io.WriteString(p.in, line+"\n")
	ts.Check(err)
	var asks struct {
		ID     any    `json:"id"`
		Method string `json:"method"`
	}
	wrong := json.Unmarshal([]byte(line), &asks) != nil
	switch {
	case leaves:
		asked(ts, false, []string{"1"})
		return
	case line == "", !wrong && asks.ID == nil && asks.Method != "":
		return
	}
	for {
		text, err := p.out.ReadBytes('\n')
		if err != nil {
			ts.Fatalf("after %s: %v: %s", line, err, p.errs.String())
		}
		p.heard.Write(text)
		var answer struct {
			ID     any    `json:"id"`
			Method string `json:"method"`
		}
		ts.Check(json.Unmarshal(text, &answer))
		if answer.Method == "" && answer.ID == asks.ID {
			return
		}
	}
}
