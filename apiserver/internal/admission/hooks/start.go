package hooks

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/apiserver/internal/outbound"
)

// started has the methods of upstream's plugins after their start. It does not have the
// plugins: they mention client-go's SharedInformerFactory, which every package with a type that
// leads to this one would compile in part (see clock/informers.Kinds).
type started struct {
	mutatingPolicies, validatingPolicies step
	mutatingWebhooks, validatingWebhooks step

	// refreshes bring a plugin's state of its resource up to date.
	refreshes  map[string]func(ctx context.Context) error
	namespaces *pulled
	stop       func()
}

// refresh makes the configurations of a resource known that were written before.
func (s *started) refresh(ctx context.Context, resource string) error {
	if err := s.namespaces.refresh(ctx); err != nil {
		return err
	}
	return s.refreshes[resource](ctx)
}

// plugins are upstream's plugins.
type plugins struct {
	mutatingPolicies   *generic.Plugin[mutating.PolicyHook]
	validatingPolicies *generic.Plugin[validating.PolicyHook]
	mutatingWebhooks   *mutatingwebhook.Plugin
	validatingWebhooks *validatingwebhook.Plugin
}

func (of *Plugin) newStarted() (*started, error) {
	opts := of.opts
	var p plugins
	s := &started{namespaces: newPulled(opts.Namespaces)}
	patches, checks := mutationsOf(of, opts.Objects), validationsOf(of, opts.Objects)
	sources := []*validations{checks}
	p.mutatingPolicies = newPolicies(upstream.NewHandler(upstream.Create, upstream.Update, upstream.Connect), patches,
		func(z authorizer.UnconditionalAuthorizer, m *matching.Matcher, _ kubernetes.Interface) generic.Dispatcher[mutating.PolicyHook] {
			return mutating.NewDispatcher(z, m, &types{table: opts.Kinds.Table, of: opts.Types})
		})
	p.validatingPolicies = newPolicies(upstream.NewHandler(upstream.Create, upstream.Update, upstream.Delete, upstream.Connect), checks,
		func(z authorizer.UnconditionalAuthorizer, m *matching.Matcher, _ kubernetes.Interface) generic.Dispatcher[validating.PolicyHook] {
			return validating.NewDispatcher(z, notingMatcher{generic.NewPolicyMatcher(m), sources})
		})
	var err error
	if p.mutatingWebhooks, err = mutatingwebhook.NewMutatingWebhook(of.webhookConfig(mutatingConfigurations)); err != nil {
		return nil, err
	}
	if p.validatingWebhooks, err = validatingwebhook.NewValidatingAdmissionWebhook(of.webhookConfig(validatingConfigurations)); err != nil {
		return nil, err
	}
	plain := func(webhookutil.AuthenticationInfoResolver) webhookutil.AuthenticationInfoResolver {
		return outbound.Resolver{UserAgent: "kube-apiserver-admission", Inside: opts.Inside, Skip: opts.Skip, Wrap: func(limited http.RoundTripper) http.RoundTripper { return caller{of, limited} }}
	}
	p.mutatingWebhooks.SetAuthenticationInfoResolverWrapper(plain)
	p.validatingWebhooks.SetAuthenticationInfoResolverWrapper(plain)
	p.mutatingWebhooks.SetServiceResolver(opts.Services)
	p.validatingWebhooks.SetServiceResolver(opts.Services)
	mutatingHooks, validatingHooks := newPulled(opts.Objects(mutatingConfigurations)), newPulled(opts.Objects(validatingConfigurations))
	s.refreshes = map[string]refresher{
		mutatingConfigurations:   of.addStaticWebhooks(mutatingConfigurations, p.mutatingWebhooks, mutatingAccessors, mutatingHooks.refresh),
		validatingConfigurations: of.addStaticWebhooks(validatingConfigurations, p.validatingWebhooks, validatingAccessors, validatingHooks.refresh),
	}
	_, s.refreshes[mutatingBindings] = addStatic(of, mutatingBindings, p.mutatingPolicies, mutationsOf, patches.refresh)
	static, refresh := addStatic(of, validatingBindings, p.validatingPolicies, validationsOf, checks.refresh)
	sources, s.refreshes[validatingBindings] = append(sources, static...), refresh
	s.stop, err = p.initialize(opts, pulledFactory{byType: map[reflect.Type]*pulled{
		reflect.TypeFor[*corev1.Namespace]():                           s.namespaces,
		reflect.TypeFor[*admissionv1.MutatingWebhookConfiguration]():   mutatingHooks,
		reflect.TypeFor[*admissionv1.ValidatingWebhookConfiguration](): validatingHooks,
	}})
	if err != nil {
		return nil, err
	}
	s.mutatingPolicies, s.validatingPolicies = p.mutatingPolicies.Dispatch, p.validatingPolicies.Dispatch
	s.mutatingWebhooks, s.validatingWebhooks = p.mutatingWebhooks.Admit, p.validatingWebhooks.Validate
	return s, nil
}

