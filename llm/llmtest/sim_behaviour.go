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

// A Behaviour is a deliberate, mostly faulty, behaviour of a model or server.
type Behaviour string

// Failures before an answer.
const (
	RateLimit      Behaviour = "rate-limit"     // 429
	ServerError    Behaviour = "server-error"   // 500
	BadGateway     Behaviour = "bad-gateway"    // 502 with an HTML page
	Unavailable    Behaviour = "unavailable"    // 503
	Overloaded     Behaviour = "overloaded"     // 529 or 503
	WrongKey       Behaviour = "wrong-key"      // 401, as if the key were wrong
	NoCredit       Behaviour = "no-credit"      // 402 or 429: the account is exhausted
	NoModel        Behaviour = "no-model"       // 404
	ContextLength  Behaviour = "context-length" // 400: the prompt is too long
	FilteredPrompt Behaviour = "filter-prompt"  // refused for its content
	HTML           Behaviour = "html"           // 200 with an HTML page
	Hang           Behaviour = "hang"           // no answer until the client disconnects
)

// Failures during an answer.
const (
	OverloadedMidway Behaviour = "overloaded-midway" // an error in the stream
	Cut              Behaviour = "cut"               // ends midway without an error
	Drop             Behaviour = "drop"              // closes the connection midway
	ResetMidway      Behaviour = "reset"             // resets the connection midway
	NoEnd            Behaviour = "no-end"            // full text without the terminal event
	Stall            Behaviour = "stall"             // sends nothing more from midway on
	BadFrame         Behaviour = "bad-frame"         // an event that is not JSON
)

// Faulty or unusual answers.
const (
	Malformed      Behaviour = "malformed"       // badly formatted: broken JSON, fences, other digits, ...
	Endless        Behaviour = "endless"         // continues until the client disconnects
	Overlong       Behaviour = "overlong"        // ten times too long, beyond max_tokens
	Empty          Behaviour = "empty"           // no text
	Filtered       Behaviour = "filter"          // ends early for its content
	FalseCitations Behaviour = "false-citations" // cites nonexistent passages
	UsageZero      Behaviour = "usage-zero"      // reports no usage tokens
	UsageNegative  Behaviour = "usage-negative"  // reports negative usage
	UsageHuge      Behaviour = "usage-huge"      // reports billions of tokens
	UsageMissing   Behaviour = "usage-missing"   // reports no usage
	NoSchema       Behaviour = "no-schema"       // 400 for a JSON schema
	NoTools        Behaviour = "no-tools"        // 400 for tools
	Obey           Behaviour = "obey"            // follows instructions planted in the prompt's documents
	Reason         Behaviour = "reasoning"       // shows its reasoning
	CallTools      Behaviour = "call-tools"      // calls a tool where it may
	Slow           Behaviour = "slow"            // ten times slower
	Comments       Behaviour = "comments"        // adds comments and pings to the stream
)

// Behaviours returns the names and descriptions of all behaviours, in the order of the
// random draws.
func Behaviours() [][2]string {
	return slices.Clone(behaviours[:])
}

var behaviours = [...][2]string{
	{string(RateLimit), "429, with a time to wait"},
	{string(ServerError), "500"},
	{string(BadGateway), "502 with a page of HTML"},
	{string(Unavailable), "503"},
	{string(Overloaded), "529, or what the provider says when it is overloaded"},
	{string(WrongKey), "401, as if the key were wrong"},
	{string(NoCredit), "the account has no credit left"},
	{string(NoModel), "404, no such model"},
	{string(ContextLength), "400, the prompt is too long"},
	{string(FilteredPrompt), "the prompt is refused for its content"},
	{string(HTML), "200 with a page of HTML"},
	{string(Hang), "no answer until the client goes away"},
	{string(OverloadedMidway), "an error inside a stream that began well"},
	{string(Cut), "the stream ends in the middle as if all were well"},
	{string(Drop), "the connection closes in the middle"},
	{string(ResetMidway), "the connection is reset in the middle"},
	{string(NoEnd), "all of the text without the terminal signal"},
	{string(Stall), "nothing more from the middle on"},
	{string(BadFrame), "an event in the middle is not JSON"},
	{string(Malformed), "a badly formatted answer"},
	{string(Endless), "an answer that never ends"},
	{string(Overlong), "an answer ten times too long, past max_tokens"},
	{string(Empty), "an answer without text"},
	{string(Filtered), "the answer breaks off for its content"},
	{string(FalseCitations), "citations of passages that are not there"},
	{string(UsageZero), "claims to have used no tokens"},
	{string(UsageNegative), "claims a negative number of tokens"},
	{string(UsageHuge), "claims billions of tokens"},
	{string(UsageMissing), "does not say what it used"},
	{string(NoSchema), "400 to a request with a JSON schema"},
	{string(NoTools), "400 to a request with tools"},
	{string(Obey), "follows instructions planted in the prompt"},
	{string(Reason), "shows its reasoning"},
	{string(CallTools), "calls a tool where it may"},
	{string(Slow), "ten times slower"},
	{string(Comments), "comments and pings between the events"},
}

