package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/outside"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
)

func newStatus() *cobra.Command {
	var kubeconfig, output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a summary of a running cluster",
		Long: `Show the address, the clock and the seed of the cluster that "minikcm up" runs, its nodes
and pods by state, the controllers that fail, and the active faults.`,
		Example: `  minikcm status
  minikcm status -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains([]string{"", "json", "yaml"}, output) {
				return badInput{fmt.Errorf("--output=%s: must be json or yaml, or omitted", output)}
			}
			status, err := statusOf(cmd.Context(), kubeconfig)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch output {
			case "json":
				return printJSON(out, status)
			case "yaml":
				return printYAML(out, status)
			}
			return status.print(out)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml (default text)")
	return cmd
}

// clusterStatus is the output of "minikcm status"; its JSON is documented in docs/cli.md.
type clusterStatus struct {
	// Name is the name of a cluster of "minikcm up" on this machine.
	Name       string `json:"name,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Server     string `json:"server"`
	minikcm.Info
	Nodes nodeCounts `json:"nodes"`
	// Pods counts pods by the status that kubectl prints: Terminating for pods that are being
	// deleted, and the phase for the others.
	Pods        map[string]int   `json:"pods"`
	Controllers controllerCounts `json:"controllers"`
	// Faults are the faults that are not over.
	Faults []faultapi.Injection `json:"faults"`
	// Entrances are the ways into the cluster's network that --proxy and --publish open.
	Entrances *outside.Entrances `json:"entrances,omitempty"`
}

// nodeCounts counts Nodes. NotReady and Cordoned are names.
type nodeCounts struct {
	Total    int      `json:"total"`
	Ready    int      `json:"ready"`
	NotReady []string `json:"notReady,omitempty"`
	Cordoned []string `json:"cordoned,omitempty"`
}

// controllerCounts counts controllers by their state. Failing are the controllers with keys
// whose last reconcile failed.
type controllerCounts struct {
	States  map[controllers.State]int `json:"states"`
	Failing []string                  `json:"failing,omitempty"`
}

// statusOf gets the status of a kubeconfig's cluster.
func statusOf(ctx context.Context, kubeconfig string) (*clusterStatus, error) {
	chosen, err := choose(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	config := chosen.config
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the cluster: %w", err)
	}
	faults, err := faultapi.NewClient(config)
	if err != nil {
		return nil, err
	}
	info, err := faults.Info(ctx)
	if err != nil {
		return nil, err
	}
	status := &clusterStatus{Name: chosen.name, Kubeconfig: chosen.kubeconfig, Server: config.Host, Info: *info, Faults: []faultapi.Injection{}}
	if info.Has(faultapi.Feature) {
		if status.Faults, err = activeFaults(ctx, faults); err != nil {
			return nil, err
		}
	}
	if info.Has(outside.Feature) {
		if status.Entrances, err = outside.Get(ctx, client.Discovery().RESTClient()); err != nil {
			return nil, err
		}
	}
	controllers, err := controllersAt(ctx, config, client)
	if err != nil {
		return nil, err
	}
	status.Controllers = countControllers(controllers)
	return status, status.count(ctx, config, client)
}

func activeFaults(ctx context.Context, client *faultapi.Client) ([]faultapi.Injection, error) {
	list, err := client.List(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(i faultapi.Injection) bool { return i.State.Done() }), nil
}

// count counts the nodes and pods in the server's watch cache.
func (s *clusterStatus) count(ctx context.Context, config *rest.Config, client *kubernetes.Clientset) error {
	cached := metav1.ListOptions{ResourceVersion: "0"}
	nodes, err := client.CoreV1().Nodes().List(ctx, cached)
	if err != nil {
		return fmt.Errorf("listing the nodes of the cluster at %s: %w", config.Host, err)
	}
	pods, err := client.CoreV1().Pods("").List(ctx, cached)
	if err != nil {
		return fmt.Errorf("listing the pods of the cluster at %s: %w", config.Host, err)
	}
	s.Nodes, s.Pods = countNodes(nodes.Items), countPods(pods.Items)
	return nil
}

func countNodes(nodes []corev1.Node) nodeCounts {
	counts := nodeCounts{Total: len(nodes)}
	for i := range nodes {
		node := &nodes[i]
		if isReady(node) {
			counts.Ready++
		} else {
			counts.NotReady = append(counts.NotReady, node.Name)
		}
		if node.Spec.Unschedulable {
			counts.Cordoned = append(counts.Cordoned, node.Name)
		}
	}
	return counts
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func countPods(pods []corev1.Pod) map[string]int {
	counts := map[string]int{}
	for i := range pods {
		state := string(pods[i].Status.Phase)
		if pods[i].DeletionTimestamp != nil {
			state = "Terminating"
		}
		counts[state]++
	}
	return counts
}

func countControllers(all []controllers.Status) controllerCounts {
	counts := controllerCounts{States: map[controllers.State]int{}}
	for i := range all {
		counts.States[all[i].State]++
		if len(all[i].Failing) > 0 {
			counts.Failing = append(counts.Failing, all[i].Name)
		}
	}
	return counts
}

// atClock formats the cluster's clock: its mode and time.
func atClock(info *minikcm.ClockInfo) string {
	return fmt.Sprintf("%s, %s", clockMode(info), info.Now.UTC().Format(time.RFC3339))
}

// clockMode formats the mode of a clock, such as virtual=1.
func clockMode(info *minikcm.ClockInfo) string {
	text := string(info.Mode)
	if info.Factor > 0 {
		text += fmt.Sprintf("=%v", info.Factor)
	}
	if info.Paused {
		text += " (paused)"
	}
	return text
}
