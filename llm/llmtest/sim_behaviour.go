package llmtest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A Behaviour is a deliberate, mostly faulty, behaviour.
type Behaviour string

// Failures before an answer.
const (
	RateLimit      Behaviour = "rate-limit"     // 429
	ServerError    Behaviour = "server-error"   // 500
	BadGateway     Behaviour = "bad-gateway"    // 502 with HTML
	Unavailable    Behaviour = "unavailable"    // 503
	Overloaded     Behaviour = "overloaded"     // 529 or 503
	WrongKey       Behaviour = "wrong-key"      // 401
	NoCredit       Behaviour = "no-credit"      // 402 or 429
	NoModel        Behaviour = "no-model"       // 404
	ContextLength  Behaviour = "context-length" // 400
	FilteredPrompt Behaviour = "filter-prompt"  // refused for its content
	HTML           Behaviour = "html"           // 200 with HTML
	Hang           Behaviour = "hang"           // no answer until the client disconnects
)

// Failures during an answer.
const (
	OverloadedMidway Behaviour = "overloaded-midway" // error in the stream
	Cut              Behaviour = "cut"               // ends midway
	Drop             Behaviour = "drop"
	ResetMidway      Behaviour = "reset"
	NoEnd            Behaviour = "no-end"    // no terminal event
	Stall            Behaviour = "stall"     // silent from midway on
	BadFrame         Behaviour = "bad-frame" // invalid JSON
)

// Faulty and unusual answers.
const (
	Malformed      Behaviour = "malformed" // broken JSON, fences, other digits, ...
	Endless        Behaviour = "endless"
	Overlong       Behaviour = "overlong" // ten times too long, beyond max_tokens
	Empty          Behaviour = "empty"
	Filtered       Behaviour = "filter"          // ends early
	FalseCitations Behaviour = "false-citations" // cites nonexistent passages
	UsageZero      Behaviour = "usage-zero"
	UsageNegative  Behaviour = "usage-negative"
	UsageHuge      Behaviour = "usage-huge" // billions of tokens
	UsageMissing   Behaviour = "usage-missing"
	NoSchema       Behaviour = "no-schema" // 400 for a JSON schema
	NoTools        Behaviour = "no-tools"  // 400 for tools
	FollowPlanted  Behaviour = "obey"      // follows planted instructions
	Reason         Behaviour = "reasoning"
	CallTools      Behaviour = "call-tools" // whenever allowed
	Slow           Behaviour = "slow"       // ten times slower
	Comments       Behaviour = "comments"   // between events
)

// Behaviours returns the names and descriptions, in the order of draws.
func Behaviours() [][2]string {
	return slices.Clone(behaviours[:])
}

var behaviours = [...][2]string{
	{string(RateLimit), "429, with a time to wait"},
	{string(ServerError), "500"},
	{string(BadGateway), "502 with a page of HTML"},
	{string(Unavailable), "503"},
	{string(Overloaded), "529, or the provider's own status for an overload"},
	{string(WrongKey), "401, as if the key were wrong"},
	{string(NoCredit), "the account has no credit left"},
	{string(NoModel), "404, no such model"},
	{string(ContextLength), "400, the prompt is too long"},
	{string(FilteredPrompt), "the prompt is refused for its content"},
	{string(HTML), "200 with a page of HTML"},
	{string(Hang), "no answer until the client disconnects"},
	{string(OverloadedMidway), "an error inside a stream that began well"},
	{string(Cut), "the stream ends in the middle without an error"},
	{string(Drop), "the connection closes in the middle"},
	{string(ResetMidway), "the connection is reset in the middle"},
	{string(NoEnd), "all of the text without the terminal signal"},
	{string(Stall), "silence from the middle of the answer on"},
	{string(BadFrame), "an event in the middle is not JSON"},
	{string(Malformed), "a badly formatted answer"},
	{string(Endless), "an answer that never ends"},
	{string(Overlong), "an answer ten times too long, past max_tokens"},
	{string(Empty), "an answer without text"},
	{string(Filtered), "the answer is cut off for its content"},
	{string(FalseCitations), "citations of passages that do not exist"},
	{string(UsageZero), "claims to have used no tokens"},
	{string(UsageNegative), "claims a negative number of tokens"},
	{string(UsageHuge), "claims billions of tokens"},
	{string(UsageMissing), "reports no usage"},
	{string(NoSchema), "400 to a request with a JSON schema"},
	{string(NoTools), "400 to a request with tools"},
	{string(FollowPlanted), "follows instructions planted in the prompt"},
	{string(Reason), "shows its reasoning"},
	{string(CallTools), "calls a tool whenever the request allows it"},
	{string(Slow), "ten times slower"},
	{string(Comments), "comments and pings between the events"},
}

