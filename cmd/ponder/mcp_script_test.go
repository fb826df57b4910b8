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

// cmdTalks implements "talks FILE": it sends the lines of a file to `ponder mcp` and awaits
// the answer to each request. The file answers gets all answers. The program must exit
// with 0 afterwards. After "leave", it disconnects once the simulated server receives a
// request.
func cmdTalks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: talks FILE")
	}
	p := startMCP(ts)
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		p.sendLine(ts, strings.TrimSpace(line))
	}
	ts.Check(p.in.Close())
	rest, err := io.ReadAll(p.out)
	ts.Check(err)
	p.received.Write(rest)
	if err := p.cmd.Wait(); err != nil {
		ts.Fatalf("%v: %s", err, p.errs.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("answers"), p.received.Bytes(), 0o600))
}

type mcpProcess struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	received bytes.Buffer
	errs     bytes.Buffer
}

func startMCP(ts *testscript.TestScript) *mcpProcess {
	path, err := exec.LookPath("ponder")
	ts.Check(err)
	p := &mcpProcess{cmd: exec.Command(path, "mcp")} //nolint:noctx // it ends with its input
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
	ts.Defer(func() { _ = p.cmd.Process.Kill() }) // if the script fails first
	return p
}

func (p *mcpProcess) sendLine(ts *testscript.TestScript, line string) {
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
		cmdAsked(ts, false, []string{"1"})
		return
	case line == "", !wrong && asks.ID == nil && asks.Method != "":
		return
	}
	for {
		text, err := p.out.ReadBytes('\n')
		if err != nil {
			ts.Fatalf("after %s: %v: %s", line, err, p.errs.String())
		}
		p.received.Write(text)
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
