package hooks

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/internal/heartbeats"
)

// noticeHeartbeat records that a webhook or policy may see a heartbeat: then every heartbeat has to be
// written. Conditions and selectors do not matter, since what they select may change.
func (h hook) noticeHeartbeat(ctx context.Context, a *admission.Attributes) error {
	if heartbeats.TraceOf(ctx) == nil {
		return nil
	}
	if h.plugin.folders[h.resource] != nil {
		heartbeats.Notice(ctx) // its files may change at any time
		return nil
	}
	idle, err := h.plugin.opts.Objects(h.resource).Empty(ctx)
	if idle || err != nil {
		return err
	}
	rules, err := h.plugin.rules(ctx, h.resource)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(rules, func(r admissionv1.Rule) bool { return covers(r, a) }) {
		heartbeats.Notice(ctx)
	}
	return nil
}

// rules returns the rules of all webhooks or policies. Those of a policy without rules cover all.
func (p *Plugin) rules(ctx context.Context, resource string) ([]admissionv1.Rule, error) {
	if resource == mutatingBindings || resource == validatingBindings {
		return []admissionv1.Rule{{APIGroups: []string{"*"}, Resources: []string{"*/*"}}}, nil
	}
	known, err := p.opts.Objects(resource).KnownIn(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []admissionv1.Rule
	add := func(rules []admissionv1.RuleWithOperations) {
		for i := range rules {
			all = append(all, rules[i].Rule)
		}
	}
	for _, obj := range known {
		switch config := obj.(type) {
		case *admissionv1.ValidatingWebhookConfiguration:
			for i := range config.Webhooks {
				add(config.Webhooks[i].Rules)
			}
		case *admissionv1.MutatingWebhookConfiguration:
			for i := range config.Webhooks {
				add(config.Webhooks[i].Rules)
			}
		}
	}
	return all, nil
}

// covers reports whether a rule is for the resource of a request, in any version.
func covers(r admissionv1.Rule, a *admission.Attributes) bool {
	resource := a.Resource.GroupResource()
	if !slices.Contains(r.APIGroups, "*") && !slices.Contains(r.APIGroups, resource.Group) {
		return false
	}
	return slices.ContainsFunc(r.Resources, func(name string) bool {
		if a.Subresource == "" {
			return name == "*" || name == "*/*" || name == resource.Resource
		}
		return name == "*/*" || name == resource.Resource+"/*" || name == "*/"+a.Subresource || name == resource.Resource+"/"+a.Subresource
	})
}
