package apiserver

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/admission/hooks"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/services"
)

// newHooks returns the plugin for webhooks and admission policies.
func (s *Server) newHooks() *hooks.Plugin {
	return hooks.New(hooks.Options{
		Empty: func(ctx context.Context, resource string) (bool, error) {
			return s.stored[admissionv1.SchemeGroupVersion.WithResource(resource)].Empty(ctx)
		},
		Config:     func() *rest.Config { return Protobuf(s.Config("system:apiserver", auth.GroupMasters)) },
		Ledger:     s.opts.Ledger,
		Kinds:      hooks.Kinds{Table: func() *resources.Table { return s.current().Table }, Scheme: s.scheme},
		Authorizer: hooks.Authorizer{Authorizer: s.opts.Authorizer},
		Services:   services.Resolver{Objects: s.storedObjects},
	})
}
