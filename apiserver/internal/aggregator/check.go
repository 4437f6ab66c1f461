package aggregator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/hostaddress"
)

const (
	// checkUser makes the requests of checks, as upstream.
	checkUser = "system:kube-aggregator"
	// reasonSkipped is the reason of an APIService that is skipped, because only simulated pods would answer.
	reasonSkipped = "Simulated"
	// checkTimeout limits each request of a check, in real time.
	checkTimeout = 5 * time.Second
)

// check checks the server of an APIService, and reads its discovery document.
func (a *Aggregator) check(ctx context.Context, name string) {
	if _, err := a.servers(ctx); err != nil {
		a.alarms.Set(name, a.opts.Clock.Now().Add(retryInterval))
		return
	}
	b := a.find(name)
	if b == nil || a.opts.IsLocal(b.gv()) {
		a.alarms.Set(name, time.Time{})
		a.forget(name)
		a.makeLocal(ctx, name)
		return
	}
	condition := a.availability(ctx, b)
	if condition.Reason == reasonSkipped {
		a.forget(name)
	} else if condition.Status == apiregistrationv1.ConditionTrue {
		a.discover(ctx, b)
	} else {
		a.stale(b)
	}
	if err := a.report(ctx, b, condition); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		a.opts.Logger.Error(err, "Writing the status of an APIService", "apiService", name)
	}
	next := checkInterval
	if condition.Status != apiregistrationv1.ConditionTrue {
		next = retryInterval
	}
	a.alarms.Set(name, a.opts.Clock.Now().Add(next))
}

// makeLocal gives an APIService that no longer refers to a Service the condition of a local
// one.
func (a *Aggregator) makeLocal(ctx context.Context, name string) {
	objects := a.opts.Objects(apiservices.Resource())
	obj, err := objects.Get(ctx, objects.Key("", name), name)
	if err != nil {
		return // it has been deleted
	}
	if s, ok := obj.(*apiregistrationv1.APIService); ok && s.Spec.Service == nil {
		if err := a.report(ctx, &backend{service: s}, apiservices.LocalCondition()); err != nil && ctx.Err() == nil {
			a.opts.Logger.Error(err, "Writing the status of an APIService", "apiService", name)
		}
	}
}

// report writes a condition unless the APIService has it.
func (a *Aggregator) report(ctx context.Context, b *backend, condition apiregistrationv1.APIServiceCondition) error {
	for _, c := range b.service.Status.Conditions {
		if c.Type == condition.Type && c.Status == condition.Status && c.Reason == condition.Reason && c.Message == condition.Message {
			return nil
		}
	}
	return a.opts.Update(ctx, b.service.Name, func(s *apiregistrationv1.APIService) {
		apiservices.SetCondition(s, condition, metav1.NewTime(a.opts.Clock.Now().UTC().Truncate(time.Second)))
	})
}

func unavailable(reason, format string, args ...any) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}

// availability returns the condition Available of an APIService, with upstream's reasons and
// messages.
func (a *Aggregator) availability(ctx context.Context, b *backend) apiregistrationv1.APIServiceCondition {
	ref := b.service.Spec.Service
	service, err := a.serviceOf(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		return unavailable("ServiceNotFound", "service/%s in %q is not present", ref.Name, ref.Namespace)
	case err != nil:
		c := unavailable("ServiceAccessError", "service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)
		c.Status = apiregistrationv1.ConditionUnknown
		return c
	}
	if service.Spec.Type == corev1.ServiceTypeClusterIP && hostaddress.Of(service, portOf(ref)) == "" {
		if missing := a.missingEndpoints(ctx, ref, service); missing != nil {
			return *missing
		}
	}
	_, unresolved := a.opts.Services.ResolveEndpoint(ref.Namespace, ref.Name, portOf(ref))
	if warning, skipped := a.opts.Skips(unresolved); skipped {
		return apiregistrationv1.APIServiceCondition{
			Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: reasonSkipped, Message: warning,
		}
	}
	if err := a.answers(ctx, b); err != nil {
		return unavailable("FailedDiscoveryCheck", "%v", err)
	}
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue, Reason: "Passed", Message: "all checks passed",
	}
}

