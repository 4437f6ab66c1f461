package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/apiserver/internal/admission/plugins"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// newAdmission assembles the plugins: the server's own and, between them, the plugins of the table.
func (s *Server) newAdmission() (admission.Chain, error) {
	selected, err := plugins.New(s.opts.Admission, &plugins.Host{
		Objects:         s.storedObjects,
		CreateOwn:       s.own.Create,
		Kind:            func(kind schema.GroupVersionKind) *resources.Resource { return s.current().Table.ByKind(kind) },
		Authorizer:      s.opts.Authorizer,
		Questions:       s.recorder.Questions(),
		NodeRestriction: s.nodeRestriction(), Hooks: s.hooks, Chance: s.chance, Clock: s.opts.Clock, Logger: s.opts.Logger,
		Store: s.opts.Store, SharedStore: s.opts.SharedStore,
		Version: DefaultVersion, // Options.KubeVersion is a name, as "v1.37.2+minikcm" may be
	})
	if err != nil {
		return admission.Chain{}, err
	}
	// Those of the table have upstream's metrics, and these have none.
	own := func(name string, plugin any) any {
		return admission.Named{Name: name, Operations: []admission.Operation{}, Plugin: plugin}
	}
	all := append([]any{
		own("CustomResourceDefinition", forbidCreate{s}), own("CertificateRequester", admission.CertificateRequester{}),
		own("ServiceHosts", admission.ServiceHosts{Authorizer: s.opts.Authorizer}),
	}, selected...)
	chain := admission.NewChain(append(all, own("RBAC", s.escalation()))...)
	chain.Observer = s.metrics.Admission
	return chain, nil
}
