package apiserver

import (
	"cmp"
	"context"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/internal/admission/hooks"
	"minikcm.dev/minikcm/apiserver/internal/openapi"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/internal/auth"
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
		Observer:   s.metrics.Admission,
		Faults:     s.webhookFate,
		Inside:     s.inside(true),
		BuiltIn:    s.opts.Resources,
		Logger:     s.opts.Notices,
	})
}

// webhookFate returns the effect of the injected faults on a call of a webhook.
func (s *Server) webhookFate(ctx context.Context, configuration, webhook string) (fate hooks.Fate) {
	if s.opts.Faults == nil {
		return fate
	}
	user := ""
	if u := auth.FromContext(ctx); u != nil {
		user = u.Name
	}
	rules := s.opts.Faults.MeetWebhook(user, configuration, webhook)
	for _, rule := range rules {
		if fate.Err == nil {
			fate.Err = rule.Err
		}
		if rule.Denies && fate.Denies == nil {
			fate.Denies = &hooks.Denial{Code: cmp.Or(rule.Code, http.StatusForbidden), Message: rule.Message}
		}
	}
	fate.Wait = func(ctx context.Context, limit time.Duration) (late bool, err error) {
		left := limit
		for _, rule := range rules {
			if !s.mayWait(ctx) { // time would stand still
				late = late || rule.Latency >= left
				continue
			}
			if late, err = rule.Wait(ctx, left); late || err != nil {
				return late, err
			}
			left -= rule.Latency
		}
		return late, nil
	}
	return fate
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
