package app

import (
	"context"
	"errors"

	"ponder/internal/textkit"
	"ponder/knowledge/recall"
	"ponder/mode/research"
)

// PersonaVoice returns a persona of the owner, from a shared library.
func (a *App) PersonaVoice(ctx context.Context, name string) (research.Persona, error) {
	lib, err := a.library(ctx)
	if err != nil {
		return research.Persona{}, err
	}
	defer lib.Release()
	p, err := lib.Persona(ctx, name)
	if err != nil {
		return research.Persona{}, PersonaError(err, name)
	}
	return research.Persona{Name: p.Name, Voice: p.Voice}, nil
}

// PersonaError returns err, or if no persona has the name an error that says so.
func PersonaError(err error, name string) error {
	if errors.Is(err, recall.ErrNone) {
		return Errorf(NotFound, "persona", "%w %q", ErrNoPersona, textkit.Truncate(textkit.OneLine(name), 40))
	}
	return err
}
