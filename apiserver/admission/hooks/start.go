package hooks

import (
	"context"
	"fmt"

	upstream "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"minikcm.dev/minikcm/apiserver/outbound"
	"minikcm.dev/minikcm/clock/informers"
)

// started has upstream's plugins after their start.
type started struct {
	mutatingPolicies   *mutatingpolicy.Plugin
	validatingPolicies *validatingpolicy.Plugin
	mutatingWebhooks   *mutatingwebhook.Plugin
	validatingWebhooks *validatingwebhook.Plugin
	// mutators and validators are the plugins in their order. They add their annotations to
	// the audit event.
	mutators   []upstream.MutationInterface
	validators []upstream.ValidationInterface

	informers *informers.Factory
	stop      func()
}

func start(opts Options) (*started, error) {
	s := &started{}
	var err error
	if s.mutatingPolicies, err = mutatingpolicy.NewPlugin(nil); err != nil {
		return nil, err
	}
	if s.validatingPolicies, err = validatingpolicy.NewPlugin(nil); err != nil {
		return nil, err
	}
	if s.mutatingWebhooks, err = mutatingwebhook.NewMutatingWebhook(nil); err != nil {
		return nil, err
	}
	if s.validatingWebhooks, err = validatingwebhook.NewValidatingAdmissionWebhook(nil); err != nil {
		return nil, err
	}
	plain := func(webhookutil.AuthenticationInfoResolver) webhookutil.AuthenticationInfoResolver {
		return outbound.Resolver{UserAgent: "kube-apiserver-admission"}
	}
	s.mutatingWebhooks.SetAuthenticationInfoResolverWrapper(plain)
	s.validatingWebhooks.SetAuthenticationInfoResolverWrapper(plain)
	s.mutatingWebhooks.SetServiceResolver(opts.Services)
	s.validatingWebhooks.SetServiceResolver(opts.Services)
	for _, plugin := range []upstream.Interface{s.mutatingPolicies, s.mutatingWebhooks} {
		s.mutators = append(s.mutators, upstream.WithAudit(plugin).(upstream.MutationInterface))
	}
	for _, plugin := range []upstream.Interface{s.validatingPolicies, s.validatingWebhooks} {
		s.validators = append(s.validators, upstream.WithAudit(plugin).(upstream.ValidationInterface))
	}
	return s, s.run(opts)
}

// wanted are the interfaces through which the plugins get their dependencies.
type wanted interface {
	initializer.WantsExternalKubeClientSet
	initializer.WantsExternalKubeInformerFactory
	initializer.WantsUnconditionalAuthorizer
	initializer.WantsDrainedNotification
	initializer.WantsAPIServerID
}

func (s *started) run(opts Options) error {
	config := opts.Config()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a dynamic client: %w", err)
	}
	if s.informers, err = informers.NewForConfig(config, opts.Ledger); err != nil {
		return fmt.Errorf("making informers: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = func() {
		cancel()
		s.informers.Shutdown()
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	s.mutatingPolicies.SetRESTMapper(mapper)
	s.validatingPolicies.SetRESTMapper(mapper)
	s.mutatingPolicies.SetDynamicClient(objects)
	s.validatingPolicies.SetDynamicClient(objects)
	s.mutatingPolicies.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	for _, plugin := range []wanted{s.mutatingPolicies, s.validatingPolicies, s.mutatingWebhooks, s.validatingWebhooks} {
		plugin.SetExternalKubeClientSet(client)
		plugin.SetExternalKubeInformerFactory(s.informers)
		plugin.SetUnconditionalAuthorizer(opts.Authorizer)
		plugin.SetDrainedNotification(ctx.Done())
		plugin.SetAPIServerID("minikcm")
		if err := plugin.ValidateInitialization(); err != nil {
			s.stop()
			return err
		}
	}
	s.informers.StartWithContext(ctx)
	return nil
}

// wait returns when all configurations have been read.
func (s *started) wait(ctx context.Context) error {
	return s.informers.WaitForCacheSyncWithContext(ctx).Err
}
