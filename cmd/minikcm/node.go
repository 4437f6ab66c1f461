package main

import (
	"context"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func newNode() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Add nodes to a running cluster, and remove them",
		Long: `node adds nodes to the cluster that "minikcm up" runs, and removes them. All else
is kubectl's: "minikcm kubectl get nodes" lists them, and a Node that is applied with
it is simulated, too.`,
		Args: aCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	addStrict(cmd, newNodeAdd(), newNodeRemove())
	return cmd
}

// ownClusterOf is clusterOf for what is only to be done to a cluster of minikcm's: Nodes
// without machines would be of no use to any other, and the loss of one a loss.
func ownClusterOf(ctx context.Context, kubeconfig string) (*rest.Config, *kubernetes.Clientset, error) {
	if _, err := controllersOf(ctx, kubeconfig); err != nil {
		return nil, nil, err
	}
	return clusterOf(ctx, kubeconfig)
}

// nodesOf lists and watches all Nodes, podsOn the pods that are bound to one.
func nodesOf(client kubernetes.Interface) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", corev1.NamespaceAll, fields.Everything())
}

func podsOn(client kubernetes.Interface, node string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", node))
}
