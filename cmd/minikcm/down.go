package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/clock"
)

func newDown() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "down [NAME...]",
		Short: "Stop running clusters",
		Long: `Stop clusters that "minikcm up" runs on this machine, in the foreground or in the background,
and return when they have stopped. "minikcm list" shows their names. Without a name, stop the
only one that runs.`,
		Example: `  minikcm up --name a -d
  minikcm down a`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all && len(args) > 0 {
				return errors.New("give either the names of clusters or --all")
			}
			return nil
		},
		ValidArgsFunction: completeClusters,
		RunE: func(cmd *cobra.Command, names []string) error {
			running, err := runningClusters()
			if err != nil {
				return err
			}
			chosen, err := clustersToStop(running, names, all)
			if err != nil {
				return err
			}
			if len(chosen) == 0 {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), "No cluster is running.")
				return err
			}
			var failed []error
			for _, c := range chosen {
				end := showProgress(cmd.Context(), cmd.ErrOrStderr(), doing("Stopping "+c.Name))
				err := stopRunning(cmd.Context(), c)
				end()
				if err != nil {
					failed = append(failed, err)
					continue
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "Stopped %s.\n", c.Name)
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "stop all running clusters")
	return cmd
}

// clustersToStop selects running clusters by name; without a name, the only one.
func clustersToStop(running []runningCluster, names []string, all bool) ([]runningCluster, error) {
	var known []string
	for i := range running {
		known = append(known, running[i].Name)
	}
	switch {
	case len(names) == 0 && len(running) > 1 && !all:
		return nil, badInput{fmt.Errorf("%d clusters are running: name those to stop (%s), or give --all", len(running), strings.Join(known, ", "))}
	case len(names) == 0:
		return running, nil
	}
	var chosen []runningCluster
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 && len(known) == 0 {
			return nil, badInput{fmt.Errorf("no cluster is running, so there is none with the name %s", name)}
		}
		if i < 0 {
			return nil, badInput{fmt.Errorf("no running cluster has the name %s: there are %s", name, strings.Join(known, ", "))}
		}
		chosen = append(chosen, running[i])
	}
	return chosen, nil
}

// stopTimeout bounds the wait for the end of a cluster, in machine time, and stopRetry is the time
// between two looks.
const (
	stopTimeout = time.Minute
	stopRetry   = 20 * time.Millisecond
)

// stopRunning stops a cluster and waits until it has stopped.
func stopRunning(ctx context.Context, c runningCluster) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("stopping the cluster %s: %w; end its process, %d", c.Name, err, c.PID)
	}
	if config.Host != c.Server {
		return fmt.Errorf("the kubeconfig %s of the cluster %s leads to another one, at %s: end its process, %d", c.Kubeconfig, c.Name, config.Host, c.PID)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("stopping the cluster %s: %w", c.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	err = client.Discovery().RESTClient().Post().AbsPath(stopPath).SetHeader("Accept", "application/json").Do(ctx).Error()
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the cluster %s at %s cannot be stopped in this way: another release of minikcm runs it; end its process, %d", c.Name, c.Server, c.PID)
	case err != nil:
		return fmt.Errorf("asking the cluster %s at %s to stop: %w; its process is %d", c.Name, c.Server, err, c.PID)
	}
	again := clock.Real().NewTicker(stopRetry)
	defer again.Stop()
	for isRegistered(c) || answers(ctx, c.Kubeconfig) {
		select {
		case <-again.C():
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of the cluster %s, process %d: %w", c.Name, c.PID, ctx.Err())
		}
	}
	return nil
}

func isRegistered(c runningCluster) bool {
	running, err := runningClusters()
	return err == nil && slices.ContainsFunc(running, func(other runningCluster) bool { return other.PID == c.PID })
}
