package llmtest

import (
	"math/rand/v2"
	"slices"
)

// A Behaviour is something that a model or its server does, mostly wrong.
type Behaviour string

// What ends a request with an error before there is an answer.
const (
	RateLimit      Behaviour = "rate-limit"     // 429
	ServerError    Behaviour = "server-error"   // 500
	BadGateway     Behaviour = "bad-gateway"    // 502 with a page of HTML
	Unavailable    Behaviour = "unavailable"    // 503
	Overloaded     Behaviour = "overloaded"     // 529 or 503
	WrongKey       Behaviour = "wrong-key"      // 401, as if the key were wrong
	NoCredit       Behaviour = "no-credit"      // 402 or 429: the account is empty
	NoModel        Behaviour = "no-model"       // 404
	ContextLength  Behaviour = "context-length" // 400: the prompt is too long
	FilteredPrompt Behaviour = "filter-prompt"  // refused for the prompt's content
	HTML           Behaviour = "html"           // 200 with a page of HTML
	Hang           Behaviour = "hang"           // nothing, until the client goes away
)

// What breaks an answer that has begun.
const (
	OverloadedMidway Behaviour = "overloaded-midway" // an error in the stream
	Cut              Behaviour = "cut"               // ends in the middle as if all were well
	Drop             Behaviour = "drop"              // the connection closes in the middle
	ResetMidway      Behaviour = "reset"             // the connection is reset in the middle
	NoEnd            Behaviour = "no-end"            // all of the text, and no terminal signal
	Stall            Behaviour = "stall"             // nothing more, from the middle on
	BadFrame         Behaviour = "bad-frame"         // an event that is not JSON
)

// What is wrong with an answer, or else remarkable.
const (
	Malformed      Behaviour = "malformed"       // badly formatted: broken JSON, fences, other digits, ...
	Endless        Behaviour = "endless"         // goes on until the client goes away
	Overlong       Behaviour = "overlong"        // ten times too long, whatever max_tokens says
	Empty          Behaviour = "empty"           // no text at all
	Filtered       Behaviour = "filter"          // breaks off for its content
	FalseCitations Behaviour = "false-citations" // cites passages that are not there
	UsageZero      Behaviour = "usage-zero"      // claims to have used nothing
	UsageNegative  Behaviour = "usage-negative"  // claims to have used less than nothing
	UsageHuge      Behaviour = "usage-huge"      // claims to have used billions
	UsageMissing   Behaviour = "usage-missing"   // says nothing of usage
	NoSchema       Behaviour = "no-schema"       // 400 for a JSON schema
	NoTools        Behaviour = "no-tools"        // 400 for tools
	Obey           Behaviour = "obey"            // follows instructions that documents plant in the prompt
	Reason         Behaviour = "reasoning"       // shows its reasoning
	CallTools      Behaviour = "call-tools"      // calls a tool where it may
	Slow           Behaviour = "slow"            // ten times slower
	Comments       Behaviour = "comments"        // keeps the stream alive with comments and pings
)

// Behaviours returns all behaviours with what each does, in the order in which
// they are drawn.
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

// failures are the errors that some behaviours are.
func (b Behaviour) failure() (kind, bool) {
	k, ok := map[Behaviour]kind{
		RateLimit: rateLimited, ServerError: serverError, BadGateway: badGateway, Unavailable: unavailable, Overloaded: overloaded, OverloadedMidway: overloaded,
		WrongKey: wrongKey, NoCredit: noCredit, NoModel: noModel, ContextLength: tooLong, FilteredPrompt: filtered, HTML: page,
	}[b]
	return k, ok
}

// conduct is the behaviours that a request meets.
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
