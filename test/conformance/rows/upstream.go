package rows

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	// What the scheme knows.
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// errUnreadable says that a manifest is no object of its kind at all.
var errUnreadable = errors.New("the manifest cannot be read")

// refusal is what upstream says to the creation of an object: nil if it takes it.
func refusal(strategy rest.RESTCreateStrategy, kind schema.GroupVersionKind, manifest []byte, plural string) (*apierrors.StatusError, error) {
	decoded, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(manifest, &kind, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	legacyscheme.Scheme.Default(decoded)
	internal, err := legacyscheme.Scheme.ConvertToVersion(decoded, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	m, err := meta.Accessor(internal)
	if err != nil {
		return nil, err
	}
	ctx := genericapirequest.WithRequestInfo(context.Background(), &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version, Resource: plural, Namespace: m.GetNamespace(),
	})
	if strategy.NamespaceScoped() && m.GetNamespace() == "" {
		m.SetNamespace(metav1.NamespaceDefault)
	}
	ctx = genericapirequest.WithNamespace(ctx, m.GetNamespace())
	rest.FillObjectMetaSystemFields(m)
	if m.GetGenerateName() != "" && m.GetName() == "" {
		m.SetName(strategy.GenerateName(m.GetGenerateName()))
	}
	err = beforeCreate(ctx, strategy, internal)
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) {
		return status, nil
	}
	return nil, err
}

// beforeCreate prepares and validates. Upstream's strategies are known to panic on some
// objects that no apiserver would store.
func beforeCreate(ctx context.Context, strategy rest.RESTCreateStrategy, obj runtime.Object) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: upstream panics: %v", errUnreadable, reason)
		}
	}()
	return rest.BeforeCreate(strategy, ctx, obj)
}
