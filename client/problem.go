package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Problem is an error answer of the server (RFC 9457).
type Problem struct {
	Status int
	Title  string
	Detail string        // a sentence with the remedy
	Fields []Field       // all invalid parts of the request
	Retry  time.Duration // the wait that the server asks for, or zero
}

// A Field is an invalid part of a request.
type Field struct {
	Location string `json:"location"` // such as body.question
	Message  string `json:"message"`
}

// Error returns the problem in one line.
func (p *Problem) Error() string {
	text := cmp.Or(p.Detail, strconv.Itoa(p.Status)+" "+p.Title)
	for _, f := range p.Fields {
		if one := f.Location + ": " + f.Message; !strings.Contains(text, f.Message) {
			text += "; " + one
		}
	}
	return text
}

// Is reports whether target is a Problem with only this status, as in errors.Is(err,
// &Problem{Status: 404}).
func (p *Problem) Is(target error) bool {
	t, ok := target.(*Problem)
	return ok && t.Status == p.Status && t.Detail == "" && t.Fields == nil
}

const maxProblem = 64 << 10

// problemOf decodes a problem. If the answer is not a problem, the server is not Ponder,
// and the detail says so.
func problemOf(resp *http.Response) *Problem {
	p := &Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode), Retry: retryAfter(resp.Header.Get("Retry-After"))}
	js, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // a partial body is enough
	var doc struct {
		Title  string  `json:"title"`
		Detail string  `json:"detail"`
		Errors []Field `json:"errors"`
	}
	if err := json.Unmarshal(js, &doc); err != nil || doc.Detail == "" && doc.Title == "" {
		p.Detail = fmt.Sprintf("the answer (%d %s) is not from a Ponder server; check the address", p.Status, p.Title)
		return p
	}
	p.Detail = plainText(doc.Detail)
	for _, f := range doc.Errors {
		p.Fields = append(p.Fields, Field{plainText(f.Location), plainText(f.Message)})
	}
	return p
}

const maxRetry = time.Hour

// retryAfter parses a Retry-After in seconds or as a date. It returns zero for other texts.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return min(maxRetry, time.Duration(max(0, min(n, int(maxRetry/time.Second))))*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(maxRetry, max(0, time.Until(at)))
	}
	return 0
}

// plainText replaces control characters, which a terminal would interpret.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
