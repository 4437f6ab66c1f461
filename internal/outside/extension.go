package outside

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/internal/proxyserver"
)

const (
	// Feature is the name of the extension, and Path where it is served.
	Feature = "entrances"
	Path    = "/minikcm/v1/" + Feature
)

// Options select the ways in. The zero value has none.
type Options struct {
	// Proxy serves a proxy on a port of 127.0.0.1.
	Proxy bool
	// Publish lets the ports of load balancers and the node ports listen on the loopback interface.
	Publish bool
	Logger  klog.Logger
}

// Entrances are the ways into a cluster's network from outside.
type Entrances struct {
	// Proxy is the address of the proxy; empty: there is none.
	Proxy string `json:"proxy,omitempty"`
	// Publishes reports whether Services are published, and Services are their ports.
	Publishes bool        `json:"publishes"`
	Services  []Published `json:"services"`
}

// LoadBalancers returns the network of load balancers of a cluster that publishes them: on Linux, a network of the loopback
// interface that differs for most seeds, so that several clusters can publish theirs. Elsewhere that has one address, and empty
// means the usual network.
func LoadBalancers(seed uint64) string {
	if runtime.GOOS != "linux" {
		return ""
	}
	const first, networks = 64, 128
	return fmt.Sprintf("127.%d.0.0/16", first+seed%networks)
}

// Extension opens the ways into the clusters of a process that run one after the other. The proxy keeps its port.
func Extension(opts Options) minikcm.Extension {
	port := 0
	return minikcm.Extension{Name: Feature, Start: func(ctx context.Context, cluster *minikcm.Cluster) (minikcm.ExtensionHandler, error) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		s := &Service{cancel: cancel, join: func(e *entrance, conn net.Conn, to proxyserver.Route) {
			e.connections.Serve(ctx, conn, to.Join)
		}}
		s.lazy.begin = func() *entrance { return newEntrance(ctx, cluster, opts.Logger) }
		if !opts.Proxy && !opts.Publish {
			return s, nil
		}
		entrance, err := s.lazy.get()
		if err == nil && opts.Proxy {
			if s.proxy, err = entrance.listenProxy(ctx, port); err == nil {
				port = s.proxy.Port()
			}
		}
		if err == nil && opts.Publish {
			s.publisher, err = entrance.publish(ctx, cluster)
		}
		if err != nil {
			_ = s.Close()
			return nil, err
		}
		return s, nil
	}}
}

// Get asks a running cluster.
func Get(ctx context.Context, client rest.Interface) (*Entrances, error) {
	data, err := client.Get().AbsPath(Path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("the cluster does not serve %s: run it with this version of \"minikcm up\"", Path)
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the ways into the cluster's network: %w", err)
	}
	all := &Entrances{}
	if err := json.Unmarshal(data, all); err != nil {
		return nil, fmt.Errorf("reading the ways into the cluster's network: %w", err)
	}
	return all, nil
}

// Service has the ways into one cluster. GET returns its Entrances, and PodPath makes connections of pods.
type Service struct {
	cancel context.CancelFunc
	// join serves a connection of a pod, which outlives the request that has made it.
	join      func(e *entrance, conn net.Conn, to proxyserver.Route)
	lazy      lazily
	proxy     *proxyserver.Proxy
	publisher *publisher
	requests  openrequests.Group
}

// Entrances returns the ways in.
func (s *Service) Entrances() *Entrances {
	all := &Entrances{Publishes: s.publisher != nil, Services: []Published{}}
	if s.proxy != nil {
		all.Proxy = s.proxy.Address()
	}
	if s.publisher != nil {
		all.Services = s.publisher.published()
	}
	return all
}

var errClosing = apierrors.NewServiceUnavailable("the cluster is closing")

// ServeHTTP implements minikcm.ExtensionHandler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Serve(w, r, errClosing, minikcm.WriteError, func(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
		if strings.HasPrefix(r.URL.Path, Path+"/pods/") {
			return s.connect(ctx, w, r)
		}
		if r.Method != http.MethodGet {
			return openrequests.NotAllowed(w, r, schema.GroupResource{Group: "minikcm.dev", Resource: Feature}, http.MethodGet)
		}
		openrequests.Answer(w, http.StatusOK, s.Entrances())
		return nil
	})
}

// Close implements minikcm.ExtensionHandler.
func (s *Service) Close() error {
	s.requests.Close()
	s.cancel()
	if s.publisher != nil {
		s.publisher.close()
	}
	if s.proxy != nil {
		s.proxy.Close()
	}
	s.lazy.end()
	return nil
}
