package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
)

// nodeSelectorAnnotation is the annotation of a namespace with the node selector of its
// pods.
const nodeSelectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector"

// clusterNodeSelector is the key, beside the names of namespaces, of the selector for
// namespaces without the annotation.
const clusterNodeSelector = "clusterDefaultNodeSelector"

var (
	errSelectorConflict = errors.New("pod node label selector conflicts with its namespace node label selector")
	errSelectorLimit    = errors.New("pod node label selector labels conflict with its namespace whitelist")
)

// PodNodeSelector adds the node selector of a namespace to its new pods, and limits the
// selectors of pods to what the configuration allows in the namespace.
type PodNodeSelector struct {
	// Get returns a namespace, as new as the store's, or a NotFound error.
	Get func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Selectors are the labels that a pod's node selector may have, by namespace, and the
	// default selector of namespaces under the key clusterDefaultNodeSelector.
	Selectors map[string]string
}

// NewPodNodeSelector returns the plugin with the configuration in a YAML document, which
// may be empty.
func NewPodNodeSelector(config []byte, get func(ctx context.Context, name string) (*corev1.Namespace, error)) (*PodNodeSelector, error) {
	var parsed struct {
		Selectors map[string]string `json:"podNodeSelectorPluginConfig"`
	}
	if err := decodeUnversioned(config, &parsed); err != nil {
		return nil, err
	}
	for namespace, selector := range parsed.Selectors {
		if _, err := labels.ConvertSelectorToLabelsMap(selector); err != nil {
			return nil, fmt.Errorf("node selector %q of %s: %w", selector, namespace, err)
		}
	}
	return &PodNodeSelector{Get: get, Selectors: parsed.Selectors}, nil
}

// Mutate implements Mutator.
func (p *PodNodeSelector) Mutate(ctx context.Context, a *Attributes) error {
	pod := podToCreate(a)
	if pod == nil {
		return nil
	}
	wanted, err := p.selectorFor(ctx, a, pod)
	if err != nil {
		return err
	}
	pod.Spec.NodeSelector = labels.Merge(wanted, pod.Spec.NodeSelector)
	return p.Check(ctx, a)
}

// Check implements Checker.
func (p *PodNodeSelector) Check(ctx context.Context, a *Attributes) error {
	pod := podToCreate(a)
	if pod == nil {
		return nil
	}
	if _, err := p.selectorFor(ctx, a, pod); err != nil {
		return err
	}
	allowed, err := labels.ConvertSelectorToLabelsMap(p.Selectors[a.Namespace])
	if err != nil {
		return err
	}
	for key, value := range pod.Spec.NodeSelector {
		if has, ok := allowed[key]; len(allowed) > 0 && (!ok || has != value) {
			return apierrors.NewForbidden(a.Resource.GroupResource(), pod.Name, errSelectorLimit)
		}
	}
	return nil
}

// selectorFor returns the node selector of the pod's namespace, or an error if the pod's own
// selector conflicts with it.
func (p *PodNodeSelector) selectorFor(ctx context.Context, a *Attributes, pod *corev1.Pod) (labels.Set, error) {
	wanted, err := p.selectorOf(ctx, a.Namespace)
	if err != nil {
		return nil, err
	}
	if labels.Conflicts(wanted, pod.Spec.NodeSelector) {
		return nil, apierrors.NewForbidden(a.Resource.GroupResource(), pod.Name, errSelectorConflict)
	}
	return wanted, nil
}

// selectorOf returns the node selector of a namespace's pods.
func (p *PodNodeSelector) selectorOf(ctx context.Context, name string) (labels.Set, error) {
	namespace, err := p.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	text, ok := namespace.Annotations[nodeSelectorAnnotation]
	if !ok {
		text = p.Selectors[clusterNodeSelector]
	}
	return labels.ConvertSelectorToLabelsMap(text)
}
