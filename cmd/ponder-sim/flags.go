package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/knowledge/web/search/searchtest"
	"ponder/llm/llmtest"
)

type settings struct {
	listen string
	log    string
	sim    llmtest.SimConfig
	pages  []searchtest.Page // pages of the simulated web
}

const usage = `Ponder-sim is a simulated model server for tests of cost, load and failures.

Usage: ponder-sim [flags]

It prints where it listens and how to point ponder at it, and runs until it is
interrupted. GET /sim/stats counts its requests; POST /sim/config changes its
behaviour while it runs.

Examples:
  ponder-sim
      answer at once, on any free port
  ponder-sim --listen 127.0.0.1:8800 --latency 1s --jitter 50% --chunks 10
      models that take half a second to one and a half
  ponder-sim --latency 800ms --jitter 0.4 --lognormal --token-delay 20ms
      a long tail, and fifty tokens a second
  ponder-sim --rate 60 --fail-rate 5% --log requests.jsonl
      sixty requests a minute, one in twenty fails, a line for each request
  ponder-sim --behaviour hang=1% --behaviour malformed=10%
      one in a hundred never answers, one in ten is badly formatted
  ponder-sim --script answers.jsonl
      {"match": "capital of France", "reply": "Paris"}
      {"match": "(?i)weather", "error": {"status": 503}, "times": 2}
      {"reply": {"answer": 42}}
  ponder-sim --web pages
      a search engine too: SEARXNG_URL=http://ADDRESS/searxng finds the HTML and
      text files of the folder
  ponder-sim --lsa corpus.jsonl
      fit the embeddings of the model sim-lsa to a collection of texts: one JSON
      object per line, with title and text

Flags:
`

var errHelp = errors.New("help requested")

func parseFlags(args []string, stdout io.Writer) (settings, error) {
	var s settings
	c := &s.sim
	var script, collections, web string
	var dimensions int
	var failRate float64
	fs := flag.NewFlagSet("ponder-sim", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.listen, "listen", "127.0.0.1:0", "`address` to listen on; port 0 is any free port")
	fs.StringVar(&s.log, "log", "", "append a line of JSON for each request to `file`; - is stdout")
	fs.StringVar(&script, "script", "", "`file` of answers: a JSON array of lines, or one a line")
	fs.Uint64Var(&c.Seed, "seed", 1, "`number` that determines answers, delays and failures, together with the requests")
	fs.StringVar(&c.Key, "key", "", "accept only this API `key` (default any)")
	fs.Func("model", "`name` of a model; may be repeated (default any)", func(v string) error {
		c.Models = append(c.Models, v)
		return nil
	})
	fs.StringVar(&web, "web", "", "simulate search engines that find the pages in `folder`: /exa, /brave, /tavily, /searxng")
	fs.StringVar(&collections, "lsa", "", "fit the embeddings of the model "+llmtest.LSAModel+" to the texts of `files`, separated by commas")
	fs.IntVar(&dimensions, "lsa-dimensions", 256, "maximum `dimensions` of "+llmtest.LSAModel)
	fs.DurationVar(&c.FirstToken.Mean, "latency", 0, "mean `time` to the first token")
	fs.DurationVar(&c.Token.Mean, "token-delay", 0, "mean `time` between tokens, or chunks if --chunks is set")
	fs.Func("jitter", "spread of both times as a `share` of the mean: 0.5 or 50%", func(v string) (err error) {
		c.FirstToken.Jitter, err = parseShare(v, 10)
		c.Token.Jitter = c.FirstToken.Jitter
		return err
	})
	fs.BoolVar(&c.FirstToken.Lognormal, "lognormal", false, "times have a long tail; --jitter is its sigma")
	fs.IntVar(&c.Chunks, "chunks", 0, "maximum chunks of an answer (default one for each token)")
	fs.IntVar(&c.Stretch, "stretch", 1, "make answers this `many` times longer")
	fs.IntVar(&c.Context, "context", 0, "maximum `tokens` of a prompt (default any)")
	fs.Func("overflow", "`server` whose words refuse a longer prompt: "+llmtest.OverflowNames(), func(v string) error {
		c.Overflow = llmtest.Overflow(v)
		if !slices.Contains(llmtest.Overflows(), c.Overflow) {
			return fmt.Errorf("choose one of: %s", llmtest.OverflowNames())
		}
		return nil
	})
	fs.Func("cached", "`share` of prompts reported as read from a cache", func(v string) (err error) {
		c.Cached, err = parseShare(v, 1)
		return err
	})
	fs.IntVar(&c.PerMinute, "rate", 0, "maximum `requests` a minute; more get 429 (default any)")
	fs.IntVar(&c.Burst, "burst", 0, "`requests` of --rate that may come at once (default all)")
	fs.IntVar(&c.Parallel, "parallel", 0, "maximum concurrent `requests`; more get 429 (default any)")
	fs.Func("retry-form", "`form` of the retry delay in answers with 429: "+retryForms(), func(v string) error {
		c.RetryForm = llmtest.RetryForm(v)
		if !strings.Contains(" "+retryForms()+" ", " "+v+" ") {
			return fmt.Errorf("choose one of: %s", retryForms())
		}
		return nil
	})
	fs.DurationVar(&c.RetryAfter.Mean, "retry-after", time.Second, "`time` to wait in the answers of random failures")
	fs.Func("fail-rate", "`share` of requests that fail, in different ways", func(v string) (err error) {
		failRate, err = parseShare(v, 1)
		return err
	})
	fs.Func("behaviour", "`name[=share]` of a behaviour; may be repeated; names below", func(v string) error {
		return addBehaviour(c, v)
	})
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			printHelp(fs, stdout)
			return s, errHelp
		}
		return s, err
	}
	if fs.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	c.Token.Lognormal = c.FirstToken.Lognormal
	spreadFailures(c, failRate)
	if err := readScript(c, script); err != nil {
		return s, err
	}
	if web != "" {
		var err error
		if s.pages, err = searchtest.Load(web); err != nil {
			return s, err
		}
	}
	return s, readCollections(c, collections, dimensions)
}

