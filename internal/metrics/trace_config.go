package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// A TraceConfig configures the export of traces. The SDK reads headers, resource attributes and
// batch limits from the environment.
type TraceConfig struct {
	Endpoint  string            // full URL
	Version   string            // program version
	Timeout   time.Duration     // per request
	Transport http.RoundTripper // default http.DefaultTransport
	Logger    *slog.Logger      // default slog.Default()
}

const defaultTimeout = 10 * time.Second

var (
	errEndpoint = errors.New("not a URL; use one such as http://127.0.0.1:4318")
	errProtocol = errors.New("unsupported protocol; use http/protobuf or http/json and the collector's HTTP port, usually 4318")
	errList     = errors.New("not a list; use name=value,name=value")
	errMillis   = errors.New("not a number of milliseconds")
)

// TracesFromEnv returns the traces that the OpenTelemetry variables configure, or nil without an
// endpoint. An error names the variable but not its value, which the SDK would log.
func TracesFromEnv(version string) (*Traces, error) {
	c, err := traceConfigOf(os.Getenv)
	if c == nil || err != nil {
		return nil, err
	}
	c.Version = version
	return NewTraces(*c)
}

// traceConfigOf returns the configuration in the environment, or nil if traces are off.
func traceConfigOf(getenv func(string) string) (*TraceConfig, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(getenv("OTEL_TRACES_EXPORTER"), "none") {
		return nil, nil
	}
	const general, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	c := &TraceConfig{Endpoint: getenv(traces + "ENDPOINT")}
	if base := getenv(general + "ENDPOINT"); c.Endpoint == "" && base != "" {
		c.Endpoint = strings.TrimRight(base, "/") + "/v1/traces"
	}
	if c.Endpoint == "" {
		return nil, nil
	}
	protocol := traces + "PROTOCOL"
	if getenv(protocol) == "" {
		protocol = general + "PROTOCOL"
	}
	for _, of := range []struct {
		wrong error
		ok    func(string) bool
		names []string
	}{
		{errEndpoint, isURL, []string{traces + "ENDPOINT", general + "ENDPOINT"}},
		{errProtocol, func(text string) bool { return strings.HasPrefix(text, "http/") }, []string{protocol}},
		{errList, isList, []string{traces + "HEADERS", general + "HEADERS", "OTEL_RESOURCE_ATTRIBUTES"}},
		{errMillis, isMillis, []string{traces + "TIMEOUT", general + "TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY"}},
	} {
		for _, name := range of.names {
			if text := getenv(name); text != "" && !of.ok(text) {
				return nil, fmt.Errorf("%s: %w", name, of.wrong)
			}
		}
	}
	millis, _ := strconv.Atoi(cmp.Or(getenv(traces+"TIMEOUT"), getenv(general+"TIMEOUT"))) // valid or empty
	c.Timeout = time.Duration(millis) * time.Millisecond
	return c, nil
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isMillis(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil
}

// isList reports whether text is a list such as "a=1,b=2" with URL-escaped values.
func isList(text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(value)
		if strings.TrimSpace(part) != "" && (!ok || strings.TrimSpace(name) == "" || err != nil || strings.ContainsAny(value, "\r\n\x00")) {
			return false
		}
	}
	return true
}
