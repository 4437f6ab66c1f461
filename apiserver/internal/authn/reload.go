package authn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"

	"minikcm.dev/minikcm/apiserver/internal/configfile"
	"minikcm.dev/minikcm/apiserver/internal/reload"
	"minikcm.dev/minikcm/clock"
)

const (
	// firstContact limits how long Reload waits for new issuers to answer, and contactInterval is
	// the interval at which it looks: their library has no signal. Both are in real time.
	firstContact    = time.Minute
	contactInterval = 20 * time.Millisecond
)

// configurationFile is the file of an AuthenticationConfiguration.
type configurationFile struct {
	path    string
	content []byte
	// anonymous is the section anonymous of the first content, which a reload may not change.
	anonymous *apiserver.AnonymousAuthConfig
}

// ConfigFile returns the path of the AuthenticationConfiguration and the content that New read;
// an empty path means that there is none.
func (a *Authenticators) ConfigFile() (path string, content []byte) {
	if a == nil {
		return "", nil
	}
	return a.file.path, a.file.content
}

// Reload replaces the issuers of ConfigFile with the issuers of content, once all new ones have
// answered. After an error, the former ones stay. It must not be called concurrently.
func (a *Authenticators) Reload(ctx context.Context, content []byte) error {
	config, err := configfile.Decode[*apiserver.AuthenticationConfiguration](content)
	if err != nil {
		return fmt.Errorf("failed to load authentication configuration: %w", err)
	}
	if !reflect.DeepEqual(config.Anonymous, a.file.anonymous) {
		return field.Forbidden(field.NewPath("anonymous"), "changed from initial configuration file")
	}
	next, err := a.newIssuers(config, oidc.AllValidSigningAlgorithms())
	if err != nil {
		return err
	}
	if err := next.contact(ctx); err != nil {
		next.close()
		return err
	}
	a.issuers.now.Swap(next).close()
	return nil
}

// contact waits until the keys of all issuers are known.
func (s *issuers) contact(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, firstContact)
	defer cancel()
	for {
		var errs []error
		for _, check := range s.checks {
			errs = append(errs, check())
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		timer := clock.Real().NewTimer(contactInterval)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return reload.Temporary(fmt.Errorf("waiting for the keys of the new issuers: %w", err))
		}
	}
}

// currentIssuers authenticates by the issuers that are in effect.
type currentIssuers struct{ now atomic.Pointer[issuers] }

// AuthenticateToken implements authenticator.Token.
func (c *currentIssuers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	for {
		now := c.now.Load()
		if now.inside.Enter() {
			defer now.inside.Leave()
			return now.tokens.AuthenticateToken(ctx, token)
		}
		if c.now.Load() == now { // not replaced, but closed
			return nil, false, errClosing
		}
	}
}
