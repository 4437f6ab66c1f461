package process

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	config "k8s.io/controller-manager/config"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/klog/v2"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/events"
)

// clientConfig loads a kubeconfig and applies the settings of the client connection.
func (o *Options) clientConfig(kubeconfig string, c *config.GenericControllerManagerConfiguration) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{}
	overrides.ClusterInfo.Server = o.Master
	loaded, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig (name one with --kubeconfig): %w", err)
	}
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return nil, fmt.Errorf("reading the files that the kubeconfig names: %w", err)
	}
	loaded.QPS, loaded.Burst = c.ClientConnection.QPS, int(c.ClientConnection.Burst)
	if loaded.QPS == 0 {
		loaded.QPS = -1 // none
	}
	loaded.ContentType = c.ClientConnection.ContentType
	loaded.AcceptContentTypes = loaded.ContentType + ",application/json"
	return loaded, nil
}

// newEnv returns an environment for the controllers on real time.
func (o *Options) newEnv(cluster *rest.Config) (*controllers.Env, error) {
	kinds, err := informers.KindsFor(cluster, nil)
	if err != nil {
		return nil, err
	}
	recorder, err := newRecorder(cluster)
	if err != nil {
		return nil, err
	}
	e := &controllers.Env{
		Clock: clock.Real(), Random: clock.NewRandom(clock.NewSeed()), Config: cluster, RootCA: cluster.CAData,
		Informers: kinds, Logger: klog.Background(), Recorder: recorder,
	}
	if err := o.readKeys(e); err != nil {
		return nil, err
	}
	if o.OwnAccounts {
		client, err := clientFor(cluster, "service-account-credentials")
		if err != nil {
			return nil, err
		}
		builder := clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(cluster), client.CoreV1(), "kube-system")
		e.Account = builder.Config
	}
	return e, nil
}

// newRecorder returns a recorder of events with a client of its own, so that events do not
// queue behind the requests of the controllers.
func newRecorder(cluster *rest.Config) (*events.Recorder, error) {
	client, err := clientFor(cluster, "event-recorder")
	if err != nil {
		return nil, err
	}
	return events.NewRecorder(client.CoreV1(), clock.Real(), nil, clock.NewRandom(clock.NewSeed()), "minikcm"), nil
}

func clientFor(cluster *rest.Config, name string) (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(cluster), name))
	if err != nil {
		return nil, fmt.Errorf("making the client for %s: %w", name, err)
	}
	return client, nil
}
