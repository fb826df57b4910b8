package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
)

// Models implements [app.Lister]: those of the roles, each once, the models that talk
// first.
func (s *server) Models(ctx context.Context, owner string) (list []string, err error) {
	l, err := s.as(owner).lineup(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, choice := range l.choices {
		for _, full := range choice.Models {
			if !slices.Contains(list, full) {
				list = append(list, full)
			}
		}
	}
	return list, nil
}

// errNoVectors is the error of a server without a model that makes vectors.
var errNoVectors = notConfigured{errors.New("no model makes vectors: set models.embed, or PONDER_EMBED_MODEL; `ponder doctor` says more")}

// Embed implements [app.Embedder]. The day of a token that is limited pays for it.
func (s *server) Embed(ctx context.Context, owner, model string, texts []string) (vectors [][]float32, usage llm.Usage, name string, err error) {
	l, err := s.as(owner).lineup(ctx, "")
	if err != nil {
		return nil, usage, "", err
	}
	if name = model; name == "" {
		models := l.choices.Of(ponder.Embed).Models
		if len(models) == 0 {
			return nil, usage, "", errNoVectors
		}
		name = models[0]
	}
	m, err := l.vectorsOf(name)
	if err != nil {
		return nil, usage, name, noSuchModel(err)
	}
	token, _, _ := s.limitOf(ctx)
	vectors, usage, err = s.embedFor(ctx, owner, token, m, texts)
	if err == nil && len(vectors) != len(texts) {
		err = &llm.Error{Class: llm.Malformed, Model: name, Message: "it made another number of vectors than there are texts"}
	}
	return vectors, usage, name, toCaller(err, model != "")
}

func noSuchModel(err error) error {
	return &app.Error{Status: http.StatusUnprocessableEntity, Field: "model", Detail: withoutFlags(oneLine(err.Error()))}
}

// cleanSystem returns what a client says of how to answer, as it is kept.
func cleanSystem(text string) (string, error) {
	if len(text) > maxSystem {
		return "", &app.Error{Status: http.StatusUnprocessableEntity, Field: "system", Detail: "what a conversation is told of how to answer has more than " + number(maxSystem) + " bytes"}
	}
	return strings.TrimSpace(strings.ToValidUTF8(text, "")), nil
}

// maxSystem is how much a client may say of how to answer, in bytes.
const maxSystem = 32 << 10

// saysOfSystem returns what a model is told of that.
func saysOfSystem(text string) string {
	return "The user speaks to you through a program, which says of how to answer:\n" + text
}
