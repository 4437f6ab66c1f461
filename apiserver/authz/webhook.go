package authz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/outbound"
)

// Webhook describes a webhook that reviews access, as the flags of kube-apiserver do. It is
// used if ConfigFile is set.
type Webhook struct {
	// ConfigFile is a kubeconfig whose cluster is the webhook.
	ConfigFile string
	// Version is the version of SubjectAccessReview to send; empty means v1beta1, as
	// upstream.
	Version string
	// AuthorizedTTL and UnauthorizedTTL are for how long the answers are used, in real time;
	// 0 means five minutes and 30 seconds, negative not at all.
	AuthorizedTTL, UnauthorizedTTL time.Duration
}

// Validate returns an error for options that make no sense. It reads no file.
func (w *Webhook) Validate() error {
	if w.ConfigFile == "" && *w != (Webhook{}) {
		return errors.New("the version and the cache of an authorization webhook need its configuration: set --authorization-webhook-config-file")
	}
	if !slices.Contains([]string{"", "v1", "v1beta1"}, w.Version) {
		return fmt.Errorf("authorization-webhook-version %q is neither v1 nor v1beta1", w.Version)
	}
	return nil
}

// The defaults are upstream's.
const (
	authorizedTTL   = 5 * time.Minute
	unauthorizedTTL = 30 * time.Second
)

// New returns an authorizer that asks a webhook. If the webhook fails, it has no opinion.
func New(w Webhook) (auth.Authorizer, error) {
	config, err := outbound.Kubeconfig(w.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("--authorization-webhook-config-file: %w", err)
	}
	asks, err := webhook.New(config, cmp.Or(w.Version, "v1beta1"),
		max(cmp.Or(w.AuthorizedTTL, authorizedTTL), 0), max(cmp.Or(w.UnauthorizedTTL, unauthorizedTTL), 0),
		*webhook.DefaultRetryBackoff(), authorizer.DecisionNoOpinion, nil, "default", metrics.NoopAuthorizerMetrics{}, authorizationcel.NewDefaultCompiler())
	if err != nil {
		return nil, fmt.Errorf("--authorization-webhook-config-file: %w", err)
	}
	return adapter{asks}, nil
}

// adapter is an authorizer of k8s.io/apiserver as an auth.Authorizer.
type adapter struct{ authorizer.Authorizer }

// Authorize implements auth.Authorizer.
func (w adapter) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	decision, reason, err := w.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: a.User.Info(), Verb: a.Verb, Namespace: a.Namespace, APIGroup: a.Group, APIVersion: a.Version,
		Resource: a.Plural, Subresource: a.Subresource, Name: a.Name, ResourceRequest: a.Resource, Path: a.Path,
	})
	switch decision {
	case authorizer.DecisionAllow:
		return auth.Allow, reason, err
	case authorizer.DecisionDeny:
		return auth.Deny, reason, err
	}
	return auth.NoOpinion, reason, err
}

// RulesFor implements auth.Authorizer: a webhook cannot list what a user may do.
func (adapter) RulesFor(context.Context, *auth.User, string) (auth.Rules, error) {
	return auth.Rules{Incomplete: true}, errors.New("webhook authorizer does not support user rule resolution")
}
