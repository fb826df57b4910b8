package config

import (
	"fmt"
	"net/mail"
	"ponder/internal/textkit"
	"strconv"
	"strings"
)

// maxParts is how many parts a list may have.
const maxParts = 100

// list reads text with commas between.
func list(v string) (string, error) { return listOf(v, text) }

// listOf reads values with commas between.
func listOf(v string, read func(string) (string, error)) (string, error) {
	var all []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		literal, err := read(part)
		if err != nil {
			return "", err
		}
		all = append(all, literal)
	}
	if len(all) > maxParts {
		return "", fmt.Errorf("has %d parts, and may have %d", len(all), maxParts)
	}
	return "[" + strings.Join(all, ", ") + "]", nil
}

// address reads an address of mail.
func address(v string) (string, error) {
	if a, err := mail.ParseAddress(v); err != nil || len(v) > maxHost || strings.ContainsAny(a.Address, "\r\n") {
		return "", fmt.Errorf("%q is no address such as anna@example.org", textkit.Truncate(v, 40))
	}
	return quote(v), nil
}

func variables(v string) (string, error) { return listOf(v, variable) }

func addresses(v string) (string, error) { return listOf(v, address) }

// calendarLink reads an address, which may be one for calendars.
func calendarLink(v string) (string, error) {
	if rest, ok := strings.CutPrefix(v, "webcal:"); ok {
		_, err := link("https:" + rest)
		return quote(v), err
	}
	return link(v)
}

// hostPort reads the name of a host, perhaps with a port.
func hostPort(v string) (string, error) {
	name, port, ported := strings.Cut(v, ":")
	n, err := strconv.Atoi(port)
	if name == "" || len(v) > maxHost || strings.ContainsAny(v, " /@?#\\\"") || ported && (err != nil || n < 1 || n > 65535) {
		return "", fmt.Errorf("%q is no server such as imap.example.org or imap.example.org:993", textkit.Truncate(v, 40))
	}
	return quote(v), nil
}
