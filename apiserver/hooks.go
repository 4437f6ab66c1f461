package apiserver

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver/admission/hooks"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/services"
	"minikcm.dev/minikcm/apiserver/storage"
)

// newHooks returns the plugin for webhooks and admission policies.
func (s *Server) newHooks() *hooks.Plugin {
	var configurations []*storage.Objects
	for _, resource := range []string{
		"mutatingwebhookconfigurations", "validatingwebhookconfigurations",
		"mutatingadmissionpolicybindings", "validatingadmissionpolicybindings",
	} {
		configurations = append(configurations, s.stored[admissionv1.SchemeGroupVersion.WithResource(resource)])
	}
	return hooks.New(hooks.Options{
		Idle: func(ctx context.Context) (bool, error) {
			for _, objects := range configurations {
				if empty, err := objects.Empty(ctx); !empty || err != nil {
					return false, err
				}
			}
			return true, nil
		},
		Config:     func() *rest.Config { return Protobuf(s.Config("system:apiserver", auth.GroupMasters)) },
		Ledger:     s.opts.Ledger,
		Kinds:      hooks.Kinds{Table: func() *resources.Table { return s.current().Table }, Scheme: s.scheme},
		Authorizer: hooks.Authorizer{Authorizer: s.recorder.Questions()},
		Services:   services.Resolver{Objects: s.storedObjects},
	})
}
