// Package searchtest is a server that imitates Exa, Brave, Tavily and SearXNG for tests
// without network or keys. It finds given pages, answers in the published forms, and
// can misbehave.
//
// A [Server] serves each API below /exa, /brave, /tavily and /searxng, and at the root.
// Pages without an address are served below /pages/.
package searchtest

import "time"

const (
	Exa     = "exa"
	Brave   = "brave"
	Tavily  = "tavily"
	SearXNG = "searxng"
)

// Options configure a server; the zero value behaves well.
type Options struct {
	// Keys has the required key of each API. Without an entry any key works, but not
	// none.
	Keys map[string]string

	// Faults apply to the first requests of an API in order. A query with "fault:" and
	// a name has that fault too.
	Faults map[string][]Fault
}

type Fault string

const (
	None     Fault = ""
	Limited  Fault = "429"      // retry in a second
	Error    Fault = "500"      // with HTML
	Busy     Fault = "503"      // without a body
	Denied   Fault = "401"      // with the key in the message
	Hang     Fault = "hang"     // until the request ends
	Garbage  Fault = "garbage"  // not JSON
	Half     Fault = "half"     // a truncated body
	Huge     Fault = "huge"     // an endless answer
	Redirect Fault = "redirect" // to another host
	Odd      Fault = "odd"      // JSON of wrong types
	Nothing  Fault = "nothing"  // no results
	Hostile  Fault = "hostile"  // harmful results
)

type Page struct {
	URL       string // "" for one below /pages/
	Name      string // below /pages/
	Title     string
	Author    string
	Text      string
	Published time.Time
	Raw       []byte // default Text
	Type      string // media type of Raw
}

type Request struct {
	API, Method, Path, Query string
	Key                      string
	Body                     string // or the parameters
	At                       time.Time
}