func (b Behaviour) isKnown() bool {
	return slices.ContainsFunc(behaviours[:], func(k [2]string) bool { return k[0] == string(b) })
}

func (b Behaviour) failureKind() (kind, bool) {
	k, ok := map[Behaviour]kind{
		RateLimit: rateLimited, ServerError: serverError, BadGateway: badGateway, Unavailable: unavailable, Overloaded: overloaded, OverloadedMidway: overloaded,
		WrongKey: wrongKey, NoCredit: noCredit, NoModel: noModel, ContextLength: tooLong, FilteredPrompt: filtered, HTML: page,
	}[b]
	return k, ok
}

type behaviourSet []Behaviour

func (c behaviourSet) hasBehaviour(b Behaviour) bool { return slices.Contains(c, b) }

// drawBehaviours picks behaviours by chance.
func drawBehaviours(chances map[Behaviour]float64, rng *rand.Rand) (c behaviourSet) {
	if len(chances) == 0 {
		return nil
	}
	for _, b := range behaviours {
		p, ok := chances[Behaviour(b[0])]
		if ok && (p >= 1 || p > 0 && rng.Float64() < p) {
			c = append(c, Behaviour(b[0]))
		}
	}
	return c
}

// A kind of failure has its own status and message in each dialect.
type kind string

const (
	badRequest  kind = "bad request"
	wrongKey    kind = "wrong key"
	noCredit    kind = "no credit"
	noModel     kind = "no model"
	tooLong     kind = "too long"
	filtered    kind = "filtered"
	rateLimited kind = "rate limited"
	serverError kind = "server error"
	badGateway  kind = "bad gateway"
	unavailable kind = "unavailable"
	overloaded  kind = "overloaded"
	page        kind = "page"
)

type failure struct {
	kind        kind
	message     string // "": the usual one
	param       string // if the dialect names it
	model       string
	tokens      int // of an oversized prompt
	limit       int
	status      int    // 0: the usual one
	body        string // "": the usual one
	contentType string
	retry       time.Duration
}

// A RetryForm is a form of the retry delay.
type RetryForm string

// "" is the provider's.
const (
	RetrySeconds  RetryForm = "seconds"  // Retry-After: 2
	RetryFraction RetryForm = "fraction" // Retry-After: 1.5
	RetryMillis   RetryForm = "millis"   // retry-after-ms: 1500
	RetryDate     RetryForm = "date"     // Retry-After: Wed, 21 Oct 2015 07:28:00 GMT
	RetryBody     RetryForm = "body"     // only in the body
	RetryNever    RetryForm = "never"    // x-should-retry: false
	RetryNone     RetryForm = "unsaid"
)

func retryHeaders(h http.Header, form RetryForm, after time.Duration) {
	seconds := strconv.Itoa(int(math.Ceil(after.Seconds())))
	switch form {
	case RetrySeconds:
		h.Set("Retry-After", seconds)
	case RetryFraction:
		h.Set("Retry-After", strconv.FormatFloat(after.Seconds(), 'f', -1, 64))
	case RetryMillis:
		h.Set("Retry-After-Ms", strconv.FormatInt(after.Milliseconds(), 10))
		h.Set("Retry-After", seconds)
	case RetryDate:
		h.Set("Retry-After", time.Now().Add(after+time.Second-1).UTC().Format(http.TimeFormat))
	case RetryNever:
		h.Set("X-Should-Retry", "false")
	}
}

