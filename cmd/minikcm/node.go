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
		Short: "Add and remove nodes of a running cluster",
		Long: `Add nodes to the cluster that "minikcm up" runs, or remove them. Use kubectl for everything
else: "minikcm kubectl get nodes" lists the nodes, and Nodes that are created with
"minikcm kubectl apply" are simulated, too.`,
		Args: aCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNodeAdd(), newNodeRemove())
	return cmd
}

// ownClusterOf is clusterOf for operations that only a minikcm cluster supports. It fails for
// any other cluster: there, an added Node would have no machine, and a removed Node would be
// a real one.
func ownClusterOf(ctx context.Context, kubeconfig string) (*rest.Config, *kubernetes.Clientset, error) {
	if _, err := controllersOf(ctx, kubeconfig); err != nil {
		return nil, nil, err
	}
	return clusterOf(ctx, kubeconfig)
}

// nodesOf lists and watches all Nodes; podsOn, the pods that are bound to one node.
func nodesOf(client kubernetes.Interface) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", corev1.NamespaceAll, fields.Everything())
}

func podsOn(client kubernetes.Interface, node string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", corev1.NamespaceAll, fields.OneTermEqualSelector("spec.nodeName", node))
}
