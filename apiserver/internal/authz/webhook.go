package authz

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"

	"minikcm.dev/minikcm/apiserver/internal/outbound"
	"minikcm.dev/minikcm/internal/auth"
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
	// flagsName is the name of the webhook of the flags.
	flagsName = "default"
)

// New returns an authorizer that asks a webhook. If the webhook fails, it has no opinion.
func New(w Webhook) (auth.Authorizer, error) {
	allowed, refused := max(cmp.Or(w.AuthorizedTTL, authorizedTTL), 0), max(cmp.Or(w.UnauthorizedTTL, unauthorizedTTL), 0)
	asks, err := newWebhook(flagsName, &apiserver.WebhookConfiguration{
		AuthorizedTTL: metav1.Duration{Duration: allowed}, CacheAuthorizedRequests: allowed > 0,
		UnauthorizedTTL: metav1.Duration{Duration: refused}, CacheUnauthorizedRequests: refused > 0,
		Timeout: metav1.Duration{Duration: outbound.Timeout}, FailurePolicy: apiserver.FailurePolicyNoOpinion,
		SubjectAccessReviewVersion: cmp.Or(w.Version, "v1beta1"),
		ConnectionInfo:             apiserver.WebhookConnectionInfo{KubeConfigFile: &w.ConfigFile},
	}, authorizationcel.NewDefaultCompiler())
	if err != nil {
		return nil, fmt.Errorf("--authorization-webhook-config-file: %w", err)
	}
	return asks, nil
}

// newWebhook returns an authorizer that asks a webhook, which must have the path of a kubeconfig.
func newWebhook(name string, w *apiserver.WebhookConfiguration, compiler authorizationcel.Compiler) (auth.Authorizer, error) {
	config, err := outbound.Kubeconfig(*w.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, err
	}
	config.Timeout = w.Timeout.Duration
	allowed, refused := w.AuthorizedTTL.Duration, w.UnauthorizedTTL.Duration
	if !w.CacheAuthorizedRequests {
		allowed = 0
	}
	if !w.CacheUnauthorizedRequests {
		refused = 0
	}
	onError := authorizer.DecisionNoOpinion
	if w.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	asks, err := webhook.New(config, w.SubjectAccessReviewVersion, allowed, refused, *webhook.DefaultRetryBackoff(),
		onError, w.MatchConditions, name, metrics.NoopAuthorizerMetrics{}, compiler)
	if err != nil {
		return nil, err
	}
	return adapter{asks}, nil
}

// adapter is an authorizer of k8s.io/apiserver as an auth.Authorizer.
type adapter struct{ authorizer.Authorizer }

// Authorize implements auth.Authorizer.
func (w adapter) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	decision, reason, err := w.Authorizer.Authorize(ctx, recordOf(&a))
	switch decision {
	case authorizer.DecisionAllow:
		return auth.Allow, reason, err
	case authorizer.DecisionDeny:
		return auth.Deny, reason, err
	}
	return auth.NoOpinion, reason, err
}

// recordOf returns upstream's form of the attributes. A selector that cannot be parsed is left
// out: without it, a request asks for more.
func recordOf(a *auth.Attributes) authorizer.AttributesRecord {
	record := authorizer.AttributesRecord{
		User: a.User.Info(), Verb: a.Verb, Namespace: a.Namespace, APIGroup: a.Group, APIVersion: a.Version,
		Resource: a.Plural, Subresource: a.Subresource, Name: a.Name, ResourceRequest: a.Resource, Path: a.Path,
	}
	if a.FieldSelector != "" {
		var selector fields.Selector
		if selector, record.FieldSelectorParsingErr = fields.ParseSelector(a.FieldSelector); record.FieldSelectorParsingErr == nil {
			record.FieldSelectorRequirements = selector.Requirements()
		}
	}
	if a.LabelSelector != "" {
		var selector labels.Selector
		if selector, record.LabelSelectorParsingErr = labels.Parse(a.LabelSelector); record.LabelSelectorParsingErr == nil {
			record.LabelSelectorRequirements, _ = selector.Requirements()
		}
	}
	return record
}

// RulesFor implements auth.Authorizer: a webhook cannot list what a user may do.
func (adapter) RulesFor(context.Context, *auth.User, string) (auth.Rules, error) {
	return auth.Rules{Incomplete: true}, errors.New("webhook authorizer does not support user rule resolution")
}
