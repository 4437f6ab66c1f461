package main

import (
	"cmp"
	"context"
	"encoding/json"
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
			if output == "json" {
				data, err := json.MarshalIndent(all, "", "    ")
				return write(cmd.OutOrStdout(), append(data, '\n'), err)
			}
			return printClusters(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), all)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json (default text)")
	return cmd
}

func printClusters(ctx context.Context, out, errOut io.Writer, all []runningCluster) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(errOut, `No cluster is running. "minikcm up" starts one.`)
		return err
	}
	nodes := make([]string, len(all))
	var asking sync.WaitGroup
	for i := range all {
		asking.Go(func() { nodes[i] = nodeCountOf(ctx, all[i].Kubeconfig) })
	}
	asking.Wait()
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tCLOCK\tNODES\tAGE\tSERVER\tPAGE\tKUBECONFIG\tPID\tDATA-DIR")
	now := clock.Real().Now()
	for i, c := range all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, cmp.Or(c.Clock, "-"), nodes[i], duration.HumanDuration(now.Sub(c.Started)), c.Server,
			cmp.Or(c.Page, "-"), c.Kubeconfig, c.PID, cmp.Or(c.DataDir, "-"))
	}
	return w.Flush()
}

// nodesTimeout bounds the time that counting the nodes of a cluster may take.
const nodesTimeout = 2 * time.Second

// nodeCountOf returns the number of Ready nodes and that of all, such as 2/3; "-" if the cluster does not
// answer.
func nodeCountOf(ctx context.Context, kubeconfig string) string {
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "-"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "-"
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return "-"
	}
	counts := countNodes(nodes.Items)
	return fmt.Sprintf("%d/%d", counts.Ready, counts.Total)
}
