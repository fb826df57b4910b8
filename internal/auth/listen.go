package auth

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Strength of a secret.
const (
	minSecret = 16 // characters
	minBits   = 60
)

// IsWeak reports whether a secret is easy to guess: short, or with few different characters or
// steps between characters, such as "passwordpassword" or "1234567890123456".
func IsWeak(secret string) bool {
	chars, steps := make(map[rune]bool), make(map[rune]bool)
	n, last := 0, rune(0)
	for _, c := range secret {
		if n > 0 {
			steps[c-last] = true
		}
		chars[c], last = true, c
		n++
	}
	return n < minSecret || float64(n)*math.Log2(float64(max(1, min(len(chars), len(steps))))) < minBits
}

// Loopback reports whether a listen address is local to this machine. It returns an error for an
// invalid address.
func Loopback(listen string) (bool, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false, fmt.Errorf("%q is not a listen address: use host:port, such as 127.0.0.1:8744", listen)
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback(), nil
}

// ErrOpen reports a server that is reachable by others without tokens.
var ErrOpen = errors.New("everyone with access to this address could use your models: set PONDER_TOKEN, or listen on 127.0.0.1")

// ErrWeak reports a server that is reachable by others with a token that is easy to guess.
var ErrWeak = errors.New("a token is easy to guess: make one with `openssl rand -hex 32`, or listen on 127.0.0.1")

// CheckListen returns an error if listening there is unsafe.
func (c Config) CheckListen(listen string) error {
	local, err := Loopback(listen)
	if err == nil && !local && len(c.Tokens) == 0 {
		err = ErrOpen
	}
	for _, t := range c.Tokens {
		if err == nil && !local && t.Weak {
			err = fmt.Errorf("%w: %s", ErrWeak, t.Name)
		}
	}
	if err != nil {
		return fmt.Errorf("--listen %s: %w", listen, err)
	}
	return nil
}

// Text lists the tokens without secrets, as comments of a configuration.
func (c Config) Text() string {
	if len(c.Tokens) == 0 {
		return "# no token: every program on this machine has access\n"
	}
	var b strings.Builder
	for _, t := range c.Tokens {
		var scopes []string
		for _, s := range t.Scopes {
			scopes = append(scopes, string(s))
		}
		slices.Sort(scopes)
		fmt.Fprintf(&b, "# token %s: owner %s, for %s\n", t.Name, t.Owner, strings.Join(scopes, ", "))
	}
	return b.String()
}
