package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// fillerText returns n letters and digits that match no rule.
func fillerText(n int) string { return strings.Repeat("aB3dE5gH7j", n/10+1)[:n] }

func TestSecretsAreFound(t *testing.T) {
	hexes := strings.Repeat("0123456789abcdef", 4)
	tests := []struct {
		name, secret string // that must be gone
		kind         Kind
	}{
		{"anthropic", "sk-ant-api03-" + fillerText(40), APIKey},
		{"openai", "sk-" + fillerText(48), APIKey},
		{"openai, of a project", "sk-proj-" + fillerText(30) + "_-" + fillerText(20), APIKey},
		{"openrouter", "sk-or-v1-" + hexes, APIKey},
		{"gemini", "AIza" + fillerText(35), APIKey},
		{"groq", "gsk_" + fillerText(52), APIKey},
		{"xai", "xai-" + fillerText(80), APIKey},
		{"zai", hexes[:32] + "." + fillerText(16), APIKey},
		{"hugging face", "hf_" + fillerText(34), APIKey},
		{"tavily", "tvly-dev-" + fillerText(32), APIKey},
		{"brave", "BSA" + fillerText(28), APIKey},
		{"aws", "AKIAIOSFODNN7EXAMPLE", APIKey},
		{"github", "ghp_" + fillerText(36), Token},
		{"github, fine-grained", "github_pat_" + fillerText(22) + "_" + fillerText(59), Token},
		{"gitlab", "glpat-" + fillerText(20), Token},
		{"slack", "xoxb-" + "17653672481-19874698323-" + fillerText(24), Token},
		{"slack hook", "hooks.slack.com/services/T0000/B0000/" + fillerText(24), Token},
		{"stripe", "sk_live_" + fillerText(24), APIKey},
		{"sendgrid", "SG." + fillerText(22) + "." + fillerText(43), APIKey},
		{"telegram", "110201543:" + fillerText(35), Token},
		{"npm", "npm_" + fillerText(36), Token},
		{"vault", "hvs." + fillerText(28), Token},
		{"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + fillerText(43), Token},
		{"encrypted jwt", "eyJhbGciOiJSU0EifQ." + fillerText(20) + ".x." + fillerText(30) + ".y1", Token},
		{"card", "4111111111111111", Card},
		{"card in groups", "5500 0000 0000 0004", Card},
		{"card with hyphens", "3782-822463-10005", Card},
		{"iban", "DE89370400440532013000", IBAN},
		{"iban in groups", "GB29 NWBK 6016 1331 9268 19", IBAN},
		{"private key", "-----BEGIN RSA PRIVATE KEY-----\n" + fillerText(64) + "\n" + fillerText(9) + "==\n-----END RSA PRIVATE KEY-----", PrivateKey},
		{"private key on one line", `-----BEGIN PRIVATE KEY-----\n` + fillerText(64) + `\n-----END PRIVATE KEY-----`, PrivateKey},
		{"pgp", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n" + fillerText(64) + "\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----", PrivateKey},
	}
	var r *Redactor
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, in := range [][2]string{{"", ""}, {"It is ", " as you see."}, {"(`", "`)"}, {"\"", "\","}, {"see: ", "\nnext"}, {"<", ">"}} {
				want := in[0] + redactionMark(tt.kind) + in[1]
				if got := r.Text(in[0] + tt.secret + in[1]); got != want {
					t.Errorf("got  %q\nwant %q", got, want)
				}
			}
		})
	}
}

