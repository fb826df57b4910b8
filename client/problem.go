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

// A Problem is why a server did not do what it was asked (RFC 9457).
type Problem struct {
	Status int           // of HTTP
	Title  string        // of the kind of problem
	Detail string        // a sentence that says what to do
	Fields []Field       // what is wrong with the request, all of it
	Retry  time.Duration // when to come again, if the server says so
}

// A Field is a part of a request that is wrong.
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

// Is lets errors.Is find the problem of a status: errors.Is(err, &Problem{Status: 404}).
func (p *Problem) Is(target error) bool {
	t, ok := target.(*Problem)
	return ok && t.Status == p.Status && t.Detail == "" && t.Fields == nil
}

// maxProblem bounds what is read of a problem, in bytes.
const maxProblem = 64 << 10

// problemOf reads why a server refuses. What answers in another way is no ponder.
func problemOf(resp *http.Response) *Problem {
	p := &Problem{Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode), Retry: retryAfter(resp.Header.Get("Retry-After"))}
	js, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem)) // what of it came
	var doc struct {
		Title  string  `json:"title"`
		Detail string  `json:"detail"`
		Errors []Field `json:"errors"`
	}
	if err := json.Unmarshal(js, &doc); err != nil || doc.Detail == "" && doc.Title == "" {
		p.Detail = fmt.Sprintf("the server answered %d %s, and not as ponder does: is the address right?", p.Status, p.Title)
		return p
	}
	p.Detail = plain(doc.Detail)
	for _, f := range doc.Errors {
		p.Fields = append(p.Fields, Field{plain(f.Location), plain(f.Message)})
	}
	return p
}

// maxRetry is the longest time to wait that is believed.
const maxRetry = time.Hour

// retryAfter reads a Retry-After in seconds or as a date; zero if it is neither.
func retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return min(maxRetry, time.Duration(max(0, min(n, int(maxRetry/time.Second))))*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(maxRetry, max(0, time.Until(at)))
	}
	return 0
}

// plain returns text without what a terminal would obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
