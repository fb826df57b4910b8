package main

import (
	"context"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
)

// Models implements [app.Lister]: those of the roles, each once, the models that talk
// first.
func (s *server) Models(ctx context.Context, owner string) (list []string, err error) {
	l, err := s.as(owner).ModelSet(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, choice := range l.Choices {
		for _, full := range choice.Models {
			if !slices.Contains(list, full) {
				list = append(list, full)
			}
		}
	}
	return list, nil
}

// errNoVectors is the error of a server without a model that makes vectors.
var errNoVectors = app.NotReadyf("%w: set models.embed, or PONDER_EMBED_MODEL", app.ErrNoVectors)

// Embed implements [app.Embedder]. The day of a token that is limited pays for it.
func (s *server) Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error) {
	l, err := s.as(owner).ModelSet(ctx, "")
	if err != nil {
		return nil, usage, "", err
	}
	if name = model; name == "" {
		models := l.Choices.Of(ponder.Embed).Models
		if len(models) == 0 {
			return nil, usage, "", errNoVectors
		}
		name = models[0]
	}
	m, err := l.Vectors(name)
	if err != nil {
		return nil, usage, name, noSuchModel(err)
	}
	token, _, _ := s.limitOf(ctx)
	vectors, usage, err = s.embedFor(ctx, owner, token, m, texts)
	if err == nil && len(vectors) != len(texts) {
		err = &llm.Error{Class: llm.Malformed, Model: name, Message: "it made another number of vectors than there are texts"}
	}
	return vectors, usage, name, app.OfModel(model, err)
}

func noSuchModel(err error) error {
	return app.Invalidf("model_id", "%w", err)
}

// cleanSystem returns what a client says of how to answer, as it is kept.
func cleanSystem(text string) (string, error) {
	if len(text) > maxSystem {
		return "", app.Invalidf("system", "%s", "what a conversation is told of how to answer has more than "+number(maxSystem)+" bytes")
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "")), nil
}

// maxSystem is how much a client may say of how to answer, in bytes.
const maxSystem = 32 << 10

// saysOfSystem returns what a model is told of that.
func saysOfSystem(text string) string {
	return "The user speaks to you through a program, which says of how to answer:\n" + text
}
