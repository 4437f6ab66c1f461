package authn

import (
	"cmp"
	"fmt"
	"time"

	tokencache "k8s.io/apiserver/pkg/authentication/token/cache"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"

	"minikcm.dev/minikcm/apiserver/internal/outbound"
)

// reviewTTL is for how long a webhook's answer is used, as upstream.
const reviewTTL = 2 * time.Minute

// useWebhook adds the webhook that reviews tokens. Its answers are kept in real time.
func (a *Authenticators) useWebhook(opts *Options) error {
	if opts.Webhook.ConfigFile == "" {
		return nil
	}
	config, err := outbound.Kubeconfig(opts.Webhook.ConfigFile)
	if err != nil {
		return fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
	}
	one, err := webhook.New(config, cmp.Or(opts.Webhook.Version, "v1beta1"), a.deps.Audiences, *webhook.DefaultRetryBackoff())
	if err != nil {
		return fmt.Errorf("--authentication-token-webhook-config-file: %w", err)
	}
	ttl := max(cmp.Or(opts.Webhook.CacheTTL, reviewTTL), 0)
	a.after = append(a.after, tokencache.New(one, false, ttl, ttl))
	return nil
}
