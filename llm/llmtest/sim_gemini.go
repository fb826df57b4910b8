package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

func geminiDialect() *dialect {
	return &dialect{
		name: "gemini", key: geminiKey, refuse: geminiRefusal, inband: geminiInband,
		whole: geminiWhole, stream: geminiStream, limits: noLimits, retryForm: RetryBody, blocks: true,
		contentType: "text/event-stream",
		garbage:     "data: {\"candidates\": [{\"content\": {\"parts\": [{\"te\r\n\r\n",
		comment:     ": keep-alive\r\n\r\n",
	}
}

func geminiKey(r *http.Request) string {
	for _, key := range []string{r.Header.Get("x-goog-api-key"), r.URL.Query().Get("key")} {
		if key != "" {
			return key
		}
	}
	return bearerKey(r)
}

func geminiRefusal(f failure) (int, []byte) {
	code, status, message := geminiWords(f)
	e := map[string]any{"code": code, "message": message, "status": status}
	var details []any
	if f.kind == wrongKey {
		details = append(details, map[string]any{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
			"metadata": map[string]string{"service": "generativelanguage.googleapis.com"},
		})
	}
	if f.retry > 0 {
		details = append(details, map[string]string{
			"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": strconv.FormatFloat(f.retry.Seconds(), 'f', -1, 64) + "s",
		})
	}
	if details != nil {
		e["details"] = details
	}
	return code, encodeJSON(map[string]any{"error": e})
}

func geminiInband(f failure) []byte {
	_, body := geminiRefusal(f)
	return append(append([]byte("data: "), body...), "\r\n\r\n"...)
}

func geminiWords(f failure) (code int, status, message string) {
	switch f.kind {
	case wrongKey:
		return 400, "INVALID_ARGUMENT", f.messageOr("API key not valid. Please pass a valid API key.")
	case noCredit:
		return 429, "RESOURCE_EXHAUSTED", f.messageOr("You exceeded your current quota, please check your plan and billing details.")
	case noModel:
		return 404, "NOT_FOUND", f.messageOr("models/%s is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.", f.model)
	case tooLong:
		return 400, "INVALID_ARGUMENT", f.messageOr("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", f.tokens, f.limit)
	case rateLimited:
		return 429, "RESOURCE_EXHAUSTED", f.messageOr("You exceeded your current rate limit. Please retry in %s.", retryWords(f.retry))
	case overloaded, unavailable:
		return 503, "UNAVAILABLE", f.messageOr("The model is overloaded. Please try again later.")
	case serverError, badGateway, page:
		return 500, "INTERNAL", f.messageOr("An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting")
	}
	return 400, "INVALID_ARGUMENT", f.messageOr("Request contains an invalid argument.")
}

