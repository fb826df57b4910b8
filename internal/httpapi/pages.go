package httpapi

import (
	"net/http"
	"strings"
	"time"
)

// What pages of other sites that may ask are told (CORS). They send a token like all others:
// no cookies are asked for or sent.
const (
	pageMethods = "GET, POST, DELETE"
	pageReads   = "Content-Disposition, ETag, Link, Mcp-Session-Id, Ponder-Server, Request-Id, Retry-After, WWW-Authenticate, " +
		"X-Request-Id, X-Should-Retry, X-Thread-Id, X-Vercel-AI-UI-Message-Stream"
	pageKeeps = "600" // seconds that a browser takes this for granted
)

// mostAsked is how long the list of headers may be that a page wants to send, in bytes.
const mostAsked = 2 << 10

// page lets pages read answers that were named in the configuration, and answers what
// browsers ask before they let one ask: it reports whether that is all. No token comes with
// that, and nothing but what holds for all is told.
func (a *api) page(w http.ResponseWriter, r *http.Request) (answered bool) {
	if !a.Guard.HasPages() {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin, ok := a.Guard.Page(r)
	if !ok {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", pageReads)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", pageMethods)
	h.Set("Access-Control-Max-Age", pageKeeps)
	if asked := r.Header.Get("Access-Control-Request-Headers"); areNames(asked) { // which clients of all languages have many of
		h.Set("Access-Control-Allow-Headers", asked)
	}
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
	dismiss(w, r)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// areNames reports whether a text is a list of names of headers.
func areNames(list string) bool {
	if list == "" || len(list) > mostAsked {
		return false
	}
	return strings.IndexFunc(list, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_, ", c)
	}) < 0
}

// untilTomorrow returns how long this day still has: what a token may begin in a day is
// free again then.
func untilTomorrow(now time.Time) time.Duration {
	y, m, d := now.Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Sub(now)
}
