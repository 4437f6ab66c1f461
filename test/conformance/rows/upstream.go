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
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	// These register their types in the scheme.
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
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
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// errUnreadable is the error for a manifest that cannot be decoded as an object of its kind.
var errUnreadable = errors.New("the manifest cannot be read")

// read decodes a manifest to upstream's internal type, with defaults.
func read(kind schema.GroupVersionKind, manifest []byte) (runtime.Object, error) {
	decoded, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(manifest, &kind, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	legacyscheme.Scheme.Default(decoded)
	internal, err := legacyscheme.Scheme.ConvertToVersion(decoded, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return internal, nil
}

// requestOf returns the context of a request for an object.
func requestOf(verb string, kind schema.GroupVersionKind, plural, subresource string, m metav1.Object) context.Context {
	ctx := genericapirequest.WithRequestInfo(context.Background(), &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: kind.Group, APIVersion: kind.Version,
		Resource: plural, Subresource: subresource, Namespace: m.GetNamespace(), Name: m.GetName(),
	})
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: "tester", Groups: []string{user.AllAuthenticated}})
	return genericapirequest.WithNamespace(ctx, m.GetNamespace())
}

// refusal returns upstream's error for the creation of an object, or nil.
func refusal(strategy rest.RESTCreateStrategy, kind schema.GroupVersionKind, manifest []byte, plural string) (*apierrors.StatusError, error) {
	_, err := created(strategy, kind, manifest, plural)
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) {
		return status, nil
	}
	return nil, err
}

// created returns the object that upstream would store.
func created(strategy rest.RESTCreateStrategy, kind schema.GroupVersionKind, manifest []byte, plural string) (runtime.Object, error) {
	internal, err := read(kind, manifest)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(internal)
	if err != nil {
		return nil, err
	}
	if strategy.NamespaceScoped() && m.GetNamespace() == "" {
		m.SetNamespace(metav1.NamespaceDefault)
	}
	ctx := requestOf("create", kind, plural, "", m)
	rest.FillObjectMetaSystemFields(m)
	if m.GetGenerateName() != "" && m.GetName() == "" {
		m.SetName(strategy.GenerateName(m.GetGenerateName()))
	}
	return internal, beforeCreate(ctx, strategy, internal)
}

// beforeCreate prepares and validates an object. It recovers from panics of upstream's
// strategies, which happen for some objects that no API server would store.
func beforeCreate(ctx context.Context, strategy rest.RESTCreateStrategy, obj runtime.Object) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: upstream panics: %v", errUnreadable, reason)
		}
	}()
	return rest.BeforeCreate(strategy, ctx, obj)
}

// changed returns upstream's error for the update of an object, or nil. subresource is "" or
// "status".
func changed(strategy rest.RESTUpdateStrategy, kind schema.GroupVersionKind, manifest []byte, old runtime.Object, plural, subresource string) (*apierrors.StatusError, error) {
	internal, err := read(kind, manifest)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(internal)
	if err != nil {
		return nil, err
	}
	was, err := meta.Accessor(old)
	if err != nil {
		return nil, err
	}
	m.SetNamespace(was.GetNamespace())
	m.SetUID(was.GetUID())
	m.SetResourceVersion(was.GetResourceVersion())
	m.SetCreationTimestamp(was.GetCreationTimestamp())
	err = beforeUpdate(requestOf("update", kind, plural, subresource, m), strategy, internal, old)
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) {
		return status, nil
	}
	return nil, err
}

// beforeUpdate is beforeCreate for an update.
func beforeUpdate(ctx context.Context, strategy rest.RESTUpdateStrategy, obj, old runtime.Object) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%w: upstream panics: %v", errUnreadable, reason)
		}
	}()
	return rest.BeforeUpdate(strategy, ctx, obj, old.DeepCopyObject())
}
