package fence

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Header is the request header of a fenced write: NAMESPACE/NAME@RESOURCEVERSION of a Lease.
// Other API servers ignore it.
const Header = "Minikcm-Fence"

// Token names a Lease and the resourceVersion that it must still have.
type Token struct {
	Namespace, Name string
	Revision        int64
}

func (t Token) String() string {
	return t.Namespace + "/" + t.Name + "@" + strconv.FormatInt(t.Revision, 10)
}

// maxLength bounds the value of the header: two names and a number.
const maxLength = 253 + 1 + 253 + 1 + 20

// Parse reads a header's value.
func Parse(value string) (Token, error) {
	bad := func(why string) (Token, error) {
		return Token{}, fmt.Errorf("the header %s must have the form NAMESPACE/NAME@RESOURCEVERSION of a Lease: %s", Header, why)
	}
	if len(value) > maxLength {
		return bad("it is too long")
	}
	namespace, rest, found := strings.Cut(value, "/")
	name, version, hasVersion := strings.Cut(rest, "@")
	if !found || !hasVersion {
		return bad(fmt.Sprintf("got %q", value))
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 {
		return bad(fmt.Sprintf("%q is not the name of a namespace", namespace))
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return bad(fmt.Sprintf("%q is not the name of a Lease", name))
	}
	revision, err := strconv.ParseInt(version, 10, 64)
	if err != nil || revision <= 0 {
		return bad(fmt.Sprintf("%q is not a resourceVersion", version))
	}
	return Token{namespace, name, revision}, nil
}

type contextKey struct{}

// With returns a context whose requests carry the token.
func With(ctx context.Context, token Token) context.Context {
	return context.WithValue(ctx, contextKey{}, token)
}

// Wrap returns a RoundTripper that sets the header of writes from each request's context. It
// fits rest.Config's WrapTransport.
func Wrap(next http.RoundTripper) http.RoundTripper {
	return transport{next, func(ctx context.Context) (Token, bool) {
		token, ok := ctx.Value(contextKey{}).(Token)
		return token, ok
	}}
}

// WrapFixed is Wrap for a client whose requests all carry one token.
func WrapFixed(token Token) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return transport{next, func(context.Context) (Token, bool) { return token, true }}
	}
}

type transport struct {
	next  http.RoundTripper
	token func(context.Context) (Token, bool)
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, ok := t.token(req.Context())
	if !ok || req.Method == http.MethodGet {
		return t.next.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Set(Header, token.String())
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
