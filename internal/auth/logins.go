package auth

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of failed logins.
const (
	addressFailures = 10              // at once from an address
	addressRefill   = 6 * time.Second // for one more
	totalFailures   = 200             // at once from all addresses
	totalRefill     = 200 * time.Millisecond
	loginSlots      = 4096 // size of each table
)

// logins limits failed logins by address and in total, in constant memory.
//
// An address with too many failures must wait, even with a valid token. Two rules keep others
// from being locked out: a token that has succeeded from an address stays valid there, and the
// total limits only addresses that have failed recently.
type logins struct {
	seed  maphash.Seed
	known [loginSlots]atomic.Uint64 // hashes of address and token that have succeeded

	mu       sync.Mutex
	total    bucket
	failures [loginSlots]struct {
		address netip.Addr
		bucket
	}
}

func newLogins(now time.Time) *logins {
	l := &logins{seed: maphash.MakeSeed()}
	l.total = bucket{left: totalFailures, at: now}
	return l
}

// loginKey returns the network of one user: an address of version 4, or a /64 of version 6.
func loginKey(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		p, err := a.WithZone("").Prefix(64)
		if err == nil {
			return p.Addr()
		}
	}
	return a
}

func (l *logins) pairHash(key netip.Addr, token string) uint64 {
	var h maphash.Hash
	h.SetSeed(l.seed)
	b := key.As16()
	h.Write(b[:])
	h.WriteString(token)
	return h.Sum64() | 1 // zero is an empty slot
}

// isKnown reports whether a token has succeeded from an address.
func (l *logins) isKnown(key netip.Addr, token string) bool {
	h := l.pairHash(key, token)
	return l.known[h>>1%loginSlots].Load() == h
}

func (l *logins) recordSuccess(key netip.Addr, token string) {
	h := l.pairHash(key, token)
	l.known[h>>1%loginSlots].Store(h)
}

// retryAfter returns the time until an address may try a login, or 0.
func (l *logins) retryAfter(key netip.Addr, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.slotOf(key, now)
	if wait := f.untilNext(now, addressFailures, addressRefill); wait > 0 {
		return wait
	}
	if f.left < addressFailures {
		return l.total.untilNext(now, totalFailures, totalRefill)
	}
	return 0
}

func (l *logins) recordFailure(key netip.Addr, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.slotOf(key, now)
	f.untilNext(now, addressFailures, addressRefill)
	f.left = max(0, f.left-1)
	l.total.untilNext(now, totalFailures, totalRefill)
	l.total.left = max(0, l.total.left-1)
}

// slotOf returns the bucket of an address. It replaces that of another address, which is then
// limited only in total.
func (l *logins) slotOf(key netip.Addr, now time.Time) *bucket {
	b := key.As16()
	s := &l.failures[maphash.Bytes(l.seed, b[:])%loginSlots]
	if s.address != key || s.at.IsZero() {
		s.address, s.bucket = key, bucket{left: addressFailures, at: now}
	}
	return &s.bucket
}

// clientAddress returns the address of the client. Only configured proxies may state it, in
// X-Forwarded-For.
func (g *Guard) clientAddress(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := at.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !g.isProxy(client) {
			break
		}
		a, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		client = a.Unmap()
	}
	return client
}

// ParseProxies parses addresses and networks of proxies.
func ParseProxies(list []string) (proxies []netip.Prefix, err error) {
	for _, entry := range list {
		p, err := netip.ParsePrefix(entry)
		if a, alone := netip.ParseAddr(entry); err != nil && alone == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not an address or network, such as 10.0.0.2 or 10.1.0.0/16", entry)
		}
		proxies = append(proxies, p.Masked())
	}
	return proxies, nil
}

func (g *Guard) isProxy(a netip.Addr) bool {
	return slices.ContainsFunc(g.cfg.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

func loginRefusal(wait time.Duration) *Refusal {
	return &Refusal{Status: http.StatusTooManyRequests, Retry: wait,
		Detail: fmt.Sprintf("too many failed logins from this address: wait %s, then send a valid token", (wait + time.Second).Truncate(time.Second))}
}