func (a *Aggregator) serviceOf(ctx context.Context, ref *apiregistrationv1.ServiceReference) (*corev1.Service, error) {
	objects := a.opts.Objects(corev1.SchemeGroupVersion.WithResource("services"))
	obj, err := objects.Get(ctx, objects.Key(ref.Namespace, ref.Name), ref.Name)
	if err != nil {
		return nil, err
	}
	service, ok := obj.(*corev1.Service)
	if !ok {
		return nil, fmt.Errorf("a %T is stored as Service", obj)
	}
	return service, nil
}

// missingEndpoints returns the condition of a Service without the port or without
// addresses; nil if it has both.
func (a *Aggregator) missingEndpoints(ctx context.Context, ref *apiregistrationv1.ServiceReference, service *corev1.Service) *apiregistrationv1.APIServiceCondition {
	wrong := func(reason, format string, args ...any) *apiregistrationv1.APIServiceCondition {
		c := unavailable(reason, format, args...)
		return &c
	}
	port := -1
	for i := range service.Spec.Ports {
		if service.Spec.Ports[i].Port == portOf(ref) {
			port = i
			break
		}
	}
	if port < 0 {
		return wrong("ServicePortError", "service/%s in %q is not listening on port %d", ref.Name, ref.Namespace, portOf(ref))
	}
	listed, err := a.opts.Objects(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).KnownIn(ctx, ref.Namespace)
	if err != nil {
		c := wrong("EndpointsAccessError", "service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)
		c.Status = apiregistrationv1.ConditionUnknown
		return c
	}
	found := false
	for _, obj := range listed {
		slice, ok := obj.(*discoveryv1.EndpointSlice)
		if !ok || slice.Labels[discoveryv1.LabelServiceName] != ref.Name {
			continue
		}
		found = true
		if hasAddress(slice, service.Spec.Ports[port].Name) {
			return nil
		}
	}
	if !found {
		return wrong("EndpointsNotFound", "cannot find endpointslices for service/%s in %q", ref.Name, ref.Namespace)
	}
	return wrong("MissingEndpoints", "endpointslices for service/%s in %q have no addresses with port name %q", ref.Name, ref.Namespace, service.Spec.Ports[port].Name)
}

// hasAddress reports whether a slice has a ready address for a port.
func hasAddress(slice *discoveryv1.EndpointSlice, port string) bool {
	named := false
	for i := range slice.Ports {
		name := ""
		if slice.Ports[i].Name != nil {
			name = *slice.Ports[i].Name
		}
		named = named || name == port
	}
	if !named {
		return false
	}
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		if len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
			return true
		}
	}
	return false
}

// answers returns an error unless the server answers for its version.
func (a *Aggregator) answers(ctx context.Context, b *backend) error {
	gv := b.gv()
	response, err := a.get(ctx, b, versionPath(gv), "application/json")
	at := "https://" + hostOf(b.service.Spec.Service) + versionPath(gv)
	switch {
	case err != nil:
		return fmt.Errorf("failing or missing response from %s: %w", at, err)
	case response.code < http.StatusOK || response.code >= http.StatusMultipleChoices:
		return fmt.Errorf("failing or missing response from %s: %w", at, fmt.Errorf("bad status from %s: %d", at, response.code))
	}
	return nil
}

func versionPath(gv schema.GroupVersion) string { return "/apis/" + gv.Group + "/" + gv.Version }

// reply is the response to a request of a check.
type reply struct {
	code        int
	contentType string
	body        []byte
}

// errTooLarge is the error for a document over outbound.MaxAnswerBytes.
var errTooLarge = errors.New("the response is too large")

// get makes a request of a check.
func (a *Aggregator) get(ctx context.Context, b *backend, path, accept string) (*reply, error) {
	if b.err != nil {
		return nil, b.err
	}
	ref := b.service.Spec.Service
	address, err := a.opts.Services.ResolveEndpoint(ref.Namespace, ref.Name, portOf(ref))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	address.Path = path
	rq, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	rq.Header.Set("Accept", accept)
	carrier := transport.NewAuthProxyRoundTripper(checkUser, "", []string{auth.GroupMasters}, nil, b.transport)
	response, err := carrier.RoundTrip(rq) // redirects are not followed
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() // it is only read
	body, err := readLimited(response.Body)
	if err != nil {
		return nil, err
	}
	return &reply{response.StatusCode, response.Header.Get("Content-Type"), body}, nil
}
