package minikcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/kwok"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/stages"
	"minikcm.dev/minikcm/kubeletsim"
)

// Stages configure which of kwok's Stages, ResourceUsages, ClusterResourceUsages and Metrics
// (kwok.x-k8s.io/v1alpha1) have effect. The zero value means none. Processes that share an etcd on
// real time play no Stages.
type Stages struct {
	// Watch makes the objects of these kinds in the API take effect, as soon as their
	// CustomResourceDefinition is installed.
	Watch bool
	// Manifests are written to the API before the nodes start, with a definition if there is none.
	// They imply Watch.
	Manifests []StageManifest
}

// ParseStages returns the objects of these kinds in a file, which has YAML or JSON documents. It fails
// if one of them is invalid, or of another kind.
func ParseStages(file []byte) ([]StageManifest, error) { return kwok.Split(file) }

func (s *Stages) watches() bool { return s.Watch || len(s.Manifests) > 0 }

// buildStages builds the parts that play Stages, and that read usages and Metrics.
func (c *Cluster) buildStages(e *controllers.Env) error {
	if !c.opts.Nodes.Stages.watches() {
		return nil
	}
	read, err := kubeletsim.NewUsageReader(c.local.Config("system:minikcm:"+kubeletsim.UsageReader, auth.GroupMasters), kubeletsim.UsageOptions{
		Clock: c.clock, Ledger: c.ledger, Recorder: e.Recorder.OwnedBy(kubeletsim.UsageReader).For(kubeletsim.UsageReader), Logger: c.opts.Logger,
	}, c.kubelets, c.opts.Seed)
	if err != nil {
		return err
	}
	c.built = append(c.built, part{kubeletsim.UsageReader, c.untilBegun(read)})
	if c.opts.shares() {
		return nil
	}
	play, err := kubeletsim.NewStageRunner(kubeletsim.StageOptions{
		Config: c.local.Config("system:minikcm:stages", auth.GroupMasters), Nodes: e.Informers.Nodes().Informer(), Hosts: c.kubelets,
		Clock: c.clock, Ledger: c.ledger, Random: c.random.Keyed(kubeletsim.StageRunner),
		Recorder: e.Recorder.OwnedBy(kubeletsim.StageRunner).For(kubeletsim.StageRunner), Logger: c.opts.Logger, Version: "minikcm",
	})
	if err != nil {
		return err
	}
	c.built = append(c.built, part{"stages", c.untilBegun(play)})
	return nil
}

// untilBegun returns the run of a part that is in flight until it watches the objects that it reads:
// nodes and pods may not act before.
func (c *Cluster) untilBegun(run func(context.Context) error) func(context.Context) error {
	starting := inflight.Begin(c.ledger, inflight.Start)
	return func(ctx context.Context) error {
		defer starting.End()
		return run(loop.WithBegun(ctx, starting.End))
	}
}

// createStages writes the manifests of the options to the API, and the namespaces that they need. An
// object that exists gets the spec of the options.
func (c *Cluster) createStages(ctx context.Context) error {
	all := c.opts.Nodes.Stages.Manifests
	if len(all) == 0 {
		return nil
	}
	if c.opts.shares() && slices.ContainsFunc(all, func(m StageManifest) bool { return m.Kind == stages.Kind }) {
		return errors.New("Stages were given and other processes may share the etcd: their clocks do not agree, so no Stage would have effect")
	}
	client, err := dynamic.NewForConfig(c.local.Config(AdminUser, auth.GroupMasters))
	if err != nil {
		return fmt.Errorf("making the client of Stages: %w", err)
	}
	if err := defineStages(ctx, client, all); err != nil {
		return fmt.Errorf("defining kwok's kinds: %w", err)
	}
	for i := range all {
		if err := createStage(ctx, client, &all[i]); err != nil {
			return fmt.Errorf("creating %s: %w", &all[i], err)
		}
	}
	return nil
}

func createStage(ctx context.Context, client dynamic.Interface, m *StageManifest) error {
	var o unstructured.Unstructured
	if err := json.Unmarshal(m.JSON, &o.Object); err != nil {
		return fmt.Errorf("decoding it: %w", err)
	}
	resource, namespaced := kwok.ResourceOf(m.Kind)
	var objects dynamic.ResourceInterface = client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: resource})
	if namespaced {
		if err := createNamespace(ctx, client, m.Namespace); err != nil {
			return err
		}
		objects = client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: resource}).Namespace(m.Namespace)
	}
	_, err := objects.Create(ctx, &o, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	for range updateTries {
		var was *unstructured.Unstructured
		if was, err = objects.Get(ctx, m.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		was.Object["spec"] = o.Object["spec"]
		if _, err = objects.Update(ctx, was, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// updateTries bounds the attempts to update an object that other processes on the etcd update, too.
const updateTries = 5

// createNamespace creates a namespace if there is none of that name.
func createNamespace(ctx context.Context, client dynamic.Interface, name string) error {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// defineStages creates the definitions of the kinds of these manifests that there are none of, and
// waits until they are served.
func defineStages(ctx context.Context, client dynamic.Interface, of []StageManifest) error {
	contents, err := kwok.Definitions(of)
	if err != nil {
		return err
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, content := range contents {
		o := &unstructured.Unstructured{Object: content}
		if _, err := definitions.Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		if err := dump.Established(ctx, definitions, o.GetName()); err != nil {
			return err
		}
	}
	return nil
}
