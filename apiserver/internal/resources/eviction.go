package resources

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podEviction deletes a pod with the delete options in the eviction, unless a disruption
// budget forbids it.
func podEviction() Subresource {
	return Subresource{
		Name:             "eviction",
		GroupVersionKind: policyv1.SchemeGroupVersion.WithKind("Eviction"),
		Verbs:            []string{"create"},
		AlsoVersions:     []schema.GroupVersion{{Group: policyv1.GroupName, Version: "v1beta1"}},
		NamesParent:      true,
		BeforeDelete: func(ctx context.Context, rq Request, dryRun bool) error {
			return rq.TakeDisruption(ctx, dryRun)
		},
		New: func() runtime.Object { return &policyv1.Eviction{} },
		Delete: func(sub runtime.Object) *metav1.DeleteOptions {
			return sub.(*policyv1.Eviction).DeleteOptions
		},
	}
}
