// Package web fetches pages and makes text of them, without being led to where
// it has no business.
//
// The way of a page: a URL is checked and written in one way (url.go); a copy
// that is young enough is taken from the archive (cache.go); robots.txt is asked
// (robots.go, rules.go); the host is given its rest (hosts.go); the request goes
// out through a dialer that refuses addresses which are not public (dial.go,
// address.go, allow.go); redirects go the same way again (visit.go); the body is
// unpacked and bounded (body.go); its letters are decoded (charset.go), and text
// is made of it by its type (content.go). [Fetcher.Fetch] does all of it.
//
// What is refused, and how to allow it, is told in docs/web.md. The check that
// counts is made by the dialer, on the very address that is about to be connected
// to: names are resolved once for it, so that a name server has no second chance.
// What is checked before is for errors that come sooner and say more.
//
// A page comes from a stranger. Its length, its headers, the time it takes, how
// often it redirects and what it unpacks to are bounded.
//
// Originals are in the archive under the URL that answered, with the time. Notes
// are kept there too, in JSON:
//
//	web.page    by URL as asked for: where it led, type, hash, validators, time
//	web.robots  by origin: status of robots.txt, and those of its lines that count
//
// Both may be removed at any time.
package web