const gatewayPage = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"

const loginPage = "<!DOCTYPE html>\n<html><head><title>Sign in to the network</title></head><body><form method=\"post\"></form></body></html>\n"

func (x *exchange) sendFailure(f failure) {
	f.model = x.rec.Model
	switch f.kind {
	case badGateway:
		x.rec.Status = http.StatusBadGateway
		x.sendBody(http.StatusBadGateway, "text/html", []byte(gatewayPage))
		return
	case page:
		x.sendBody(http.StatusOK, "text/html; charset=utf-8", []byte(loginPage))
		return
	case rateLimited, overloaded:
		if f.retry == 0 && f.kind == rateLimited {
			f.retry = time.Second
		}
	case tooLong:
		f.limit = cmp.Or(f.limit, 8192)
		f.tokens = max(f.tokens, f.limit+1)
	}
	x.sendRefusal(f)
}

func (f failure) messageOr(usual string, args ...any) string {
	if f.message != "" {
		return f.message
	}
	return fmt.Sprintf(usual, args...)
}

// A limiter is a token bucket. Zero is full.
type limiter struct {
	mu   sync.Mutex
	full time.Time // again
}

func (l *limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = time.Time{}
}

// takeToken returns the requests left, the time until full, and the wait if empty.
func (l *limiter) takeToken(perMinute, burst int, now time.Time) (left int, full, wait time.Duration) {
	if burst <= 0 {
		burst = perMinute
	}
	each := time.Minute / time.Duration(perMinute)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full.Before(now) {
		l.full = now
	}
	full = l.full.Sub(now)
	if room := time.Duration(burst) * each; full+each > room {
		return 0, full, full + each - room
	}
	l.full = l.full.Add(each)
	full += each
	return int((time.Duration(burst)*each - full) / each), full, 0
}

// checkLimits checks the limits and sets their headers.
func (x *exchange) checkLimits() (failure, bool) {
	c := x.config
	x.countsInFlight = true
	if n := x.sim.inFlight.Add(1); c.Parallel > 0 && int(n) > c.Parallel {
		return failure{kind: rateLimited, retry: x.retryAfter(), message: "Too many concurrent requests."}, false
	}
	if c.PerMinute <= 0 {
		return failure{}, true
	}
	now := time.Now()
	left, full, wait := x.sim.limit.takeToken(c.PerMinute, c.Burst, now)
	x.dialect.limits(x.w.Header(), c.PerMinute, left, full, now)
	if wait > 0 {
		return failure{kind: rateLimited, retry: wait}, false
	}
	return failure{}, true
}

// retryAfter returns the delay if no limit determines it.
func (x *exchange) retryAfter() time.Duration {
	if d := x.config.RetryAfter.Mean; d > 0 {
		return d
	}
	return time.Second
}

func openaiLimits(h http.Header, limit, left int, full time.Duration, _ time.Time) {
	h.Set("x-ratelimit-limit-requests", strconv.Itoa(limit))
	h.Set("x-ratelimit-remaining-requests", strconv.Itoa(left))
	h.Set("x-ratelimit-reset-requests", full.Round(time.Millisecond).String())
}

func anthropicLimits(h http.Header, limit, left int, full time.Duration, now time.Time) {
	h.Set("anthropic-ratelimit-requests-limit", strconv.Itoa(limit))
	h.Set("anthropic-ratelimit-requests-remaining", strconv.Itoa(left))
	h.Set("anthropic-ratelimit-requests-reset", now.Add(full).UTC().Format(time.RFC3339))
}

func noLimits(http.Header, int, int, time.Duration, time.Time) {}

func retryWords(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
