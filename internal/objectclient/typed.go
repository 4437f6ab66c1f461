package objectclient

import (
	"context"
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// through is client-go's client of a kind.
type through[P any] interface {
	Create(ctx context.Context, obj P, opts metav1.CreateOptions) (P, error)
	Update(ctx context.Context, obj P, opts metav1.UpdateOptions) (P, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (P, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (P, error)
}

// pointer is the pointer to an object's struct.
type pointer[T any] interface {
	*T
	Object
	metav1.Object
}

// typed is the client of a kind in a namespace.
type typed[T any, P pointer[T]] struct {
	client    *Client
	kind      schema.GroupVersionKind
	resource  string
	namespace string
	slow      through[P]
}

func (t typed[T, P]) request(method, name, subresource string) *Request {
	return &Request{Method: method, Kind: t.kind, Resource: t.resource, Namespace: t.namespace, Name: name, Subresource: subresource}
}

// do sends a request, unless query is nil: then client-go encodes its options.
func (t typed[T, P]) do(ctx context.Context, r *Request, query *string) (P, context.Context, bool) {
	if query == nil {
		return nil, ctx, false
	}
	r.Query = *query
	into := P(new(T))
	ctx, ok := t.client.Do(ctx, r, into)
	return into, ctx, ok
}

func (t typed[T, P]) Create(ctx context.Context, obj P, opts metav1.CreateOptions) (P, error) {
	r := t.request(http.MethodPost, "", "")
	r.Body = obj
	into, ctx, ok := t.do(ctx, r, queryOf(opts.FieldManager, opts.DryRun, opts.FieldValidation))
	if ok {
		return into, nil
	}
	return t.slow.Create(ctx, obj, opts)
}

func (t typed[T, P]) Update(ctx context.Context, obj P, opts metav1.UpdateOptions) (P, error) {
	r := t.request(http.MethodPut, obj.GetName(), "")
	r.Body = obj
	into, ctx, ok := t.do(ctx, r, queryOf(opts.FieldManager, opts.DryRun, opts.FieldValidation))
	if ok {
		return into, nil
	}
	return t.slow.Update(ctx, obj, opts)
}

func (t typed[T, P]) Get(ctx context.Context, name string, opts metav1.GetOptions) (P, error) {
	if opts.ResourceVersion == "" {
		var into P
		var ok bool
		if into, ctx, ok = t.do(ctx, t.request(http.MethodGet, name, ""), new(string)); ok {
			return into, nil
		}
	}
	return t.slow.Get(ctx, name, opts)
}

func (t typed[T, P]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (P, error) {
	r := t.request(http.MethodPatch, name, "")
	if len(subresources) == 1 {
		r.Subresource = subresources[0]
	}
	r.Patch, r.PatchType = data, string(pt)
	query := queryOf(opts.FieldManager, opts.DryRun, opts.FieldValidation)
	if opts.Force != nil || len(subresources) > 1 {
		query = nil
	}
	into, ctx, ok := t.do(ctx, r, query)
	if ok {
		return into, nil
	}
	return t.slow.Patch(ctx, name, pt, data, opts, subresources...)
}

// statuses writes the statuses of a kind's objects.
type statuses[T any, P pointer[T]] struct {
	of   typed[T, P]
	slow interface {
		UpdateStatus(ctx context.Context, obj P, opts metav1.UpdateOptions) (P, error)
	}
}

func (t statuses[T, P]) UpdateStatus(ctx context.Context, obj P, opts metav1.UpdateOptions) (P, error) {
	r := t.of.request(http.MethodPut, obj.GetName(), "status")
	r.Body = obj
	into, ctx, ok := t.of.do(ctx, r, queryOf(opts.FieldManager, opts.DryRun, opts.FieldValidation))
	if ok {
		return into, nil
	}
	return t.slow.UpdateStatus(ctx, obj, opts)
}

// queryOf returns the query of a request with a field manager; nil if it has other options.
func queryOf(manager string, dryRun []string, validation string) *string {
	if dryRun != nil || validation != "" {
		return nil
	}
	var query string
	if manager != "" {
		query = "fieldManager=" + url.QueryEscape(manager)
	}
	return &query
}
