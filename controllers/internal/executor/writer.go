package executor

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/controllers/internal/plan"
	"minikcm.dev/minikcm/internal/envelope"
	"minikcm.dev/minikcm/internal/objectclient"
)

// Writer is the part of the API that an executor needs. The caller may change returned
// objects. Errors are the API's (k8s.io/apimachinery/pkg/api/errors).
type Writer interface {
	// Get reads the object with like's kind, namespace and name from the API, not from a
	// cache.
	Get(ctx context.Context, like plan.Object) (plan.Object, error)
	Create(ctx context.Context, o plan.Object) (plan.Object, error)
	// Update replaces the object, or its status if sub is "status".
	Update(ctx context.Context, o plan.Object, sub string) (plan.Object, error)
	// Patch applies a strategic merge patch to the object.
	Patch(ctx context.Context, o plan.Object, patch []byte) (plan.Object, error)
	// Delete deletes the object if it has o's UID.
	Delete(ctx context.Context, o plan.Object) error
}

// NewWriter returns a Writer for built-in kinds that uses the client's connections. It has at
// most requestsAtOnce requests in flight; others wait.
func NewWriter(client kubernetes.Interface) Writer {
	return writer{client, make(slots, requestsAtOnce)}
}

type writer struct {
	client kubernetes.Interface
	slots  slots
}

// target is the endpoint of a kind.
type target struct {
	client   rest.Interface
	short    *objectclient.Client
	kind     schema.GroupVersionKind
	resource string
	slots    slots
}

func (w writer) target(o plan.Object) (target, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return target{}, fmt.Errorf("finding the kind of %T: %w", o, err)
	}
	t := target{kind: kinds[0], slots: w.slots, short: objectclient.Of(w.client)}
	plural, _ := meta.UnsafeGuessKindToResource(t.kind)
	t.resource = plural.Resource
	switch t.kind.GroupVersion().String() {
	case "v1":
		t.client = w.client.CoreV1().RESTClient()
	case "apps/v1":
		t.client = w.client.AppsV1().RESTClient()
	case "batch/v1":
		t.client = w.client.BatchV1().RESTClient()
	case "autoscaling/v2":
		t.client = w.client.AutoscalingV2().RESTClient()
	case "policy/v1":
		t.client = w.client.PolicyV1().RESTClient()
	case "discovery.k8s.io/v1":
		t.client = w.client.DiscoveryV1().RESTClient()
	default:
		return target{}, fmt.Errorf("plans do not write objects of %s", t.kind)
	}
	return t, nil
}

// at directs a request to the kind's resource, in the object's namespace if it has one.
func (t target) at(request *rest.Request, o plan.Object) *rest.Request {
	return request.NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").Resource(t.resource)
}

// request returns a request for the object, or to its collection if name is empty.
func (t target) request(method string, o plan.Object, name, sub string) *objectclient.Request {
	return &objectclient.Request{Method: method, Kind: t.kind, Resource: t.resource, Namespace: o.GetNamespace(), Name: name, Subresource: sub}
}

// send sends a request with a body, unless it is a GET. through is the same request of client-go.
func (t target) send(ctx context.Context, request *objectclient.Request, through func() *rest.Request) (plan.Object, error) {
	made, err := scheme.Scheme.New(t.kind)
	if err != nil {
		return nil, err
	}
	o, ok := made.(plan.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an API object", t.kind)
	}
	if err := t.slots.take(ctx); err != nil {
		return nil, err
	}
	defer t.slots.give()
	if into, ok := made.(objectclient.Object); ok {
		var done bool
		if ctx, done = t.short.Do(ctx, request, into); done {
			return o, nil
		}
	}
	if err := through().Do(ctx).Into(made); err != nil {
		return nil, err
	}
	return o, nil
}

func (w writer) Get(ctx context.Context, like plan.Object) (plan.Object, error) {
	t, err := w.target(like)
	if err != nil {
		return nil, err
	}
	return t.send(ctx, t.request(http.MethodGet, like, like.GetName(), ""), func() *rest.Request {
		return t.at(t.client.Get(), like).Name(like.GetName())
	})
}

func (w writer) Create(ctx context.Context, o plan.Object) (plan.Object, error) {
	t, err := w.target(o)
	if err != nil {
		return nil, err
	}
	request := t.request(http.MethodPost, o, "", "")
	request.Body, _ = o.(envelope.Message)
	return t.send(ctx, request, func() *rest.Request { return t.at(t.client.Post(), o).Body(o) })
}

func (w writer) Update(ctx context.Context, o plan.Object, sub string) (plan.Object, error) {
	t, err := w.target(o)
	if err != nil {
		return nil, err
	}
	request := t.request(http.MethodPut, o, o.GetName(), sub)
	request.Body, _ = o.(envelope.Message)
	return t.send(ctx, request, func() *rest.Request {
		through := t.at(t.client.Put(), o).Name(o.GetName())
		if sub != "" {
			through = through.SubResource(sub)
		}
		return through.Body(o)
	})
}

func (w writer) Patch(ctx context.Context, o plan.Object, patch []byte) (plan.Object, error) {
	t, err := w.target(o)
	if err != nil {
		return nil, err
	}
	request := t.request(http.MethodPatch, o, o.GetName(), "")
	request.Patch, request.PatchType = patch, string(types.StrategicMergePatchType)
	return t.send(ctx, request, func() *rest.Request {
		return t.at(t.client.Patch(types.StrategicMergePatchType), o).Name(o.GetName()).Body(patch)
	})
}

func (w writer) Delete(ctx context.Context, o plan.Object) error {
	t, err := w.target(o)
	if err != nil {
		return err
	}
	if err := t.slots.take(ctx); err != nil {
		return err
	}
	defer t.slots.give()
	// Set although it is the default of most kinds: a Job's default is to orphan its pods.
	background := metav1.DeletePropagationBackground
	opts := &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID())), PropagationPolicy: &background}
	return t.at(t.client.Delete(), o).Name(o.GetName()).Body(opts).Do(ctx).Error()
}