// mutations and validations have the compiled policies of a kind.
type (
	mutations   = policySource[*mutating.Policy, *mutating.PolicyBinding, mutating.PolicyEvaluator]
	validations = policySource[*validating.Policy, *validating.PolicyBinding, validating.Validator]
)

// mutationsOf returns the source of the mutating policies among objects.
func mutationsOf(of *Plugin, objects func(resource string) Objects) *mutations {
	source := &mutations{
		policies: objects(mutatingPolicies), bindings: objects(mutatingBindings), table: of.opts.Kinds.Table, params: of.opts.Params,
		policyOf: mutating.NewMutatingAdmissionPolicyAccessor, bindingOf: mutating.NewMutatingAdmissionPolicyBindingAccessor,
	}
	source.compile = func(policy *mutating.Policy) mutating.PolicyEvaluator {
		return measureMutating(of.opts.Observer, policy.Name, source.bindingOfAny, compileMutating(policy))
	}
	return source
}

// validationsOf returns the source of the validating policies among objects.
func validationsOf(of *Plugin, objects func(resource string) Objects) *validations {
	return &validations{
		policies: objects(validatingPolicies), bindings: objects(validatingBindings), table: of.opts.Kinds.Table, params: of.opts.Params,
		policyOf: validating.NewValidatingAdmissionPolicyAccessor, bindingOf: validating.NewValidatingAdmissionPolicyBindingAccessor,
		compile: func(policy *validating.Policy) validating.Validator {
			return measuredValidator{compileValidating(policy), of.opts.Observer, policy.Name}
		},
	}
}

// newPolicies returns upstream's plugin for the policies of a source.
func newPolicies[H any](
	handler *upstream.Handler, source generic.Source[H],
	dispatcher func(authorizer.UnconditionalAuthorizer, *matching.Matcher, kubernetes.Interface) generic.Dispatcher[H],
) *generic.Plugin[H] {
	plugin := generic.NewPlugin(handler, func(informers.SharedInformerFactory, kubernetes.Interface, dynamic.Interface, meta.RESTMapper) generic.Source[H] {
		return source
	}, dispatcher)
	plugin.SetEnabled(true)
	return plugin
}

// wanted are the interfaces through which the plugins get their dependencies.
type wanted interface {
	initializer.WantsExternalKubeClientSet
	initializer.WantsExternalKubeInformerFactory
	initializer.WantsUnconditionalAuthorizer
	initializer.WantsDrainedNotification
	initializer.WantsAPIServerID
}

// initialize gives the plugins their dependencies. stop ends the goroutines that they have started.
func (p *plugins) initialize(opts Options, factory informers.SharedInformerFactory) (stop func(), err error) {
	client, err := kubernetes.NewForConfig(opts.Config())
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	objects, err := dynamic.NewForConfig(opts.Config())
	if err != nil {
		return nil, fmt.Errorf("making a dynamic client: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	// The sources look up parameters themselves, so the plugins do not use the mapper.
	mapper := meta.NewDefaultRESTMapper(nil)
	p.mutatingPolicies.SetRESTMapper(mapper)
	p.validatingPolicies.SetRESTMapper(mapper)
	p.mutatingPolicies.SetDynamicClient(objects)
	p.validatingPolicies.SetDynamicClient(objects)
	for _, plugin := range []wanted{p.mutatingPolicies, p.validatingPolicies, p.mutatingWebhooks, p.validatingWebhooks} {
		plugin.SetExternalKubeClientSet(client)
		plugin.SetExternalKubeInformerFactory(factory)
		plugin.SetUnconditionalAuthorizer(opts.Authorizer)
		plugin.SetDrainedNotification(ctx.Done())
		plugin.SetAPIServerID("minikcm")
		if err := plugin.ValidateInitialization(); err != nil {
			cancel()
			return nil, err
		}
	}
	return cancel, nil
}
