package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// A misuse sends invalid requests to a server. No answer may name a flag of the command line,
// and each error must be a problem document about its request.
type misuse struct {
	ts      *testscript.TestScript
	schemas map[string]*misusedSchema
	refused int
}

type misusedSchema struct {
	Ref        string                    `json:"$ref"`
	OneOf      []*misusedSchema          `json:"oneOf"`
	Type       any                       `json:"type"`
	Enum       []any                     `json:"enum"`
	Required   []string                  `json:"required"`
	Properties map[string]*misusedSchema `json:"properties"`
}

type misusedOperation struct {
	Parameters []struct {
		Name, In string
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema *misusedSchema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

var flagName = regexp.MustCompile(`--[a-z]`)

// cmdMisuses sends each operation of /openapi.json requests with one odd parameter or field each.
// ids fill the paths; without ids, it misuses the MCP tools too.
func cmdMisuses(ts *testscript.TestScript, _ bool, ids []string) {
	var doc struct {
		Paths      map[string]map[string]misusedOperation `json:"paths"`
		Components struct {
			Schemas map[string]*misusedSchema `json:"schemas"`
		} `json:"components"`
	}
	ts.Check(json.Unmarshal([]byte(getBody(ts, "/openapi.json")), &doc))
	m := &misuse{ts: ts, schemas: doc.Components.Schemas}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			list := []string{"thr_none"}
			if method != "delete" && !strings.HasSuffix(path, "/cancel") {
				list = append(list, ids...)
			}
			if !strings.Contains(path, "{id}") {
				list = list[:1]
			}
			for _, id := range list {
				m.misuseOperation(strings.ToUpper(method), strings.ReplaceAll(path, "{id}", id), doc.Paths[path][method])
			}
		}
	}
	if len(ids) == 0 {
		m.misuseTools()
	}
	if m.refused < 300 {
		ts.Fatalf("only %d requests were refused", m.refused)
	}
}

func (m *misuse) misuseOperation(method, path string, op misusedOperation) {
	for _, p := range op.Parameters {
		if p.In != "query" {
			continue
		}
		for _, value := range []string{"-1", "x", "99999999999999999999", "none/none"} {
			m.checkAnswer(method, path+"?"+url.Values{p.Name: {value}}.Encode(), "")
		}
	}
	schema := op.RequestBody.Content["application/json"].Schema
	if schema == nil {
		m.checkAnswer(method, path, "")
		return
	}
	schema = m.resolveSchema(schema)
	for _, text := range []string{"{", "null", "[]", `{"odd":1}`} {
		m.checkAnswer(method, path, text)
	}
	for body := range m.oddBodies(schema) {
		js, err := json.Marshal(body)
		m.ts.Check(err)
		m.checkAnswer(method, path, string(js))
	}
}

// oddBodies yields objects of a schema with one odd value each.
func (m *misuse) oddBodies(s *misusedSchema) iter.Seq[map[string]any] {
	return func(yield func(map[string]any) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			for _, value := range []any{
				-1, 1e18, "", "?!", "none/none", strings.Repeat("x", 20_001), []any{"x"}, []any{map[string]any{"order": "x"}}, map[string]any{"type": "x"},
			} {
				body := m.minimalBody(s)
				if body[name] = value; !yield(body) {
					return
				}
			}
		}
	}
}

func (m *misuse) misuseTools() {
	ctx := context.Background()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "misuse"}, nil).Connect(ctx, &sdk.StreamableClientTransport{Endpoint: m.ts.Getenv("SERVE") + "/mcp"}, nil)
	m.ts.Check(err)
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	m.ts.Check(err)
	check := func(what string, answer any) {
		js, err := json.Marshal(answer)
		m.ts.Check(err)
		if at := flagName.FindIndex(js); at != nil {
			m.ts.Fatalf("%s: the answer names a flag: %.1000s", what, js[max(0, at[0]-200):])
		}
	}
	check("the list of tools", list)
	for _, tool := range list.Tools {
		js, err := json.Marshal(tool.InputSchema)
		m.ts.Check(err)
		var schema misusedSchema
		m.ts.Check(json.Unmarshal(js, &schema))
		for args := range m.oddBodies(&schema) {
			ctx, cancel := context.WithTimeout(ctx, time.Second/2) // accepted calls may think for long
			result, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool.Name, Arguments: args})
			cancel()
			if err != nil {
				check(tool.Name, err.Error())
			} else {
				check(tool.Name, result)
			}
		}
	}
}

// resolveSchema returns the object schema of s or of one of its alternatives.
func (m *misuse) resolveSchema(s *misusedSchema) *misusedSchema {
	if len(s.OneOf) > 0 {
		s = s.OneOf[0]
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return m.schemas[name]
	}
	return s
}

// minimalBody returns a body with the required fields, for short work.
func (m *misuse) minimalBody(s *misusedSchema) map[string]any {
	body := make(map[string]any)
	for _, name := range s.Required {
		switch of := m.resolveSchema(s.Properties[name]); {
		case len(of.Enum) > 0:
			body[name] = of.Enum[0]
		case of.Type == "integer", of.Type == "number":
			body[name] = 1
		case of.Type == "array", fmt.Sprint(of.Type) == "[array null]":
			body[name] = []any{}
		default:
			body[name] = "Why is the sea blue?"
		}
	}
	if _, ok := s.Properties["max_calls"]; ok {
		body["max_calls"] = 1
	}
	return body
}

func (m *misuse) checkAnswer(method, path, body string) {
	var more []string
	if body != "" {
		more = []string{body}
	}
	status, answer := sendRequest(m.ts, method, path, more)
	if at := flagName.FindStringIndex(answer); at != nil {
		m.ts.Fatalf("%s %s %.200s: the answer %d names a flag:\n%.2000s", method, path, body, status, answer[max(0, at[0]-200):])
	}
	if status < http.StatusBadRequest {
		return
	}
	m.refused++
	var doc struct {
		Status int    `json:"status"`
		Title  string `json:"title"`
	}
	if err := json.Unmarshal([]byte(answer), &doc); err != nil || doc.Status != status || doc.Title == "" || status == http.StatusInternalServerError {
		m.ts.Fatalf("%s %s %.200s: %d %.1000s (%v)", method, path, body, status, answer, err)
	}
}
