package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder/internal/auth"
)

const tagAccess = "access"

func (a *api) registerAccess() {
	me := a.newAnyOperation(http.MethodGet, "/api/me", "get-me", "Show the caller and its permissions")
	huma.Register(a.huma, me, a.getMe)
	in := a.newAnyOperation(http.MethodPost, "/api/sign-in", "sign-in", "Exchange a token for the cookie of a browser", http.StatusNotFound)
	in.Description = "The cookie works only for pages of this server. It ends after 7 days without use, after 30 days, and when the token changes."
	in.Security = noToken
	huma.Register(a.huma, in, a.signIn)
	out := a.newAnyOperation(http.MethodPost, "/api/sign-out", "sign-out", "End the sign-in of a browser")
	out.Security = noToken
	huma.Register(a.huma, out, a.signOut)
	code := a.newAnyOperation(http.MethodPost, "/api/sign-in/codes", "create-code", "Create a code with which a browser signs in once")
	code.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, code, a.createCode)
	a.registerShares()
}

// noToken marks operations that need no token.
var noToken = []map[string][]string{{}}

// newAnyOperation needs no scope.
func (a *api) newAnyOperation(method, path, id, summary string, errs ...int) huma.Operation {
	op := a.newOperation(auth.Read, method, path, id, summary, tagAccess, errs...)
	op.Middlewares = nil
	return op
}

// Me describes a caller.
type Me struct {
	Success  bool         `json:"success"`
	Owner    string       `json:"owner" doc:"whose threads, memories and subconscious the caller sees"`
	Token    string       `json:"token" doc:"name of the token; empty on a server without tokens"`
	Scopes   []auth.Scope `json:"scopes" nullable:"false"`
	Admin    bool         `json:"admin" doc:"has the scope admin"`
	Required bool         `json:"tokens_required" doc:"the server has tokens"`
	SignedIn bool         `json:"signed_in" doc:"by a cookie"`
	Expires  *time.Time   `json:"expires_at,omitempty" doc:"end of the sign-in without further use"`
}

type meOutput struct{ Body Me }

func (a *api) describeCaller(c auth.Caller) Me {
	me := Me{Success: true, Owner: c.Owner, Token: c.Token, Scopes: append([]auth.Scope{}, c.Scopes...), Admin: c.HasScope(auth.Admin), Required: a.Guard.NeedsToken()}
	if !c.Expires.IsZero() {
		me.SignedIn, me.Expires = true, &c.Expires
	}
	return me
}

func (a *api) getMe(ctx context.Context, _ *struct{}) (*meOutput, error) {
	return &meOutput{a.describeCaller(auth.CallerOf(ctx))}, nil
}

type signInInput struct {
	request *http.Request
	Body    struct {
		Token string `json:"token,omitempty" maxLength:"1000" doc:"token of this server" example:"the token"`
		Code  string `json:"code,omitempty" maxLength:"100" doc:"code of create-code, instead of a token"`
	}
}

func (in *signInInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	if (in.Body.Token == "") == (in.Body.Code == "") {
		return []error{&huma.ErrorDetail{Location: "body.token", Message: "expected either token or code"}}
	}
	return nil
}

type signInOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   Me
}

func (a *api) signIn(_ context.Context, in *signInInput) (*signInOutput, error) {
	exchange, secret := a.Guard.SignIn, in.Body.Token
	if in.Body.Code != "" {
		exchange, secret = a.Guard.SignInByCode, in.Body.Code
	}
	c, cookie, refused := exchange(in.request, secret)
	if refused != nil {
		return nil, refusalError(refused)
	}
	return &signInOutput{*cookie, a.describeCaller(c)}, nil
}

type signOutInput struct{ request *http.Request }

func (in *signOutInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	return nil
}

type signOutOutput struct {
	Cookie http.Cookie `header:"Set-Cookie"`
	Body   struct {
		Success bool   `json:"success"`
		Message string `json:"message"`
	}
}

func (a *api) signOut(_ context.Context, in *signOutInput) (*signOutOutput, error) {
	cookie, refused := a.Guard.SignOut(in.request)
	if refused != nil {
		return nil, refusalError(refused)
	}
	out := &signOutOutput{Cookie: *cookie}
	out.Body.Success, out.Body.Message = true, "this browser is signed out"
	return out, nil
}

type codeOutput struct {
	Body struct {
		Success bool      `json:"success"`
		Code    string    `json:"code" doc:"for one sign-in as this caller"`
		Expires time.Time `json:"expires_at"`
	}
}

func (a *api) createCode(ctx context.Context, _ *struct{}) (*codeOutput, error) {
	code, expires, refused := a.Guard.NewCode(auth.CallerOf(ctx))
	if refused != nil {
		return nil, refusalError(refused)
	}
	out := &codeOutput{}
	out.Body.Success, out.Body.Code, out.Body.Expires = true, code, expires
	return out, nil
}

// refusalError returns the error of a refusal, with its header Retry-After.
func refusalError(why *auth.Refusal) error {
	err := huma.NewError(cmp.Or(why.Status, http.StatusForbidden), why.Detail)
	if why.Retry <= 0 {
		return err
	}
	return huma.ErrorWithHeaders(err, http.Header{"Retry-After": {strconv.Itoa(int(why.Retry/time.Second) + 1)}})
}
