package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

func newList() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the running clusters on this machine",
		Long: `List the clusters that "minikcm up" runs for the current user: their names, clocks, Ready
nodes and all nodes, addresses, live pages and kubeconfigs. --kubeconfig of other commands takes
the name of a cluster, too.`,
		Example: `  minikcm list
  minikcm list -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return badInput{fmt.Errorf("--output=%s: must be json or omitted", output)}
			}
			all, err := runningClusters()
			if err != nil {
				return err
			}
			listed := listClusters(cmd.Context(), all)
			if output == "json" {
				return printJSON(cmd.OutOrStdout(), listed)
			}
			return printClusters(cmd.OutOrStdout(), cmd.ErrOrStderr(), listed)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json (default text)")
	return cmd
}

// listedCluster is a running cluster with its answers.
type listedCluster struct {
	runningCluster
	// Nodes are the numbers of its nodes; nil: it does not answer.
	Nodes *nodeCounts `json:"nodes,omitempty"`
}

// listClusters asks clusters for their nodes and clocks, all at once.
func listClusters(ctx context.Context, all []runningCluster) []listedCluster {
	listed := make([]listedCluster, len(all))
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() { listed[i] = askCluster(ctx, all[i]) })
	}
	asking.Wait()
	return listed
}

func printClusters(out, errOut io.Writer, all []listedCluster) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(errOut, `No cluster is running. "minikcm up" starts one.`)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tCLOCK\tNODES\tAGE\tSERVER\tPAGE\tKUBECONFIG\tPID\tDATA-DIR")
	now := clock.Real().Now()
	for i := range all {
		c, nodes := &all[i], "-"
		if c.Nodes != nil {
			nodes = fmt.Sprintf("%d/%d", c.Nodes.Ready, c.Nodes.Total)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, cmp.Or(c.Clock, "-"), nodes, duration.HumanDuration(now.Sub(c.Started)), c.Server,
			cmp.Or(c.Page, "-"), c.Kubeconfig, c.PID, cmp.Or(c.DataDir, "-"))
	}
	return w.Flush()
}

// listTimeout bounds the time in which a cluster must answer.
const listTimeout = 2 * time.Second

// askCluster asks a cluster for its nodes, and for its clock, whose speed may have changed since the
// registration. What it does not answer stays as it is.
func askCluster(ctx context.Context, c runningCluster) listedCluster {
	listed := listedCluster{runningCluster: c}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return listed
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return listed
	}
	if nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"}); err == nil {
		counts := countNodes(nodes.Items)
		listed.Nodes = &counts
	}
	if faults, err := faultapi.NewClient(config); err == nil {
		if info, err := faults.Info(ctx); err == nil {
			listed.Clock = clockMode(&info.Clock)
		}
	}
	return listed
}
