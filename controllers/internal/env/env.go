package env

import (
	"crypto/tls"
	"fmt"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/events"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/objectclient"
)

// Env is the environment of the controllers of one process.
type Env struct {
	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	// Config connects to the apiserver. It is copied, never changed.
	Config *rest.Config
	// RootCA is the PEM bundle with which pods verify the API server. If it is empty,
	// RootCertificates takes the bundle of Config; a Config for the in-memory transport has none.
	RootCA []byte
	// MintToken returns the token for a secret of type kubernetes.io/service-account-token;
	// nil: this process has no key to sign it.
	MintToken func(account *corev1.ServiceAccount, secret string) (string, error)
	// Authority signs certificates; nil: this process has no key to sign them.
	Authority *tls.Certificate
	// Informers are shared by all controllers. A constructor requests the informers that it
	// needs; StartInformers starts them.
	Informers informers.Kinds
	Logger    klog.Logger
	// Heartbeats knows the heartbeats that are not written; nil: all are.
	Heartbeats *heartbeats.Elision
	// Recorder writes events. A controller gets its own recorder with Recorder.For(its
	// name). Nil: nothing writes events.
	Recorder *events.Recorder
	// Metrics provides the metrics of the queues; nil: the provider that client-go's
	// workqueue was given, if any.
	Metrics workqueue.MetricsProvider
	// Registry has the metrics of controllers; nil: they are not read.
	Registry prometheus.Registerer
	// LoadBalancers is the network of the IPv4 addresses of load balancers; not valid: the default.
	LoadBalancers netip.Prefix
	// Workers overrides the number of workers of a loop, by the loop's name.
	Workers map[string]int
	// Loops, if not nil, registers every loop that is made.
	Loops *loop.Registry
	// Account returns credentials of a service account in a configuration that the caller
	// may change; nil: all controllers use Config.
	Account func(name string) (*rest.Config, error)
	// AccountOf maps the name of a controller to the name of its service account.
	AccountOf map[string]string

	// informersEnd is closed when the informers must end; nil before Begin.
	informersEnd <-chan struct{}
}

// UserAgentPrefix precedes a controller's name in its user agent.
const UserAgentPrefix = "minikcm/"

// ConfigFor returns a copy of the configuration for the controller of that name: with its
// user agent and service account, and with a transport that sends the causes of writes and makes a reconcile stop before them.
func (e *Env) ConfigFor(name string) (*rest.Config, error) {
	config := rest.CopyConfig(e.Config)
	if account, ok := e.AccountOf[name]; ok && e.Account != nil {
		var err error
		if config, err = e.Account(account); err != nil {
			return nil, fmt.Errorf("getting the credentials of the service account %s for %s: %w", account, name, err)
		}
	}
	config.UserAgent = UserAgentPrefix + name
	config.Wrap(cause.Wrap)
	config.Wrap(loop.StopWrites)
	return config, nil
}

// ClientFor returns a client for the controller of that name, and the configuration of the
// client.
func (e *Env) ClientFor(name string) (kubernetes.Interface, *rest.Config, error) {
	config, err := e.ConfigFor(name)
	if err != nil {
		return nil, nil, err
	}
	client, err := objectclient.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of %s: %w", name, err)
	}
	return client, config, nil
}

// RootCertificates returns the PEM bundle with which pods verify the API server: RootCA, or
// else the certificates with which a client verifies it. Empty means that there are neither.
// It loads the files that config names.
func (e *Env) RootCertificates(config *rest.Config) ([]byte, error) {
	if len(e.RootCA) > 0 {
		return e.RootCA, nil
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("reading the certificates that verify the API server: %w", err)
	}
	return config.CAData, nil
}

// LoopOptions returns the options of a controller's loop. workers is the number of workers unless
// Workers overrides it.
func (e *Env) LoopOptions(name string, workers int) loop.Options {
	if n := e.Workers[name]; n > 0 {
		workers = n
	}
	return loop.Options{
		Name:     name,
		Workers:  workers,
		Clock:    e.Clock,
		Ledger:   e.Ledger,
		Random:   e.Random,
		Logger:   e.Logger,
		Metrics:  e.Metrics,
		Registry: e.Loops,
	}
}