func (b Behaviour) known() bool {
	return slices.ContainsFunc(behaviours[:], func(k [2]string) bool { return k[0] == string(b) })
}

// failure returns the kind of error that a behaviour causes, if any.
func (b Behaviour) failure() (kind, bool) {
	k, ok := map[Behaviour]kind{
		RateLimit: rateLimited, ServerError: serverError, BadGateway: badGateway, Unavailable: unavailable, Overloaded: overloaded, OverloadedMidway: overloaded,
		WrongKey: wrongKey, NoCredit: noCredit, NoModel: noModel, ContextLength: tooLong, FilteredPrompt: filtered, HTML: page,
	}[b]
	return k, ok
}

// conduct is the set of behaviours of one request.
type conduct []Behaviour

func (c conduct) has(b Behaviour) bool { return slices.Contains(c, b) }

// draw picks behaviours by their chances.
func draw(chances map[Behaviour]float64, rng *rand.Rand) (c conduct) {
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

// A kind classifies a failure. Each dialect has its own status and message for it.
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

// A failure is an error response.
type failure struct {
	kind        kind
	message     string // "" for the provider's usual message
	param       string // parameter of a bad request, if the dialect names it
	model       string
	tokens      int // of an oversized prompt
	limit       int
	status      int // 0 for the provider's usual status
	contentType string
	retry       time.Duration // delay before a retry
}

// A RetryForm is how a server reports the retry delay.
type RetryForm string

// The forms; "" is the provider's own.
const (
	RetrySeconds  RetryForm = "seconds"  // Retry-After: 2
	RetryFraction RetryForm = "fraction" // Retry-After: 1.5
	RetryMillis   RetryForm = "millis"   // retry-after-ms: 1500
	RetryDate     RetryForm = "date"     // Retry-After: Wed, 21 Oct 2015 07:28:00 GMT
	RetryBody     RetryForm = "body"     // only in the body
	RetryNever    RetryForm = "never"    // x-should-retry: false
	RetryUnsaid   RetryForm = "unsaid"
)

// retryHeaders sets the headers for the retry delay.
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

// fail sends the response for a failure.
func (x *exchange) fail(f failure) {
	f.model = x.rec.Model
	switch f.kind {
	case badGateway:
		x.rec.Status = http.StatusBadGateway
		x.send(http.StatusBadGateway, "text/html", []byte(gatewayPage))
		return
	case page:
		x.send(http.StatusOK, "text/html; charset=utf-8", []byte(loginPage))
		return
	case rateLimited, overloaded:
		if f.retry == 0 && f.kind == rateLimited {
			f.retry = time.Second
		}
	case tooLong:
		f.limit = cmp.Or(f.limit, 8192)
		f.tokens = max(f.tokens, f.limit+1)
	}
	x.refuse(f)
}

// said returns the failure's message or the usual one.
func (f failure) said(usual string, args ...any) string {
	if f.message != "" {
		return f.message
	}
	return fmt.Sprintf(usual, args...)
}

// A limiter is a token bucket. The zero value is full.
type limiter struct {
	mu   sync.Mutex
	full time.Time // time when the bucket is full again
}

func (l *limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = time.Time{}
}

// take takes a request from the bucket. It returns the requests left, the time until full
// and, if it is empty, the time to wait.
func (l *limiter) take(perMinute, burst int, now time.Time) (left int, full, wait time.Duration) {
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

// within checks the request limits and sets their headers.
func (x *exchange) within() (failure, bool) {
	c := x.config
	x.held = true
	if n := x.sim.held.Add(1); c.Parallel > 0 && int(n) > c.Parallel {
		return failure{kind: rateLimited, retry: x.retryAfter(), message: "Too many concurrent requests."}, false
	}
	if c.PerMinute <= 0 {
		return failure{}, true
	}
	now := time.Now()
	left, full, wait := x.sim.limit.take(c.PerMinute, c.Burst, now)
	x.dialect.limits(x.w.Header(), c.PerMinute, left, full, now)
	if wait > 0 {
		return failure{kind: rateLimited, retry: wait}, false
	}
	return failure{}, true
}

// retryAfter returns the retry delay if no limit determines it.
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

// retryWords formats a delay as OpenAI does in messages.
func retryWords(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
