package cause

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Header is the request header that carries the causes, as decimal
// resourceVersions separated by commas.
const Header = "Minikcm-Causes"

// maxRevisions bounds the revisions that one request carries; the newest are kept.
const maxRevisions = 32

type contextKey struct{}

// With returns a context whose writes are caused by the given revisions.
func With(ctx context.Context, revisions []int64) context.Context {
	if len(revisions) == 0 {
		return ctx
	}
	if len(revisions) > maxRevisions {
		revisions = revisions[len(revisions)-maxRevisions:]
	}
	return context.WithValue(ctx, contextKey{}, revisions)
}

// Of returns an object's state as a cause: its resourceVersion, if it has one.
func Of(o metav1.Object) []int64 {
	revision, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return nil
	}
	return []int64{revision}
}

// From returns the revisions that With put into the context.
func From(ctx context.Context) []int64 {
	revisions, _ := ctx.Value(contextKey{}).([]int64)
	return revisions
}

// Parse reads a header's value. What is not a number is left out: a cause is a
// note, never a reason to refuse a request.
func Parse(header string) []int64 {
	if header == "" {
		return nil
	}
	var revisions []int64
	for part := range strings.SplitSeq(header, ",") {
		if n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64); err == nil && n > 0 {
			revisions = append(revisions, n)
			if len(revisions) == maxRevisions {
				break
			}
		}
	}
	return revisions
}

// ContextPasser is a transport whose server gets the context of a request, and reads the causes
// from there (From).
type ContextPasser interface {
	PassesContext()
}

// Wrap returns a RoundTripper that sets the header from each request's context, unless next passes
// the context itself. It fits rest.Config's WrapTransport.
func Wrap(next http.RoundTripper) http.RoundTripper {
	if _, passes := next.(ContextPasser); passes {
		return next
	}
	return transport{next}
}

type transport struct{ next http.RoundTripper }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	revisions := From(req.Context())
	if len(revisions) == 0 {
		return t.next.RoundTrip(req)
	}
	parts := make([]string, len(revisions))
	for i, r := range revisions {
		parts[i] = strconv.FormatInt(r, 10)
	}
	req = req.Clone(req.Context())
	req.Header.Set(Header, strings.Join(parts, ","))
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper lets client-go find the transport beneath.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
