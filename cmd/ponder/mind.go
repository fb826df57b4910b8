package main

import (
	"context"
	"fmt"

	"ponder"
	"ponder/mode/session"
	"ponder/tool/knowledge"
)

// modes are the ways of thinking there are.
func modes() []ponder.Mode {
	return []ponder.Mode{session.New()}
}

// mind returns a mind that thinks with models and may read docs, and nothing else
// of the machine. The caller closes it.
func (a *app) mind(ctx context.Context, store ponder.Store, models map[ponder.Role][]ponder.Model, docs []string,
	onDelta func(ponder.Delta)) (*ponder.Mind, error) {
	var tools []ponder.Tool
	if len(docs) > 0 {
		tools = append(tools, knowledge.New(knowledge.Options{Roots: docs}))
	}
	mind, err := ponder.New(ponder.Config{Store: store, Modes: modes(), Models: models, Tools: tools, OnDelta: onDelta, Node: thisNode()})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, fmt.Errorf("begin to think: %w", err)
	}
	return mind, nil
}
