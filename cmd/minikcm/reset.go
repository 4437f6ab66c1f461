package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/clock"
)

func newReset() *cobra.Command {
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Bring a running cluster back to its state at the start",
		Long: `reset brings the cluster that "minikcm up" runs back to its state at the start: all
objects that were made since are gone, those of --from-snapshot and --from-objects are back,
faults are over, and the clock begins anew. The address, the kubeconfig, tokens and the seed stay, and
informers find the new state by themselves. The command returns when the cluster is ready.
A cluster with --data-dir or --etcd-servers is not reset: its state is meant to be kept.`,
		Example: `  minikcm reset
  minikcm reset --kubeconfig ./kubeconfig`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			elapsed := clock.Stopwatch()
			config, err := clientConfig(cmd.Context(), kubeconfig)
			if err != nil {
				return err
			}
			config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("making a client of the cluster: %w", err)
			}
			if err := reset(cmd.Context(), config.Host, client); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The cluster at %s is as it was at its start (%v).\n", config.Host, elapsed().Round(time.Millisecond))
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or what \"minikcm up\" wrote)")
	return cmd
}

// resetTimeout bounds the wait for a cluster that was reset, on the machine's clock.
const resetTimeout = time.Minute

// resetRetry is the delay before a request is made again that no server has accepted.
const resetRetry = 20 * time.Millisecond

// reset asks for a reset and waits until it is over.
func reset(ctx context.Context, host string, client *kubernetes.Clientset) error {
	wanted, err := askReset(ctx, host, client)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	// Between the two clusters nothing listens. A request that is accepted waits on the server.
	again := clock.Real().NewTicker(resetRetry)
	defer again.Stop()
	for {
		data, err := client.Discovery().RESTClient().Get().AbsPath(resetPath).DoRaw(ctx)
		var state resetState
		if err == nil {
			err = json.Unmarshal(data, &state)
		}
		if err == nil && state.Resets >= wanted {
			return nil
		}
		select {
		case <-again.C():
		case <-ctx.Done():
			return fmt.Errorf("waiting until the cluster at %s is ready again: %w", host, errors.Join(ctx.Err(), err))
		}
	}
}

// askReset asks for a reset, and returns how often the cluster will have been reset when it
// is over.
func askReset(ctx context.Context, host string, client *kubernetes.Clientset) (wanted int, err error) {
	result := client.Discovery().RESTClient().Post().AbsPath(resetPath).Do(ctx)
	data, _ := result.Raw()
	var state resetState
	switch err = result.Error(); {
	case apierrors.IsNotFound(err):
		return 0, fmt.Errorf("the cluster at %s cannot be reset: only one that \"minikcm up\" runs can", host)
	case apierrors.IsConflict(err):
		return 0, fmt.Errorf("the cluster at %s cannot be reset: %w", host, err)
	case err != nil:
		return 0, fmt.Errorf("asking the cluster at %s for a reset: %w", host, err)
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return 0, fmt.Errorf("reading what the cluster at %s answers to a reset: %w", host, err)
	}
	return state.Resets, nil
}
