package authz

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"k8s.io/apiserver/pkg/apis/apiserver"

	"minikcm.dev/minikcm/internal/auth"
)

// Chain asks the authorizers of a Configuration in turn. The configuration can be replaced
// while requests are authorized. Its methods may be called concurrently, except Reload.
type Chain struct {
	builtIn map[string]auth.Authorizer
	// fixed are the types that a configuration has if and only if the first one had them.
	fixed map[string]bool
	now   atomic.Pointer[auth.Union]
}

// NewChain returns the chain of a configuration. builtIn are the authorizers of all types but
// Webhook, by their type. As upstream, a later configuration may neither add nor remove the
// types Node and RBAC, nor remove another built-in type.
func NewChain(c *Configuration, builtIn map[string]auth.Authorizer) (*Chain, error) {
	chain := &Chain{builtIn: builtIn, fixed: map[string]bool{"Node": false, "RBAC": false}}
	for _, t := range c.Types() {
		if t != string(apiserver.TypeWebhook) {
			chain.fixed[t] = true
		}
	}
	return chain, chain.use(c)
}

// Reload replaces the configuration with the one in content. After an error, the former one
// stays.
func (z *Chain) Reload(_ context.Context, content []byte) error {
	types := append(slices.Collect(maps.Keys(z.builtIn)), string(apiserver.TypeWebhook))
	c, err := Parse(content, types)
	if err != nil {
		return err
	}
	has := c.Types()
	var missing []string
	for _, t := range slices.Sorted(maps.Keys(z.fixed)) {
		switch required := z.fixed[t]; {
		case required && !slices.Contains(has, t):
			missing = append(missing, t)
		case !required && slices.Contains(has, t):
			return fmt.Errorf("authorizer type %s is not allowed if it was not enabled at initial server startup", t)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing required types: %v", missing)
	}
	return z.use(c)
}

func (z *Chain) use(c *Configuration) error {
	var union auth.Union
	for i := range c.parsed.Authorizers {
		a := &c.parsed.Authorizers[i]
		if a.Type != apiserver.TypeWebhook {
			union = append(union, z.builtIn[string(a.Type)])
			continue
		}
		asks, err := newWebhook(a.Name, a.Webhook, c.compiler)
		if err != nil {
			return fmt.Errorf("authorizer %s: %w", a.Name, err)
		}
		union = append(union, asks)
	}
	z.now.Store(&union)
	return nil
}

// Authorize implements auth.Authorizer.
func (z *Chain) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, string, error) {
	return z.now.Load().Authorize(ctx, a)
}

// RulesFor implements auth.Authorizer.
func (z *Chain) RulesFor(ctx context.Context, user *auth.User, namespace string) (auth.Rules, error) {
	return z.now.Load().RulesFor(ctx, user, namespace)
}