func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"url", "postgres://ann:hunter2@db:5432/x", "postgres://ann:[redacted: password]@db:5432/x"},
		{"url without a user", "redis://:s3cr3t@cache", "redis://:[redacted: password]@cache"},
		{"url, an at in the password", "ftp://u:p@ss9@host/", "ftp://u:[redacted: password]@host/"},
		{"query", "https://x.y/z?api_key=abcd1234&q=sea", "https://x.y/z?api_key=[redacted: api key]&q=sea"},
		{"environment", "export DB_PASSWORD=letmein now", "export DB_PASSWORD=[redacted: password] now"},
		{"aws secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = [redacted: api key]"},
		{"ini", "password = hunter2\nuser = ann", "password = [redacted: password]\nuser = ann"},
		{"yaml", "db:\n  passwd: hunter2", "db:\n  passwd: [redacted: password]"},
		{"json", `{"client_secret": "open sesame", "id": "7"}`, `{"client_secret": "[redacted: password]", "id": "7"}`},
		{"json in a string", `{\"password\": \"hunter2\"}`, `{\"password\": \"[redacted: password]\"}`},
		{"go", `password := "hunter2"`, `password := "[redacted: password]"`},
		{"header", "Authorization: Bearer abc.def123.ghi456jkl", "Authorization: Bearer [redacted: token]"},
		{"bearer", "curl -H 'x: Bearer 0123456789abcdefgh'", "curl -H 'x: Bearer [redacted: token]'"},
		{"basic", "authorization: Basic dXNlcjpwYXNzMQ==", "authorization: Basic [redacted: token]"},
		{"curl", "curl -u ann:hunter2 https://x", "curl -u ann:[redacted: password] https://x"},
		{"flag", "mysql --password hunter2 db", "mysql --password [redacted: password] db"},
		{"spoken", "The password is hunter2, he said.", "The password is [redacted: password], he said."},
		{"spoken of a key", "Your API key is abc123def.", "Your API key is [redacted: api key]."},
		{"bold", "**Password:** hunter2!", "**Password:** [redacted: password]!"},
		{"both ways", "api_key=sk-ant-" + fillerText(30), "api_key=[redacted: api key]"},
		{"several", "ghp_" + fillerText(36) + " 4111111111111111", "[redacted: token] [redacted: card number]"},
		{"a private key that is cut off", "see -----BEGIN OPENSSH PRIVATE KEY-----\n" + fillerText(70) + "\n" + fillerText(12), "see [redacted: private key]"},
		{"a card and what follows", "4111 1111 1111 1111 12 2027", "[redacted: card number] 12 2027"},
		{"what is redacted stays so", "password=[redacted: password] [redacted: iban]", "password=[redacted: password] [redacted: iban]"},
		{"a mark does not protect", "[redacted: ghp_" + fillerText(36) + "]", "[redacted: [redacted: token]]"},
	}
	var r *Redactor
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := r.Text(tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestOtherTextStays(t *testing.T) {
	var r *Redactor
	for _, text := range []string{
		"", "The sea is blue.", "sk-learn is a library; so is scikit-learn-contrib", "task-ant-colony-optimisation-2024", "disk-0123456789012345678901",
		"Choose a password: at least eight letters.", "The password is wrong.", "password is required", "Secret: nobody knows.", "the secret of success",
		"password=$DB_PASSWORD", "password=${PASS}", "token: {{ .Token }}", "PASSWORD=<your password>", "api_key=os.environ['KEY']",
		"login(user=user, password=password)", "password = getPassword()", "token = next()", "max_tokens=4096", "tokens: 12345678", "token: word",
		"postgres://localhost/x", "https://ann@host/x", "http://user:password@host", "see https://x.y/a:b@c",
		"1700000000000000", "1234567890123456", "4111111111111112", "order 4111-1111", "0.4111111111111111", "a4111111111111111", "+49 30 1234567 89012",
		"DE89370400440532013001", "XX89370400440532013000", "DE89 3704", "commit 0123456789abcdef0123456789abcdef01234567",
		"550e8400-e29b-41d4-a716-446655440000", "-----BEGIN CERTIFICATE-----\n" + fillerText(64) + "\n-----END CERTIFICATE-----",
		"It begins with -----BEGIN PRIVATE KEY----- and then comes the key.", "eyJ is how they begin", "eyJhbGciOiJIUzI1NiJ9.x", "ann@example.com", "AKIA", "AIzaX",
		`h.Set("Authorization", "Bearer "+string(key0123456789)) // and "x"`, "authorization: required", "password: null", `"password": ""`, "password=********", "primary_key=id", "key: value1",
	} {
		if got := r.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestPatterns(t *testing.T) {
	r, err := New(Options{Patterns: []string{Emails, `(?i)project \w+`, `\bEMP-\d{1,6}\b`}})
	if err != nil {
		t.Fatal(err)
	}
	in := "Mail ann.b+c@mail.example.com of Project Titan, EMP-1234; not a@b or @home or v1@2.0."
	want := "Mail [redacted: e-mail] of [redacted: pattern], [redacted: pattern]; not a@b or @home or v1@2.0."
	if got := r.Text(in); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := r.Text(want); got != want {
		t.Errorf("once more: %q", got)
	}
}

func TestBadPatterns(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{"(", `redact: pattern "(": missing closing )`},
		{"a*", `redact: pattern "a*": matches the empty text`},
		{strings.Repeat("x", MaxPattern+1), `redact: pattern "xxxxxxxxxxxxxxxxxxxx"... has 501 bytes, of at most 500`},
		{`(?:\pL{30}){30}`, `redact: pattern "(?:\\pL{30}){30}": repeats too much`},
		{`(?=x)`, `redact: pattern "(?=x)": invalid or unsupported Perl syntax`},
	} {
		if _, err := New(Options{Patterns: []string{tt.pattern}}); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	if _, err := New(Options{Patterns: make([]string, MaxPatterns+1)}); err == nil {
		t.Error("so many patterns are taken")
	}
}

func TestJSON(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"a thought", `{"thought":"the key is sk-ant-` + fillerText(30) + `, \"so\""}`, `{"thought":"the key is [redacted: api key], \"so\""}`},
		{"nothing", "{ \"a\" : [1, 2.50e1, null,\ttrue], \"\\u0062\":\"\\u00e9\\/\" }", "{ \"a\" : [1, 2.50e1, null,\ttrue], \"\\u0062\":\"\\u00e9\\/\" }"},
		{"written in escapes", `{"a":"\u0073k-ant-` + fillerText(30) + `"}`, `{"a":"[redacted: api key]"}`},
		{"by its name", `{"db":{"password":"hunter two","port":5432},"x":"y"}`, `{"db":{"password":"[redacted: password]","port":5432},"x":"y"}`},
		{"a list by its name", `{"api_keys":["a"],"secret":["alpha","beta",{"n":"plain"}],"z":"plain"}`, `{"api_keys":["a"],"secret":["[redacted: password]","[redacted: password]",{"n":"plain"}],"z":"plain"}`},
		{"a number by its name", `{"passwd":12345678}`, `{"passwd":"[redacted: password]"}`},
		{"a token by its name and look", `{"token":"word","auth_token":"a1b2c3d4"}`, `{"token":"word","auth_token":"[redacted: password]"}`},
		{"a schema", `{"password":{"type":"string","description":"The password."}}`, `{"password":{"type":"string","description":"The password."}}`},
		{"a card that is a number", `[4111111111111111]`, `["[redacted: card number]"]`},
		{"in a name", `{"ghp_` + fillerText(36) + `":1}`, `{"[redacted: token]":1}`},
		{"html stays", `{"a":"<b> ghp_` + fillerText(36) + `"}`, `{"a":"<b> [redacted: token]"}`},
		{"a string", `"password=hunter2"`, `"password=[redacted: password]"`},
		{"no JSON", `{"thought": password=hunter2`, `"{\"thought\": password=[redacted: password]"`},
		{"empty", ``, ``},
	}
	var r *Redactor
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(r.JSON(json.RawMessage(tt.in))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestRepeated checks that time is linear for adversarial texts.
func TestRepeated(t *testing.T) {
	r, err := New(Options{Patterns: []string{Emails, `(a|aa)+b`}})
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{
		"a", "sk-", "eyJ", "eyJa.", "eyJ-", "pwd=", `pwd="`, "pwd='\"", "pwd=$", "://", "://a:b", "4", "4 ", "4-", "DE89", "DE89 ", "@", "a@a", "-----BEGIN PRIVATE KEY-----",
		"-----BEGIN ", "[redacted: ", "[redacted: iban]", "password is ", "--token ", " -u ", "Bearer ", "xoxb-a", "0123456789abcdef", "token:1", ": ", `\"`, "SG.a", "a.b",
	} {
		text := strings.Repeat(unit, 1<<15/len(unit))
		if got := r.Text(text); len(got) > 16*len(text) {
			t.Errorf("%q: %d bytes became %d", unit, len(text), len(got))
		}
	}
}

func BenchmarkText(b *testing.B) {
	var r Redactor
	text := strings.Repeat("The contract of 2021 (see page 12: \"terms\") says what = what; the rest is in annex B-4. ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}

// FuzzText checks that a secret in any text is removed and the rest stays unchanged.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "it is ", "password=", "\"", "sk-", "://a:", "-----BEGIN ", "[redacted: "} {
		f.Add(s, s)
	}
	secret := "ghp_" + fillerText(36)
	f.Fuzz(func(t *testing.T, before, after string) {
		r, err := New(Options{Patterns: []string{Emails, "[ab]+c"}})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Text(before+" "+secret+" "+after), secret) {
			t.Errorf("%q and %q hide a secret", before, after)
		}
		if in := before + after; len(r.findSecrets(in)) == 0 && r.Text(in) != in {
			t.Errorf("%q is changed for nothing", in)
		}
	})
}

// FuzzJSON checks that JSON keeps its shape and loses its secrets.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,{"password":"x"}]}`, `"x"`, `{`, `[4111111111111111,-1e5]`, `{"secret":["a","b"],"c":{"d":null}}`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var r *Redactor
		secret := "ghp_" + fillerText(36)
		out := r.JSON(json.RawMessage(in))
		if len(strings.TrimSpace(in)) > 0 && !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		if json.Valid([]byte(in)) {
			out = r.JSON(json.RawMessage(`[` + in + `,"` + secret + `"]`))
			var list []any
			if err := json.Unmarshal(out, &list); err != nil || len(list) != 2 || strings.Contains(string(out), secret) {
				t.Errorf("%q became %q", in, out)
			}
		}
	})
}
