package env

import (
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/events"
	"minikcm.dev/minikcm/controllers/loop"
)

// Env is the world of the controllers of one process.
type Env struct {
	Clock  clock.Clock
	Ledger *clock.Ledger
	Random *clock.Random
	// Config reaches the apiserver. It is copied, never changed.
	Config *rest.Config
	// RootCA is the PEM bundle by which pods verify the apiserver; empty: the one in
	// Config. A Config that reaches the apiserver in process cannot hold any.
	RootCA []byte
	// MintToken makes the token that a secret of type kubernetes.io/service-account-token
	// holds; nil: this process has no key to sign it with.
	MintToken func(account *corev1.ServiceAccount, secret string) (string, error)
	// Authority signs certificates; nil: this process has no key to sign them with.
	Authority *tls.Certificate
	// Informers are shared by all controllers. A constructor asks for what it
	// needs; the manager starts the factory when all are made.
	Informers informers.SharedInformerFactory
	Logger    klog.Logger
	// Recorder writes events. A controller takes its own face of it with
	// Recorder.For(its name); the manager runs it.
	Recorder *events.Recorder
	// Metrics receives the queues' figures; nil: the provider that client-go's
	// workqueue was given, if any.
	Metrics workqueue.MetricsProvider
	// Workers is how many keys the loop of a name works on at once, if it is to be
	// another number than its controller's own.
	Workers map[string]int
	// Loops is told of the loops that are made; nil: nobody is.
	Loops *loop.Registry
	// Account is whom a controller acts as; nil: as Config says. It is given the
	// name of a service account, and returns a configuration that is the caller's own.
	Account func(name string) (*rest.Config, error)
	// AccountOf has the service account of each controller's name.
	AccountOf map[string]string
}

// UserAgentPrefix stands before a controller's name in its user agent.
const UserAgentPrefix = "minikcm/"

// ConfigFor returns a copy of the configuration for the controller of that name:
// with its user agent and its service account, and with a transport that passes on
// the causes of writes.
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
	return config, nil
}

// ClientFor returns a client for the controller of that name, and the
// configuration that it was made from.
func (e *Env) ClientFor(name string) (kubernetes.Interface, *rest.Config, error) {
	config, err := e.ConfigFor(name)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of %s: %w", name, err)
	}
	return client, config, nil
}

// Loop returns the options of a controller's loop with so many workers, unless
// Workers knows better.
func (e *Env) Loop(name string, workers int) loop.Options {
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
