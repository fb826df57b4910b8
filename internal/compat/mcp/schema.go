package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTool offers a tool, whose schemas are those of the types of what it is told and returns.
// They are JSON, for they are written whenever a list is asked for, and the library writes
// that of what a tool is told whenever it is called over HTTP.
func addTool[In, Out any](server *sdk.Server, tool *sdk.Tool, do sdk.ToolHandlerFor[In, Out]) {
	returns := schemaFor[Out]()
	plain(returns)
	tool.InputSchema, tool.OutputSchema = schemaJSON(schemaFor[In]()), schemaJSON(returns)
	sdk.AddTool(server, tool, do)
}

// offer offers a tool that needs nothing of its request but its input. Its results are in
// words as show says, or as the library says if that is nil.
func offer[In, Out any](c *client, server *sdk.Server, tool *sdk.Tool, do func(context.Context, In) (Out, error), show func(Out) *sdk.CallToolResult) {
	addTool(server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (res *sdk.CallToolResult, out Out, err error) {
		if out, err = do(ctx, in); show != nil {
			res = show(out)
		}
		return res, out, c.told(err)
	})
}

// schemaFor returns the schema of a type.
func schemaFor[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil { // the type has no schema, which ours have
		panic(err)
	}
	return schema
}

func schemaJSON(s *jsonschema.Schema) json.RawMessage {
	js, err := json.Marshal(s)
	if err != nil { // which a schema can be
		panic(err)
	}
	return js
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
