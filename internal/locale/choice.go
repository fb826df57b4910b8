package locale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // for systems without a zone database

	"ponder/internal/textkit"
)

// A Choice is what a client says about its user. An empty field leaves it to the environment.
type Choice struct {
	Zone     string // such as Europe/Berlin
	Language string // in English, such as German, or a tag
}

// Headers of a choice. In a URL, the parameters are zone and language.
const (
	ZoneHeader     = "Ponder-Zone"
	LanguageHeader = "Ponder-Language"
)

// ReadChoice returns the choice in a request: the parameters of the query, else the headers. Without a
// language, the preferred one of Accept-Language is taken, if it has any. An error is one line.
func ReadChoice(h http.Header, query url.Values) (c Choice, err error) {
	c.Zone = cmp.Or(query.Get("zone"), h.Get(ZoneHeader))
	if c.Zone != "" && !isZone(c.Zone) {
		return c, fmt.Errorf("zone: %s is unknown: use a name such as Europe/Berlin", quoteInput(c.Zone))
	}
	named := cmp.Or(query.Get("language"), h.Get(LanguageHeader))
	if named == "" {
		c.Language = preferredLanguage(h.Values("Accept-Language"))
		return c, nil
	}
	if c.Language = languageName(named); c.Language == "" {
		return c, fmt.Errorf("language: %s is unknown: use a tag such as de or pt-BR", quoteInput(named))
	}
	return c, nil
}

func quoteInput(text string) string {
	return strconv.Quote(textkit.Truncate(textkit.OneLine(text), 40))
}

func isZone(name string) bool {
	_, err := loadZone(name)
	return err == nil
}

var errNoZone = errors.New("no zone")

func loadZone(name string) (*time.Location, error) {
	if zoneName(name) != name || name == "" || strings.EqualFold(name, "local") {
		return nil, errNoZone
	}
	return time.LoadLocation(name)
}

// preferredLanguage returns the language of a header with the highest quality, the first of equal ones,
// or "".
func preferredLanguage(values []string) (name string) {
	best := 0.0
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		tag, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		quality := 1.0
		if _, number, ok := strings.Cut(weight, "="); ok {
			var err error
			if quality, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil {
				continue
			}
		}
		if language := languageName(strings.TrimSpace(tag)); language != "" && quality > best {
			name, best = language, quality
		}
	}
	return name
}

type choiceKey struct{}

// WithChoice returns a context with the choice of a client.
func WithChoice(ctx context.Context, c Choice) context.Context {
	if c == (Choice{}) {
		return ctx
	}
	return context.WithValue(ctx, choiceKey{}, c)
}

// ChoiceFrom returns the choice in ctx.
func ChoiceFrom(ctx context.Context) Choice {
	c, _ := ctx.Value(choiceKey{}).(Choice)
	return c
}

// Resolve returns the zone, its distance from UTC at a time, and the language: those of the choice, else
// those of the environment.
func (c Choice) Resolve(env func(string) string, now time.Time) (zone string, offset time.Duration, language string) {
	zone, offset = Zone(env, now)
	if place, err := loadZone(c.Zone); err == nil {
		_, seconds := now.In(place).Zone()
		zone, offset = c.Zone, time.Duration(seconds)*time.Second
	}
	return zone, offset, cmp.Or(c.Language, Language(env))
}
