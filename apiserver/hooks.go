package apiserver

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/admission/hooks"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/openapi"
	"minikcm.dev/minikcm/apiserver/resources"
)

// newHooks returns the plugin for webhooks and admission policies.
func (s *Server) newHooks() *hooks.Plugin {
	return hooks.New(hooks.Options{
		Objects: func(resource string) hooks.Objects {
			return s.stored[admissionv1.SchemeGroupVersion.WithResource(resource)]
		},
		Namespaces: s.storedCore("namespaces"),
		Params:     s.knownAs,
		Types:      s.typesOf,
		Config:     func() *rest.Config { return Protobuf(s.Config("system:apiserver", auth.GroupMasters)) },
		Kinds:      hooks.Kinds{Table: func() *resources.Table { return s.current().Table }, Scheme: s.scheme},
		Authorizer: hooks.Authorizer{Authorizer: s.recorder.Questions()},
		Services:   s.skipper,
		Skip:       s.skipper.Skip,
	})
}

// knownAs returns the objects of a resource, also of a custom one, in its version.
func (s *Server) knownAs(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]runtime.Object, error) {
	found := s.definitions.Find(resource, false)
	defer found.Leave()
	if found.Row == nil || found.Objects == nil {
		return nil, apierrors.NewNotFound(resource.GroupResource(), "")
	}
	known, err := found.Objects.KnownIn(ctx, namespace)
	if err != nil || found.Row.Storage == nil {
		return known, err
	}
	for i, obj := range known {
		known[i] = found.Row.Storage.From(obj.DeepCopyObject())
	}
	return known, nil
}

// typesOf returns the schemas of a kind, or nil if it is not served.
func (s *Server) typesOf(kind schema.GroupVersionKind) managedfields.TypeConverter {
	row := s.current().Table.ByKind(kind)
	if row == nil || !row.Custom {
		return s.fields.Types(kind)
	}
	models, err := openapi.Models([]*resources.Resource{row})
	if err != nil {
		s.opts.Logger.Error(err, "The schemas of a kind cannot be used by mutating policies", "kind", kind)
		return nil
	}
	types, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		s.opts.Logger.Error(err, "The schemas of a kind cannot be used by mutating policies", "kind", kind)
		return nil
	}
	return types
}