// readCollections fits an embedder to comma-separated files.
func readCollections(c *llmtest.SimConfig, files string, dimensions int) error {
	if files == "" {
		return nil
	}
	var readers []io.Reader
	for file := range strings.SplitSeq(files, ",") {
		f, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("open collection: %w", err)
		}
		defer f.Close()
		readers = append(readers, f)
	}
	var err error
	c.LSA, err = llmtest.ReadLSA(dimensions, readers...)
	return err
}

// parseShare parses a share such as 0.05 or 5%.
func parseShare(v string, max float64) (float64, error) {
	number, percent := strings.CutSuffix(v, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= max) {
		return 0, fmt.Errorf("want a share from 0 to %v, such as 0.05 or 5%%", max)
	}
	return f, nil
}

// addBehaviour adds a behaviour such as hang or hang=1%.
func addBehaviour(c *llmtest.SimConfig, v string) error {
	name, chance, given := strings.Cut(v, "=")
	p := 1.0
	if given {
		var err error
		if p, err = parseShare(chance, 1); err != nil {
			return err
		}
	}
	for _, b := range llmtest.Behaviours() {
		if b[0] == name {
			setBehaviour(c, llmtest.Behaviour(name), p)
			return nil
		}
	}
	return fmt.Errorf("unknown behaviour %q; see --help for the list", name)
}

func setBehaviour(c *llmtest.SimConfig, b llmtest.Behaviour, chance float64) {
	if c.Behaviours == nil {
		c.Behaviours = make(map[llmtest.Behaviour]float64)
	}
	c.Behaviours[b] = chance
}

// spreadFailures distributes a failure rate over the most common failures.
func spreadFailures(c *llmtest.SimConfig, rate float64) {
	if rate == 0 {
		return
	}
	ways := []llmtest.Behaviour{
		llmtest.ServerError, llmtest.Unavailable, llmtest.Overloaded, llmtest.OverloadedMidway, llmtest.Cut, llmtest.ResetMidway,
	}
	for _, b := range ways {
		if _, given := c.Behaviours[b]; !given {
			setBehaviour(c, b, rate/float64(len(ways)))
		}
	}
}

func readScript(c *llmtest.SimConfig, file string) error {
	if file == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open script: %w", err)
	}
	defer f.Close()
	if c.Script, err = llmtest.ReadScript(f); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func retryForms() string {
	return strings.Join([]string{
		string(llmtest.RetrySeconds), string(llmtest.RetryFraction), string(llmtest.RetryMillis), string(llmtest.RetryDate),
		string(llmtest.RetryBody), string(llmtest.RetryNever), string(llmtest.RetryNone),
	}, " ")
}

func printHelp(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, usage)
	fs.VisitAll(func(f *flag.Flag) {
		name, doc := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "false" {
			doc += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  --%-22s %s\n", strings.TrimSpace(f.Name+" "+name), doc)
	})
	fmt.Fprint(w, "\nBehaviours:\n")
	for _, b := range llmtest.Behaviours() {
		fmt.Fprintf(w, "  %-24s %s\n", b[0], b[1])
	}
}
