package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ponder"
)

// addDocuments stores documents and posts in the memory.
func (l *leakServer) addDocuments(docs, db string) {
	l.t.Helper()
	for name, text := range map[string]string{
		"salt/sea.md":    "# The sea\n\nCONTENTMARK is the salt of the sea, because rivers wash it out of rock.\n",
		"salt/post.json": `[{"id":"7","source":"twitter","text":"CONTENTMARK is salt, I wrote.","created_at":"2024-03-01"}]`,
		"salt/bad.png":   "\x00",
	} {
		file := filepath.Join(docs, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			l.t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"remember", docs},
		{"remember", filepath.Join(docs, "salt", "post.json"), "--kind", "post"},
	} {
		var out syncBuffer
		if code := run(l.t.Context(), append(args, "--db", db), strings.NewReader(""), &out, &out); code != 0 && code != 3 {
			l.t.Fatalf("%v: %d %s", args, code, out.String())
		}
	}
}

// pathBodies returns bodies with paths of the server, with the owner's text.
func pathBodies(docs, own string) []ponder.Body {
	file := filepath.Join(docs, "salt", "sea.md")
	return []ponder.Body{
		ponder.Evidence{Content: own, ID: "e1", Source: file, Title: file, End: len(own), Tool: "knowledge_search"},
		ponder.ToolCall{Name: "knowledge_search", Args: json.RawMessage(`{"query":"salt","paths":["` + docs + `"]}`)},
		ponder.ToolResult{Name: "knowledge_search", Result: `{"hits":[{"source":"` + file + `","title":"t","quote":"` + own + `","end":` + strconv.Itoa(len(own)) + `}]}`},
		ponder.ToolResult{Name: "knowledge_search", Outcome: ponder.Outcome{Error: "knowledge_search: read " + docs + ": no such file or folder"}},
		ponder.SystemNote{Content: "Not read: " + file + ": unsupported format"},
		ponder.Progress{Content: file + " is excluded", Stage: ponder.StageSteered, Ref: "evt_1", Undo: []ponder.SteerStep{{Do: ponder.ReleaseSource, Args: json.RawMessage(`{"source":"` + file + `"}`)}}},
		ponder.InnerMonologue{Content: own, Sources: []string{file}}, ponder.Escalation{Content: own, ID: "esc_2", Sources: []string{file}},
		ponder.Observation{Content: "The file " + file + " changed.", Sensor: "files", Subject: file, Source: file, Cursor: json.RawMessage(`{"` + file + `":1}`)},
		ponder.Steer{Do: ponder.BanSource, Args: json.RawMessage(`{"source":"` + file + `"}`)},
	}
}
