package hooks

import (
	"context"
	"errors"
	"regexp"

	upstream "k8s.io/apiserver/pkg/admission"

	"minikcm.dev/minikcm/apiserver/internal/admission"
	"minikcm.dev/minikcm/internal/reasons"
)

// The resources of admissionregistration.k8s.io whose objects make a plugin work: policies
// do nothing without a binding.
const (
	mutatingPolicies         = "mutatingadmissionpolicies"
	mutatingBindings         = "mutatingadmissionpolicybindings"
	validatingPolicies       = "validatingadmissionpolicies"
	validatingBindings       = "validatingadmissionpolicybindings"
	mutatingConfigurations   = "mutatingwebhookconfigurations"
	validatingConfigurations = "validatingwebhookconfigurations"
)

// hook is one of upstream's plugins, as a Mutator and a Checker of the admission chain. It
// does nothing while there are no objects of its resource.
type hook struct {
	plugin   *Plugin
	resource string
	// mutate and check return the function to call; nil: the plugin has no such part.
	mutate func(*started) step
	check  func(*started, admission.Operation) step
}

// errNotAudited is impossible: upstream's decorator has both methods.
var errNotAudited = errors.New("the decorator for audit does not admit")

// step is the signature of the methods Admit and Validate of upstream's plugins.
type step func(ctx context.Context, a upstream.Attributes, kinds upstream.ObjectInterfaces) error

// Handles implements upstream's Interface. The plugin itself looks at the operation.
func (s step) Handles(upstream.Operation) bool { return true }

// Admit implements upstream's MutationInterface.
func (s step) Admit(ctx context.Context, a upstream.Attributes, kinds upstream.ObjectInterfaces) error {
	return s(ctx, a, kinds)
}

// MutatingPolicies returns the plugin MutatingAdmissionPolicy.
func (p *Plugin) MutatingPolicies() admission.Mutator {
	return hook{plugin: p, resource: mutatingBindings, mutate: func(s *started) step { return s.mutatingPolicies }}
}

// MutatingWebhooks returns the plugin MutatingAdmissionWebhook. It calls the webhooks also
// for a delete, although nothing is stored.
func (p *Plugin) MutatingWebhooks() admission.Mutator {
	return hook{
		plugin: p, resource: mutatingConfigurations, mutate: func(s *started) step { return s.mutatingWebhooks },
		check: func(s *started, op admission.Operation) step {
			if op == admission.Delete {
				return s.mutatingWebhooks
			}
			return nil
		},
	}
}

// ValidatingPolicies returns the plugin ValidatingAdmissionPolicy.
func (p *Plugin) ValidatingPolicies() admission.Checker {
	return hook{
		plugin: p, resource: validatingBindings,
		check: func(s *started, _ admission.Operation) step { return s.validatingPolicies },
	}
}

// ValidatingWebhooks returns the plugin ValidatingAdmissionWebhook.
func (p *Plugin) ValidatingWebhooks() admission.Checker {
	return hook{
		plugin: p, resource: validatingConfigurations,
		check: func(s *started, _ admission.Operation) step { return s.validatingWebhooks },
	}
}

// Mutate implements admission.Mutator.
func (h hook) Mutate(ctx context.Context, a *admission.Attributes) error {
	if h.mutate == nil {
		return nil
	}
	return h.run(ctx, a, h.mutate)
}

// Check implements admission.Checker.
func (h hook) Check(ctx context.Context, a *admission.Attributes) error {
	if h.check == nil {
		return nil
	}
	return h.run(ctx, a, func(s *started) step { return h.check(s, a.Operation) })
}

func (h hook) run(ctx context.Context, a *admission.Attributes, of func(*started) step) error {
	if a.Resource.Unhooked {
		return nil
	}
	if err := h.noticeHeartbeat(ctx, a); err != nil {
		return err
	}
	idle, err := h.plugin.idle(ctx, h.resource)
	if idle || err != nil {
		return err
	}
	started, err := h.plugin.start()
	if err != nil {
		return err
	}
	if err := started.refresh(ctx, h.resource); err != nil {
		return err
	}
	call := of(started)
	if call == nil {
		return nil
	}
	// The plugin's annotations are added to the audit event.
	audited, ok := upstream.WithAudit(call).(upstream.MutationInterface)
	if !ok {
		return errNotAudited
	}
	made := &calls{plugin: h.plugin}
	err = audited.Admit(traced(warned(ctx, a), made), a.Record(), h.plugin.opts.Kinds)
	if err != nil {
		h.refused(ctx, a, made, err)
	}
	return err
}

// refused says which webhook or policy an error comes from.
func (h hook) refused(ctx context.Context, a *admission.Attributes, made *calls, err error) {
	if h.resource == mutatingConfigurations || h.resource == validatingConfigurations {
		if c := made.rejecting(ctx, err); c != nil {
			a.RefuseBy(reasons.ByWebhook, c.webhook, c.configuration)
			return
		}
		// It was not called, such as for a dry run that it does not support.
		if name := named(webhookName, err); name != nil {
			a.RefuseBy(reasons.ByWebhook, name[1], "")
		}
		return
	}
	if name := named(policyName, err); name != nil {
		a.RefuseBy(reasons.ByPolicy, name[1], name[2])
	}
}

// What upstream's plugins call a webhook and a policy in their errors.
var (
	webhookName = regexp.MustCompile(`webhook "([^"]*)"`)
	policyName  = regexp.MustCompile(`(?:Validating|Mutating)?(?:AdmissionPolicy|admission policy|policy) '([^']*)'(?: with binding '([^']*)')?`)
)

func named(pattern *regexp.Regexp, err error) []string {
	return pattern.FindStringSubmatch(err.Error())
}
