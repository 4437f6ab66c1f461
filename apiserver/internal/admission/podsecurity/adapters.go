package podsecurity

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
)

// namespaces is the library's source of namespaces.
type namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

// GetNamespace implements the library's NamespaceGetter.
func (f namespaces) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return f(ctx, name)
}

// pods is the library's source of pods.
type pods func(ctx context.Context, namespace string) ([]*corev1.Pod, error)

// ListPods implements the library's PodLister.
func (f pods) ListPods(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
	return f(ctx, namespace)
}

// unmeasured is a recorder of metrics that drops them: upstream's are global, and would
// mix the clusters of a process.
type unmeasured struct{}

// RecordEvaluation implements metrics.Recorder.
func (unmeasured) RecordEvaluation(metrics.Decision, api.LevelVersion, metrics.Mode, api.Attributes) {
}

// RecordExemption implements metrics.Recorder.
func (unmeasured) RecordExemption(api.Attributes) {}

// RecordError implements metrics.Recorder.
func (unmeasured) RecordError(bool, api.Attributes) {}
