package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	watchtools "k8s.io/client-go/tools/watch"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim"
)

// nodeAdd holds the arguments and flags of "minikcm node add".
type nodeAdd struct {
	kubeconfig string
	names      []string
	count      int
	pool, like string
	spec       minikcm.NodeSpec
	timeout    time.Duration
}

func newNodeAdd() *cobra.Command {
	var add nodeAdd
	cmd := &cobra.Command{
		Use:   "add [NAME...]",
		Short: "Add nodes and wait until they are Ready",
		Long: `Create Nodes in the cluster that "minikcm up" runs, and wait until they are Ready. Without
names, the new names are a prefix and the next free numbers. The prefix is the value of
--pool, or the name of the --like node without its number, or "node".`,
		Example: `  minikcm node add
  minikcm node add --pool small --count 10
  minikcm node add gpu-box --cpu 64 --memory 512Gi --resource nvidia.com/gpu=8 --taint gpu=yes:NoSchedule`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) > 0 && cmd.Flags().Changed("count") {
				return badInput{errors.New("give either names or --count")}
			}
			add.names = names
			if err := add.check(); err != nil {
				return badInput{err}
			}
			return add.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&add.kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	flags.IntVar(&add.count, "count", 1, "number of nodes to add if no names are given")
	flags.StringVar(&add.pool, "pool", "", "name the nodes POOL-N unless names are given, and copy the first node that is named so")
	flags.StringVar(&add.like, "like", "", "copy the labels, taints and resources of this node")
	registerNodeFlags(flags, &add.spec)
	flags.DurationVar(&add.timeout, "timeout", time.Minute, "how long to wait until the nodes are Ready")
	return cmd
}

// check validates the arguments as far as that is possible without a cluster.
func (a *nodeAdd) check() error {
	if a.count < 1 || a.count > minikcm.MaxNodes {
		return fmt.Errorf("--count %d is not between 1 and %d", a.count, minikcm.MaxNodes)
	}
	for _, name := range append(slices.Clone(a.names), cmp.Or(a.pool, "node")) {
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			return fmt.Errorf("%q is not a valid node name: %s", name, wrong[0])
		}
	}
	return a.spec.Validate()
}

func (a *nodeAdd) run(cmd *cobra.Command) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
	defer cancel()
	elapsed := clock.Stopwatch()
	_, client, err := ownClusterOf(ctx, a.kubeconfig)
	if err != nil {
		return err
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	if err := a.settle(list.Items); err != nil {
		return badInput{err}
	}
	progress := &adding{}
	done := showProgressSince(ctx, cmd.ErrOrStderr(), elapsed, progress.text)
	defer done()
	made, err := a.create(ctx, client, list.Items, progress)
	if err != nil {
		return fmt.Errorf("%w (added before that: %s)", err, cmp.Or(strings.Join(made, ", "), "none"))
	}
	err = waitReady(ctx, client, made, progress)
	done()
	if err != nil {
		if ctx.Err() != nil && cmd.Context().Err() == nil {
			return fmt.Errorf("%w within %v; the nodes remain in the cluster, and \"minikcm kubectl describe node\" shows details", err, a.timeout)
		}
		return err
	}
	for _, name := range made {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "node/%s added\n", name); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s Ready after %v\n", count(len(made), "node"), elapsed().Round(time.Millisecond))
	return nil
}

// adding is the progress of nodes that are added.
type adding struct{ created, ready atomic.Int64 }

func (a *adding) text(_ context.Context, elapsed time.Duration) string {
	return fmt.Sprintf("Added %s, %d of them Ready (%v)", count(int(a.created.Load()), "node"), a.ready.Load(), elapsed.Round(time.Second))
}

// settle completes the spec from the node to copy, and checks that no given name is in use.
func (a *nodeAdd) settle(existing []corev1.Node) error {
	like := a.like
	for i := range existing {
		switch name := existing[i].Name; {
		case slices.Contains(a.names, name):
			return fmt.Errorf("node %s already exists; choose another name, or remove it first", name)
		case like == "" && a.pool != "" && poolOf(name) == a.pool:
			like = name // the first one by name: the list is sorted
		}
	}
	if like == "" {
		return nil
	}
	at := slices.IndexFunc(existing, func(n corev1.Node) bool { return n.Name == like })
	if at < 0 {
		return fmt.Errorf("node %s, which --like names, does not exist; \"minikcm kubectl get nodes\" lists the nodes", like)
	}
	a.spec = overridden(kubeletsim.NodeSpecLike(&existing[at]), a.spec)
	return nil
}

// poolOf returns a node's name without its number; empty: it has none.
func poolOf(name string) string {
	pool, _ := kubeletsim.PoolOf(name)
	return pool
}

// create creates the Nodes and returns the names of those created, also on error.
func (a *nodeAdd) create(ctx context.Context, client kubernetes.Interface, existing []corev1.Node, progress *adding) (made []string, err error) {
	create := func(name string) error {
		_, err := client.CoreV1().Nodes().Create(ctx, kubeletsim.NodeFor(name, &a.spec), metav1.CreateOptions{})
		if err == nil {
			made = append(made, name)
			progress.created.Add(1)
			return nil
		}
		return fmt.Errorf("adding node %s: %w", name, err)
	}
	for _, name := range a.names {
		if err := create(name); err != nil {
			return made, err
		}
	}
	if len(a.names) > 0 {
		return made, nil
	}
	base := cmp.Or(a.pool, poolOf(a.like), a.like, "node")
	names := make([]string, len(existing))
	for i := range existing {
		names[i] = existing[i].Name
	}
	for next := nextNumber(base, names); len(made) < a.count; next++ {
		// Skip numbers that another client takes meanwhile.
		if err := create(fmt.Sprintf("%s-%d", base, next)); err != nil && !apierrors.IsAlreadyExists(err) {
			return made, err
		}
	}
	return made, nil
}

// waitReady returns when all nodes are Ready. It fails at once for a node whose Ready
// condition is False, because its kubelet has rejected it, unless the node waits for its network.
func waitReady(ctx context.Context, client kubernetes.Interface, names []string, progress *adding) error {
	pending := map[string]string{} // the reason why each is not Ready
	for _, name := range names {
		pending[name] = "no kubelet has posted its status; has \"minikcm up\" both --nodes 0 and --manage-all-nodes=false?"
	}
	_, err := watchtools.UntilWithSync(ctx, nodesOf(client), &corev1.Node{}, nil, func(ev watch.Event) (bool, error) {
		node, ok := ev.Object.(*corev1.Node)
		if !ok || pending[node.Name] == "" {
			return false, nil
		}
		if ev.Type == watch.Deleted {
			return false, fmt.Errorf("node %s was deleted before it was Ready", node.Name)
		}
		switch ready := readyOf(node); {
		case ready == nil:
		case ready.Status == corev1.ConditionTrue:
			delete(pending, node.Name)
			progress.ready.Add(1)
		case ready.Status == corev1.ConditionFalse && !kubeletsim.AwaitsNetwork(ready):
			return false, fmt.Errorf("node %s is not Ready: %s", node.Name, ready.Message)
		default:
			pending[node.Name] = ready.Message
		}
		return len(pending) == 0, nil
	})
	if err == nil || ctx.Err() == nil || len(pending) == 0 {
		return err
	}
	first := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return pending[name] == "" })[0]
	return fmt.Errorf("%s not Ready, %s first (%s),", count(len(pending), "node"), first, pending[first])
}

func readyOf(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}
