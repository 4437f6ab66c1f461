package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/scenario/spec"
)

// beginWith reads the objects that a scenario's cluster starts with.
func beginWith(options *minikcm.Options, c *spec.Cluster) error {
	if len(c.Objects) == 0 {
		return nil
	}
	d, err := dump.Read(c.Objects, nil)
	if err != nil {
		return err
	}
	if c.RedactSecrets {
		d.RedactSecrets()
	}
	if c.Nodes == nil && len(c.Pools) == 0 && !d.HasNodes() {
		options.Nodes.Count = spec.DefaultNodes
	}
	options.Storage.Objects = d
	return nil
}

// isDump reports whether objects have fields that only an API server sets. Such objects are
// loaded, not applied.
func isDump(a *Apply) bool {
	for _, o := range a.All() {
		if o.GetUID() != "" || o.GetResourceVersion() != "" {
			return true
		}
	}
	return false
}

// load loads a dump. In virtual time the cluster's parts see it whole, since they get no turn
// meanwhile. Elsewhere they react at once, so load leaves out the objects that they make.
func (b *branch) load(ctx context.Context, a *Apply) error {
	all := a.All()
	objects := make([]*unstructured.Unstructured, len(all))
	for i := range all {
		objects[i] = &all[i].Unstructured
	}
	nodes, err := b.run.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	opts := dump.Options{Now: b.run.clock.Now(), RootsOnly: b.run.cluster == nil || b.run.shared || !isVirtual(b.run.clock)}
	for i := range nodes.Items {
		opts.Nodes = append(opts.Nodes, nodes.Items[i].Name)
	}
	if !opts.RootsOnly {
		b.run.cluster.Kubelets().Observe()
	}
	summary, err := dump.New(strings.Join(a.Files, ", "), objects).Load(ctx, b.run.config, opts)
	if err != nil {
		return err
	}
	b.noteLoaded(summary)
	return b.refusals(a, summary)
}

// noteLoaded notes the outcome of loading a dump.
func (b *branch) noteLoaded(summary *dump.Summary) {
	var text strings.Builder
	_ = summary.Print(&text) // a builder returns no errors
	for line := range strings.Lines(text.String()) {
		b.note("%s", strings.TrimRight(line, "\n"))
	}
}

// refusals compares what the API server has refused of a dump with what the step expects.
func (b *branch) refusals(a *Apply, summary *dump.Summary) error {
	var errs []error
	expected := false
	for _, r := range summary.Refused {
		if a.Fails != "" && strings.Contains(r.Error, a.Fails) {
			expected = true
			continue
		}
		errs = append(errs, fmt.Errorf("loading %s: %s", r.Object, r.Error))
	}
	if a.Fails != "" && !expected {
		errs = append(errs, fmt.Errorf("loading should fail with %q, and did not", a.Fails))
	}
	return errors.Join(errs...)
}
