package minikcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/controllers/env"
	"minikcm.dev/minikcm/dump"
	"minikcm.dev/minikcm/kubeletsim/stagerunner"
	"minikcm.dev/minikcm/kubeletsim/stages"
)

// Stages configure which of kwok's Stages (kwok.x-k8s.io/v1alpha1) have effect. The zero value
// means none. Processes that share an etcd on real time run none.
type Stages struct {
	// Watch makes the Stages in the API take effect, as soon as their CustomResourceDefinition
	// is installed.
	Watch bool
	// Manifests are written to the API before the nodes start, with a definition if there is none.
	// They imply Watch.
	Manifests []stages.Manifest
}

// ParseStages returns the Stages in a file, which has YAML or JSON documents. It fails if one of
// them is invalid.
func ParseStages(file []byte) ([]stages.Manifest, error) { return stages.Split(file) }

func (s *Stages) watches() bool { return s.Watch || len(s.Manifests) > 0 }

// buildStages builds the part that plays Stages.
func (c *Cluster) buildStages(e *env.Env) error {
	if !c.opts.Stages.watches() || c.opts.shares() {
		return nil
	}
	runner, err := stagerunner.New(stagerunner.Options{
		Config: c.local.Config("system:minikcm:stages", auth.GroupMasters), Nodes: e.Informers.Nodes().Informer(), Hosts: c.kubelets,
		Clock: c.clock, Ledger: c.ledger, Random: c.random.Keyed(stagerunner.Name),
		Recorder: e.Recorder.OwnedBy(stagerunner.Name).For(stagerunner.Name), Logger: c.opts.Logger, Version: "minikcm",
	})
	if err != nil {
		return err
	}
	c.built = append(c.built, part{"stages", runner.Run})
	return nil
}

// createStages writes the Stages of the options to the API. A Stage that exists gets the spec of
// the options.
func (c *Cluster) createStages(ctx context.Context) error {
	if len(c.opts.Stages.Manifests) == 0 {
		return nil
	}
	if c.opts.shares() {
		return errors.New("Stages were given and other processes may share the etcd: their clocks do not agree, so no Stage would have effect")
	}
	client, err := dynamic.NewForConfig(c.local.Config(AdminUser, auth.GroupMasters))
	if err != nil {
		return fmt.Errorf("making the client of Stages: %w", err)
	}
	if err := defineStages(ctx, client); err != nil {
		return fmt.Errorf("defining Stages: %w", err)
	}
	objects := client.Resource(schema.GroupVersionResource{Group: stages.Group, Version: stages.Version, Resource: stages.Resource})
	for _, m := range c.opts.Stages.Manifests {
		var o unstructured.Unstructured
		if err := json.Unmarshal(m.JSON, &o.Object); err != nil {
			return fmt.Errorf("decoding Stage %s: %w", m.Name, err)
		}
		_, err := objects.Create(ctx, &o, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			var was *unstructured.Unstructured
			if was, err = objects.Get(ctx, m.Name, metav1.GetOptions{}); err == nil {
				was.Object["spec"] = o.Object["spec"]
				_, err = objects.Update(ctx, was, metav1.UpdateOptions{})
			}
		}
		if err != nil {
			return fmt.Errorf("creating Stage %s: %w", m.Name, err)
		}
	}
	return nil
}

// defineStages creates the definition of Stages if there is none, and waits until it is served.
func defineStages(ctx context.Context, client dynamic.Interface) error {
	content, err := stages.Definition()
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: content}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return dump.Established(ctx, definitions, o.GetName())
}
