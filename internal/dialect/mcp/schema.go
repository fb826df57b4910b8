package mcp

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTool offers a tool, whose schemas are those of the types of what it is told and returns.
func addTool[In, Out any](server *sdk.Server, tool *sdk.Tool, do sdk.ToolHandlerFor[In, Out]) {
	schema, err := jsonschema.For[Out](nil)
	if err != nil { // the type has no schema, which ours have
		panic(err)
	}
	plain(schema)
	tool.OutputSchema = schema
	sdk.AddTool(server, tool, do)
}

// plain gives each value one type. Lists are never null here, and there are clients that do
// not know types that are several.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
}
