package resources

import (
	"context"
	"net/url"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Handler serves a request in place of the generic code of its verb. It writes the
// response; the error that it returns instead is sent as a Status.
type Handler func(ctx context.Context, rq Request) error

// Request is a request of the apiserver, as the handlers in the rows use it. Its methods serve the
// requests of single kinds: a row selects one by naming it, as in Request.ServeExec.
type Request interface {
	Reviews
	Metrics
	Components
	Connections

	// ServeCreateOf creates a subresource of the object of the same name in another
	// resource.
	ServeCreateOf(ctx context.Context, resource schema.GroupVersionResource, subresource string) error
	// ServeAnswer decodes the body as a query and responds with the result of answer. answer may modify
	// asked. It calls admit once it has found asked valid.
	ServeAnswer(ctx context.Context, answer func(ctx context.Context, asked runtime.Object, admit func() error) (runtime.Object, error)) error
	// TakeDisruption takes one disruption from the PodDisruptionBudget that selects the
	// request's pod. It returns a 429 if none is left.
	TakeDisruption(ctx context.Context, dryRun bool) error
}

// Reviews answers queries about users and their permissions, and issues tokens. The
// functions are the callbacks of ServeAnswer.
type Reviews interface {
	RequestToken(ctx context.Context, asked *authenticationv1.TokenRequest, admit func() error) (*authenticationv1.TokenRequest, error)
	ReviewToken(ctx context.Context, asked *authenticationv1.TokenReview, admit func() error) (*authenticationv1.TokenReview, error)
	ReviewSelf(ctx context.Context, asked *authenticationv1.SelfSubjectReview, admit func() error) (*authenticationv1.SelfSubjectReview, error)
	ReviewAccess(ctx context.Context, asked *authorizationv1.SubjectAccessReview, admit func() error) (*authorizationv1.SubjectAccessReview, error)
	ReviewLocalAccess(ctx context.Context, asked *authorizationv1.LocalSubjectAccessReview, admit func() error) (*authorizationv1.LocalSubjectAccessReview, error)
	ReviewSelfAccess(ctx context.Context, asked *authorizationv1.SelfSubjectAccessReview, admit func() error) (*authorizationv1.SelfSubjectAccessReview, error)
	ReviewSelfRules(ctx context.Context, asked *authorizationv1.SelfSubjectRulesReview, admit func() error) (*authorizationv1.SelfSubjectRulesReview, error)
}

// Metrics serves the kinds of the metrics APIs.
type Metrics interface {
	// ServeUsage and ServeUsageList respond with the usage of nodes, or of pods if the row
	// is namespaced.
	ServeUsage(ctx context.Context) error
	ServeUsageList(ctx context.Context) error
	// ServeMetricValues responds with the values of a custom or external metric.
	ServeMetricValues(ctx context.Context) error
}

// Components serves the health of the cluster's components.
type Components interface {
	ServeComponent(ctx context.Context) error
	ServeComponentList(ctx context.Context) error
}

// Connections serves the subresources that upstream passes on to a kubelet or a pod.
type Connections interface {
	ServeLog(ctx context.Context) error
	ServeExec(ctx context.Context) error
	ServeAttach(ctx context.Context) error
	ServePortForward(ctx context.Context) error
	ServeProxyToPod(ctx context.Context) error
	ServeProxyToService(ctx context.Context) error
	ServeProxyToNode(ctx context.Context) error
}

// Reservations reserves values that are unique in the cluster, as storage.Reserve describes.
type Reservations interface {
	// ReserveService reserves addresses and node ports.
	ReserveService(ctx context.Context, obj, old runtime.Object, dryRun bool) (done func(err error), err error)
	// ReserveFlow keeps the condition Dangling of FlowSchemas.
	ReserveFlow(ctx context.Context, obj, old runtime.Object, dryRun bool) (done func(err error), err error)
	// ReserveDefinition reserves the names of a custom kind.
	ReserveDefinition(ctx context.Context, obj, old runtime.Object, dryRun bool) (done func(err error), err error)
}

// answer is the handler of a query: a create that stores nothing and returns the object
// with its result.
func answer[T runtime.Object](review func(rq Request, ctx context.Context, asked T, admit func() error) (T, error)) Handler {
	return func(ctx context.Context, rq Request) error {
		return rq.ServeAnswer(ctx, func(ctx context.Context, asked runtime.Object, admit func() error) (runtime.Object, error) {
			return review(rq, ctx, asked.(T), admit)
		})
	}
}

// createOf is the handler of a create that creates a subresource of another row's object
// of the same name.
func createOf(resource schema.GroupVersionResource, subresource string) Handler {
	return func(ctx context.Context, rq Request) error { return rq.ServeCreateOf(ctx, resource, subresource) }
}

// serve adapts a method of Request.
func serve(method func(Request, context.Context) error) Handler {
	return func(ctx context.Context, rq Request) error { return method(rq, ctx) }
}

// follows reports whether a log is read until its container terminates.
func follows(query url.Values) bool { return IsTrue(query, "follow") }

// IsTrue reads a boolean parameter of a query with the conversion of the API's options: every value but
// 0 and false, in any case, is true.
func IsTrue(query url.Values, name string) bool {
	var value bool
	values := query[name]
	return runtime.Convert_Slice_string_To_bool(&values, &value, nil) == nil && value
}
