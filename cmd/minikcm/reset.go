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
		Short: "Reset a running cluster to its initial state",
		Long: `Reset the cluster that "minikcm up" runs to its initial state: objects created since the
start are removed, the objects of --from-snapshot and --from-objects are restored, faults
are stopped, and the clock starts again. The address, the kubeconfig, tokens and the seed
stay the same, and informers recover without a restart of their programs. The command
returns when the cluster is ready. A cluster with --data-dir or --etcd-servers cannot be
reset, because its state is meant to be kept.`,
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
				return fmt.Errorf("creating a client for the cluster: %w", err)
			}
			end := showProgress(cmd.Context(), cmd.ErrOrStderr(), doing("Resetting the cluster"))
			err = reset(cmd.Context(), config.Host, client)
			end()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Reset the cluster at %s to its initial state in %v.\n", config.Host, elapsed().Round(time.Millisecond))
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	return cmd
}

// resetTimeout bounds the wait for the end of a reset, in machine time.
const resetTimeout = time.Minute

// resetRetry is the delay before a refused connection is retried, in machine time.
const resetRetry = 20 * time.Millisecond

// reset requests a reset and waits until it is complete.
func reset(ctx context.Context, host string, client *kubernetes.Clientset) error {
	wanted, err := askReset(ctx, host, client)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resetTimeout)
	defer cancel()
	// Between the end of the old cluster and the start of the new one, connections are refused,
	// so this retries. Once a server accepts the request, it responds when it is ready.
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
			return fmt.Errorf("waiting for the cluster at %s to become ready after the reset: %w", host, errors.Join(ctx.Err(), err))
		}
	}
}

// askReset requests a reset. It returns the number of resets that the cluster reports once
// this one is complete.
func askReset(ctx context.Context, host string, client *kubernetes.Clientset) (wanted int, err error) {
	result := client.Discovery().RESTClient().Post().AbsPath(resetPath).Do(ctx)
	data, _ := result.Raw()
	var state resetState
	switch err = result.Error(); {
	case apierrors.IsNotFound(err):
		return 0, fmt.Errorf("the cluster at %s cannot be reset: only clusters of \"minikcm up\" can", host)
	case apierrors.IsConflict(err):
		return 0, fmt.Errorf("the cluster at %s cannot be reset: %w", host, err)
	case err != nil:
		return 0, fmt.Errorf("requesting a reset of the cluster at %s: %w", host, err)
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return 0, fmt.Errorf("decoding the response of the cluster at %s to the reset: %w", host, err)
	}
	return state.Resets, nil
}
