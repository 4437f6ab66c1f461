// Package connect loads the configuration of a cluster as kubectl does.
package connect

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config returns the configuration of the cluster that KUBECONFIG or ~/.kube/config names.
func Config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}

// Main calls run with a cluster's configuration, until it returns or Ctrl-C is pressed. It
// ends the program with exit code 1 if run returns an error.
func Main(run func(ctx context.Context, config *rest.Config) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := Config()
	if err == nil {
		err = run(ctx, config)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
