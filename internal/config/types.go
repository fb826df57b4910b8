package config

import (
	"errors"
	"fmt"
	"ponder/internal/textkit"
	"regexp"
	"strings"
	"time"
)

// UnmarshalTOML reads a name or a list of names.
func (c *Chain) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	*c = nil
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not the name of a model", v)
		}
		if _, _, err := SplitModel(name); err != nil {
			return err
		}
		*c = append(*c, name)
	}
	return nil
}

// ParseChain reads names between commas.
func ParseChain(text string) (Chain, error) {
	var c Chain
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if _, _, err := SplitModel(name); err != nil {
			return nil, err
		}
		c = append(c, name)
	}
	return c, nil
}

// maxName bounds the full name of a model, in bytes.
const maxName = 200

// SplitModel returns the provider of a model's full name, and the provider's
// own name for it.
func SplitModel(full string) (provider, id string, err error) {
	provider, id, ok := strings.Cut(full, "/")
	if !ok || provider == "" || id == "" || len(full) > maxName || strings.ContainsFunc(full, unprintable) {
		return "", "", fmt.Errorf("%q is not the name of a model: write provider/model, such as ollama/llama3.1", textkit.Truncate(full, 60))
	}
	return provider, id, nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' }

// UnmarshalText reads "1h30m".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the duration without parts that are zero: "5m", not "5m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ErrTooLong is in the error of a duration that is longer than can be counted.
var ErrTooLong = errors.New("is too long")

// aDuration matches what is written like a duration, however long it is.
var aDuration = regexp.MustCompile(`^\+?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$`)

// ParseDuration reads a positive duration and says how to write one.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if err != nil && aDuration.MatchString(text) {
		return 0, fmt.Errorf("%s %w", textkit.Truncate(text, 20), ErrTooLong)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a length of time: write it like 30s, 5m or 1h30m", textkit.Truncate(text, 20))
	}
	if d <= 0 {
		return 0, errors.New("a length of time must be more than zero")
	}
	return d, nil
}
