package aggregator

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"minikcm.dev/minikcm/apiserver/internal/apiservices"
)

// set has the servers of other APIs at one version of the APIServices. It is immutable.
type set struct {
	version  int64
	backends map[schema.GroupVersion]*backend
}

// backend is the server of one version. It is immutable, and replaced when its APIService
// changes.
type backend struct {
	service *apiregistrationv1.APIService
	// transport makes requests without a user; err says why there is none.
	transport http.RoundTripper
	err       error
}

func (b *backend) gv() schema.GroupVersion {
	return schema.GroupVersion{Group: b.service.Spec.Group, Version: b.service.Spec.Version}
}

// available reports whether the last check passed.
func (b *backend) available() bool {
	for _, c := range b.service.Status.Conditions {
		if c.Type == apiregistrationv1.Available {
			return c.Status == apiregistrationv1.ConditionTrue && c.Reason != apiservices.ReasonLocal // it may have been local
		}
	}
	return false
}

func (b *backend) close() {
	if b.transport != nil {
		utilnet.CloseIdleConnectionsFor(b.transport)
	}
}

// servers returns the set that includes every write of this process.
func (a *Aggregator) servers(ctx context.Context) (*set, error) {
	objects := a.opts.Objects(apiservices.Resource())
	version := objects.Version()
	if known := a.known.Load(); known.version == version {
		return known, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.known.Load()
	if before.version == version {
		return before, nil
	}
	listed, err := objects.KnownIn(ctx, "")
	if err != nil {
		return nil, err
	}
	next := &set{version: version, backends: map[schema.GroupVersion]*backend{}}
	kept := map[http.RoundTripper]bool{}
	for _, obj := range listed {
		s, ok := obj.(*apiregistrationv1.APIService)
		if !ok || s.Spec.Service == nil {
			continue
		}
		b := a.backendOf(s, before)
		kept[b.transport] = true
		next.backends[b.gv()] = b
	}
	a.known.Store(next)
	for _, b := range before.backends {
		if !kept[b.transport] {
			b.close()
		}
	}
	return next, nil
}

// backendOf returns the backend of an APIService, with the earlier transport if that still
// fits.
func (a *Aggregator) backendOf(s *apiregistrationv1.APIService, before *set) *backend {
	b := &backend{service: s}
	if old := before.backends[b.gv()]; old != nil && apiequality.Semantic.DeepEqual(old.service.Spec, s.Spec) {
		b.transport, b.err = old.transport, old.err
		return b
	}
	b.transport, b.err = a.transportFor(&s.Spec)
	return b
}

func (a *Aggregator) transportFor(spec *apiregistrationv1.APIServiceSpec) (http.RoundTripper, error) {
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{
		Insecure: spec.InsecureSkipTLSVerify, CAData: spec.CABundle, ServerName: spec.Service.Name + "." + spec.Service.Namespace + ".svc",
	}}
	if a.opts.Client != nil {
		key, err := a.opts.Client.KeyPEM()
		if err != nil {
			return nil, err
		}
		config.CertData, config.KeyData = a.opts.Client.CertPEM(), key
	}
	// client-go shares transports of equal configurations between callers, which must not
	// close their connections. A dialer of its own makes this one unique.
	dialer := &net.Dialer{}
	config.Dial = dialer.DialContext
	a.opts.Inside.Wrap(config, spec.Service.Namespace, spec.Service.Name, portOf(spec.Service))
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("configuring the connection to service/%s in %q: %w", spec.Service.Name, spec.Service.Namespace, err)
	}
	return transport, nil
}

// backend returns the server of a version; nil if no other server has it.
func (a *Aggregator) backend(ctx context.Context, gv schema.GroupVersion) *backend {
	now, err := a.servers(ctx)
	if err != nil {
		now = a.known.Load() // the store fails: the last known state is the best one
	}
	b := now.backends[gv]
	if b == nil || a.opts.IsLocal(gv) {
		return nil
	}
	return b
}

// find returns the backend of an APIService; nil if it refers to no Service.
func (a *Aggregator) find(name string) *backend {
	for _, b := range a.known.Load().backends {
		if b.service.Name == name {
			return b
		}
	}
	return nil
}

// portOf returns the port of a reference to a Service.
func portOf(ref *apiregistrationv1.ServiceReference) int32 {
	if ref.Port == nil {
		return 443
	}
	return *ref.Port
}

// hostOf returns the name of a Service in URLs.
func hostOf(ref *apiregistrationv1.ServiceReference) string {
	return net.JoinHostPort(ref.Name+"."+ref.Namespace+".svc", strconv.Itoa(int(portOf(ref))))
}
