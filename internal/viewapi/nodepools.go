package viewapi

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/openrequests"
	"minikcm.dev/minikcm/kubeletsim"
)

// poolStatus is the status of a NodePool, which nodepool.yaml describes.
type poolStatus struct {
	Nodes         int `json:"nodes"`
	ReadyNodes    int `json:"readyNodes"`
	Unschedulable int `json:"unschedulableNodes,omitempty"`
}

//go:embed nodepool.yaml
var poolDefinition []byte

// poolKind is the kind of pools, and poolResource its resource.
var (
	poolKind     = schema.GroupKind{Group: group, Kind: "NodePool"}
	poolResource = schema.GroupResource{Group: group, Resource: "nodepools"}
)

// nodePools are the pools as objects of the API.
type nodePools struct {
	cluster *minikcm.Cluster
	news    openrequests.News

	// scaling is held while Nodes are created or deleted.
	scaling sync.Mutex

	mu sync.Mutex
	// templates are the templates of the pools whose nodes alone do not show them.
	templates map[string]template
	// last are the nodes of the pools as they were read last.
	last map[string][]*corev1.Node
}

func newNodePools(cluster *minikcm.Cluster) *nodePools {
	return &nodePools{cluster: cluster, templates: templatesOf(cluster.Kubelets().Pools())}
}

// Now implements minikcm.LiveObjects.
func (o *nodePools) Now() []minikcm.LiveObject {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	members, err := o.members(ctx)
	o.mu.Lock()
	if err != nil { // by a fault of the API server or of etcd: the last ones
		members = o.last
	}
	o.last = members
	templates := maps.Clone(o.templates)
	o.mu.Unlock()
	for name, nodes := range members {
		if _, known := templates[name]; !known {
			templates[name] = templateLike(name, nodes[0])
		}
	}
	all := make([]minikcm.LiveObject, 0, len(templates))
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		spec := maps.Clone(templates[name].fields)
		spec["nodes"] = len(members[name])
		object := minikcm.LiveObject{Name: name, Spec: spec, Status: statusOf(members[name])}
		if len(members[name]) > 0 {
			object.Created = members[name][0].CreationTimestamp
		}
		all = append(all, object)
	}
	return all
}

// members returns the nodes of each pool, by their numbers.
func (o *nodePools) members(ctx context.Context) (map[string][]*corev1.Node, error) {
	list, err := o.cluster.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the nodes: %w", err)
	}
	all := map[string][]*corev1.Node{}
	for i := range list.Items {
		node := &list.Items[i]
		if pool, _ := kubeletsim.PoolOf(node.Name); pool != "" {
			all[pool] = append(all[pool], node)
		}
	}
	for _, nodes := range all {
		slices.SortFunc(nodes, func(a, b *corev1.Node) int { return numberOf(a) - numberOf(b) })
	}
	return all, nil
}

func numberOf(node *corev1.Node) int {
	_, number := kubeletsim.PoolOf(node.Name)
	return number
}

func statusOf(nodes []*corev1.Node) poolStatus {
	s := poolStatus{Nodes: len(nodes)}
	for _, node := range nodes {
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				s.ReadyNodes++
			}
		}
		if node.Spec.Unschedulable {
			s.Unschedulable++
		}
	}
	return s
}

// Changed implements minikcm.LiveObjects.
func (o *nodePools) Changed() <-chan struct{} { return o.news.Wait() }

// Create implements minikcm.LiveCreator.
func (o *nodePools) Create(ctx context.Context, name string, data []byte, dryRun bool) error {
	made, count, err := parse(name, data)
	if err != nil || dryRun {
		return err
	}
	o.mu.Lock()
	o.templates[name] = made
	o.mu.Unlock()
	defer o.news.Publish()
	return o.scale(ctx, made.pool, count)
}

// Apply implements minikcm.LiveObjects.
func (o *nodePools) Apply(ctx context.Context, name string, data []byte, dryRun bool) error {
	is, count, err := parse(name, data)
	if err != nil {
		return err
	}
	o.mu.Lock()
	was, known := o.templates[name]
	o.mu.Unlock()
	if !known {
		members, err := o.members(ctx)
		if err != nil {
			return err
		}
		if len(members[name]) == 0 {
			return apierrors.NewNotFound(poolResource, name)
		}
		was = templateLike(name, members[name][0])
	}
	changed, err := differs(was.fields, is.fields)
	if err != nil {
		return err
	}
	var wrong field.ErrorList
	for _, name := range changed {
		wrong = append(wrong, field.Forbidden(field.NewPath("spec", name), "cannot be changed: nodes are made once. Create another pool, and delete this one"))
	}
	if len(wrong) > 0 {
		return apierrors.NewInvalid(poolKind, name, wrong)
	}
	if dryRun {
		return nil
	}
	defer o.news.Publish()
	return o.scale(ctx, was.pool, count)
}

// Delete implements minikcm.LiveCreator.
func (o *nodePools) Delete(ctx context.Context, name string, dryRun bool) error {
	if dryRun {
		return nil
	}
	defer o.news.Publish()
	if err := o.scale(ctx, minikcm.Pool{Name: name}, 0); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.templates, name)
	return nil
}

// parallelRequests is how many Nodes are created or deleted at the same time.
const parallelRequests = 16

// scale creates the nodes after the last one, or deletes the last ones, until there are count.
func (o *nodePools) scale(ctx context.Context, pool minikcm.Pool, count int) error {
	o.scaling.Lock()
	defer o.scaling.Unlock()
	members, err := o.members(ctx)
	if err != nil {
		return err
	}
	is := members[pool.Name]
	client, err := clientFor(ctx, o.cluster)
	if err != nil {
		return err
	}
	nodes := client.CoreV1().Nodes()
	errs := make([]error, max(count-len(is), len(is)-count))
	next := 0
	if len(is) > 0 {
		next = numberOf(is[len(is)-1]) + 1
	}
	change := func(i int) { errs[i] = createNode(ctx, nodes, pool, next+i) }
	if count < len(is) {
		change = func(i int) { errs[i] = removeNode(ctx, nodes, is[len(is)-1-i].Name) }
	}
	workqueue.ParallelizeUntil(ctx, parallelRequests, len(errs), change)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func createNode(ctx context.Context, nodes corev1client.NodeInterface, pool minikcm.Pool, number int) error {
	spec := pool.NodeAt(number)
	_, err := nodes.Create(ctx, kubeletsim.NodeFor(spec.Name, &spec), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating node %s of the pool %s: %w", spec.Name, pool.Name, err)
	}
	return nil
}

func removeNode(ctx context.Context, nodes corev1client.NodeInterface, name string) error {
	err := nodes.Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting node %s: %w", name, err)
	}
	return nil
}