type geminiRequest struct {
	Contents   []geminiContent `json:"contents"`
	System     geminiContent   `json:"systemInstruction"`
	Tools      []geminiTool    `json:"tools"`
	ToolConfig struct {
		Calling struct {
			Mode    string   `json:"mode"`
			Allowed []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config struct {
		Max        int             `json:"maxOutputTokens"`
		MIME       string          `json:"responseMimeType"`
		Schema     json.RawMessage `json:"responseSchema"`
		JSONSchema json.RawMessage `json:"responseJsonSchema"`
		Thinking   struct {
			Include bool `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiTool struct {
	Functions []struct {
		Name       string          `json:"name"`
		Doc        string          `json:"description"`
		Schema     json.RawMessage `json:"parameters"`
		JSONSchema json.RawMessage `json:"parametersJsonSchema"`
	} `json:"functionDeclarations"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      string      `json:"text"`
	Thought   bool        `json:"thought"`
	Signature string      `json:"thoughtSignature"`
	Data      *geminiData `json:"inlineData"`
	File      *geminiData `json:"fileData"`
	Call      *struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

type geminiData struct {
	Data string `json:"data"`
	URI  string `json:"fileUri"`
}

func geminiTarget(method, name string) target {
	model, verb, _ := strings.Cut(name, ":")
	to := target{geminiDialect(), model, nil}
	switch {
	case method == http.MethodGet && verb == "":
		to.serve = serveGeminiModels
	case method != http.MethodPost || model == "":
	case verb == "generateContent", verb == "streamGenerateContent":
		to.serve = completionHandler(func(x *exchange, model string, body []byte) (*parsedRequest, failure, bool) {
			return parseGemini(x, model, body, verb == "streamGenerateContent")
		})
	case verb == "countTokens":
		to.serve = serveGeminiCount
	case verb == "embedContent", verb == "batchEmbedContents":
		to.serve = serveGeminiEmbeddings
	}
	return to
}

func parseGemini(x *exchange, model string, body []byte, stream bool) (*parsedRequest, failure, bool) {
	var q geminiRequest
	if why, ok := decodeRequest(body, &q); !ok {
		return nil, why, false
	}
	if why := q.checkRequest(model); why != "" {
		return nil, failure{kind: badRequest, message: why}, false
	}
	a := q.toParsed(model)
	a.stream = stream
	if stream && x.r.URL.Query().Get("alt") != "sse" {
		x.dialect = geminiArrayDialect()
	}
	return a, failure{}, true
}

func (q *geminiRequest) toParsed(model string) *parsedRequest {
	a := &parsedRequest{model: model, usage: true, max: q.Config.Max, think: q.Config.Thinking.Include, encrypt: true}
	switch calling := q.ToolConfig.Calling; strings.ToUpper(calling.Mode) {
	case "ANY":
		a.choice = "required"
		if len(calling.Allowed) == 1 {
			a.choice = calling.Allowed[0]
		}
	case "NONE":
		a.choice = "none"
	}
	if len(q.System.Parts) > 0 {
		a.addTurn("system")
		q.System.addTo(a, "system")
	}
	for _, c := range q.Contents {
		role := "user"
		if c.Role == "model" {
			role = "assistant"
		}
		a.addTurn(role)
		c.addTo(a, role)
	}
	for _, t := range q.Tools {
		for _, f := range t.Functions {
			a.addTool(f.Name, f.Doc, firstSet(f.Schema, f.JSONSchema))
		}
	}
	a.schema = firstSet(q.Config.Schema, q.Config.JSONSchema)
	a.json = q.Config.MIME == "application/json"
	return a
}

func firstSet(of ...json.RawMessage) json.RawMessage {
	for _, s := range of {
		if len(s) > 0 {
			return s
		}
	}
	return nil
}

func (c geminiContent) addTo(a *parsedRequest, role string) {
	for _, p := range c.Parts {
		switch {
		case p.Thought:
		case p.Data != nil:
			a.addImage(p.Data.Data)
		case p.File != nil:
			a.addImage(p.File.URI)
		case p.Call != nil:
			a.addCall(p.Call.Name, p.Call.Args)
		case p.Response != nil:
			a.addResult(string(p.Response.Response))
		case p.Text != "":
			a.addText(role, p.Text)
		}
	}
}

// checkRequest returns Gemini's reason to refuse the request, or "".
func (q *geminiRequest) checkRequest(model string) string {
	if len(q.Contents) == 0 {
		return "* GenerateContentRequest.contents: contents is not specified"
	}
	if len(q.Config.Schema) > 0 && len(q.Config.JSONSchema) > 0 {
		return "only one of response_schema and response_json_schema may be set"
	}
	if len(q.Config.Schema)+len(q.Config.JSONSchema) > 0 && q.Config.MIME != "application/json" {
		return "* GenerateContentRequest.generation_config.response_schema: only allowed when response mime type is application/json"
	}
	schemas := []json.RawMessage{q.Config.Schema}
	for _, t := range q.Tools {
		for _, f := range t.Functions {
			schemas = append(schemas, f.Schema)
		}
	}
	for _, s := range schemas {
		if why := geminiSchema.findFault(s, "schema"); why != "" {
			return why
		}
	}
	for i, c := range q.Contents {
		if len(c.Parts) == 0 {
			return fmt.Sprintf("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		if c.Role != "user" && c.Role != "model" && c.Role != "" {
			return "Please use a valid role: user, model."
		}
		for j, p := range c.Parts {
			if p.Signature != "" && !isSealOf(model, p.Signature) {
				return "Thought signature is not valid"
			}
			if p.Call != nil && p.Signature == "" && j == 0 && strings.HasPrefix(model, "gemini-3") {
				return "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."
			}
		}
	}
	return ""
}

var geminiSchema = schemaChecker{check: geminiShape}

// geminiShape refuses what Gemini does.
func geminiShape(at string, raw json.RawMessage, s schemaShape) string {
	if len(s.Type) > 0 && s.Type[0] == '[' {
		return "Invalid JSON payload received. Unknown name \"type\" at '" + at + "': Proto field is not repeating, cannot start list."
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	for _, k := range []string{"$ref", "$defs", "$schema", "const", "oneOf", "allOf"} {
		if _, ok := all[k]; ok {
			return "Invalid JSON payload received. Unknown name \"" + k + "\" at '" + at + "': Cannot find field."
		}
	}
	return ""
}

func serveGeminiModels(x *exchange, name string, _ []byte) {
	model := func(id string) map[string]any {
		return map[string]any{
			"name": "models/" + id, "version": "001", "displayName": id, "inputTokenLimit": 1048576, "outputTokenLimit": 65536,
			"supportedGenerationMethods": []string{"generateContent", "countTokens", "embedContent", "batchEmbedContents"},
		}
	}
	switch {
	case name == "":
		list := []any{}
		for _, m := range x.modelNames() {
			list = append(list, model(m))
		}
		x.sendJSON(map[string]any{"models": list})
	case !x.hasModel(name):
		x.sendFailure(failure{kind: noModel})
	default:
		x.sendJSON(model(name))
	}
}

func serveGeminiCount(x *exchange, model string, body []byte) {
	var q struct {
		geminiRequest
		Inner *geminiRequest `json:"generateContentRequest"`
	}
	if why, ok := decodeRequest(body, &q); !ok {
		x.sendFailure(why)
		return
	}
	if q.Inner != nil {
		q.geminiRequest = *q.Inner
	}
	a := q.toParsed(model)
	a.computeHash()
	x.sendJSON(map[string]int{"totalTokens": a.countTokens()})
}

func serveGeminiEmbeddings(x *exchange, model string, body []byte) {
	type one struct {
		Content    geminiContent `json:"content"`
		Dimensions int           `json:"outputDimensionality"`
	}
	var q struct {
		one
		Requests []one `json:"requests"`
	}
	if why, ok := decodeRequest(body, &q); !ok {
		x.sendFailure(why)
		return
	}
	batch := strings.HasSuffix(x.rec.Path, ":batchEmbedContents")
	if !batch {
		q.Requests = []one{q.one}
	}
	if len(q.Requests) == 0 {
		x.sendFailure(failure{kind: badRequest, message: "* BatchEmbedContentsRequest.requests: requests is not specified"})
		return
	}
	texts := make([]string, len(q.Requests))
	for i, r := range q.Requests {
		for _, p := range r.Content.Parts {
			texts[i] += p.Text
		}
	}
	vectors, _, ok := x.embedTexts(model, texts, q.Requests[0].Dimensions)
	if !ok {
		return
	}
	list := make([]any, len(vectors))
	for i, v := range vectors {
		list[i] = map[string]any{"values": v}
	}
	if batch {
		x.sendJSON(map[string]any{"embeddings": list})
		return
	}
	x.sendJSON(map[string]any{"embedding": list[0]})
}
