package apiserver

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/mux"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/authn"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/auth"
)

// newTokens returns the issuer and verifier of tokens, with the key of the options.
func (s *Server) newTokens() (*auth.Tokens, error) {
	key := s.opts.TokenKey
	if key == nil {
		var err error
		if key, err = auth.NewTokenKey(); err != nil {
			return nil, err
		}
	}
	return &auth.Tokens{
		Key: key, Trusted: s.opts.TrustedTokenKeys, Issuers: s.opts.TokenIssuers, OwnAudiences: s.opts.APIAudiences, Clock: s.opts.Clock, Objects: tokenObjects{s},
		NewID: func(account *corev1.ServiceAccount) string {
			return string(s.chance.For("tokens", account.Namespace, account.Name).UID())
		},
	}, nil
}

// newAuthenticators returns the authenticators of the options. As upstream, the mode
// AlwaysAllow turns anonymous requests off, also if Options.Authentication turns them on; an
// AuthorizationConfiguration does not.
func (s *Server) newAuthenticators() (*authn.Authenticators, error) {
	allowsAll := s.opts.AuthorizationConfig == nil && slices.Contains(s.opts.AuthorizationModes, AuthorizeAlways)
	if asked := s.opts.Authentication.Anonymous; allowsAll && asked != nil && *asked {
		s.opts.Logger.Info("Refusing anonymous requests: --anonymous-auth is not allowed with the authorization mode AlwaysAllow")
	}
	return authn.New(s.opts.Authentication, authn.Dependencies{
		Clock: s.opts.Clock, Secret: tokenObjects{s}.Secret, Audiences: s.tokens.Audiences(), RefuseAnonymous: allowsAll, Logger: s.opts.Logger,
	})
}

// verifyToken returns the user of a bearer token, which must have one of audiences; empty
// means the apiserver's own.
func (s *Server) verifyToken(ctx context.Context, token string, audiences []string) (*auth.Verified, error) {
	verified, err := s.authn.Verify(ctx, token, audiences, s.tokens.Verify)
	if verified != nil && verified.Secret != nil {
		s.noteUse(ctx, verified.Secret)
	}
	return verified, err
}

// ClientTrust returns the data of the ConfigMap extension-apiserver-authentication. clients is
// the PEM of the authority that the server listens with. proxies is the PEM of the authority
// that signed the server's client certificate, with the name proxy, which it shows to other servers.
func (s *Server) ClientTrust(clients, proxies []byte, proxy string) (map[string]string, error) {
	return s.authn.Trust(clients, proxies, proxy)
}

func (s *Server) storedCore(plural string) *storage.Objects {
	return s.stored[corev1.SchemeGroupVersion.WithResource(plural)]
}

// routeTokenDiscovery serves the documents with which clients verify tokens.
func (s *Server) routeTokenDiscovery(router *mux.Router) {
	serve := func(contentType string, document func(r *http.Request) ([]byte, error)) http.HandlerFunc {
		return response.Produces([]string{contentType}, func(w http.ResponseWriter, r *http.Request) {
			data, err := document(r)
			if err != nil {
				response.Error(w, r, err)
				return
			}
			w.Header().Set("Cache-Control", "public, max-age=3600")
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(data)
		})
	}
	for _, slash := range []string{"", "/"} {
		router.HandleFunc(auth.ConfigurationPath+slash, serve("application/json", func(r *http.Request) ([]byte, error) {
			return s.tokens.Configuration(r.Host)
		}))
		router.HandleFunc(auth.KeySetPath+slash, serve("application/jwk-set+json", func(*http.Request) ([]byte, error) {
			return s.tokens.KeySet()
		}))
	}
}

// lastUsedLabel has the day on which a secret's token was last used (KEP-2799).
const lastUsedLabel = "kubernetes.io/legacy-token-last-used"

// noteUse sets the day on which a secret's token was used. Failures are ignored,
// because the next use tries again.
func (s *Server) noteUse(ctx context.Context, secret *corev1.Secret) {
	now := s.opts.Clock.Now().UTC()
	today, tomorrow := now.Format(time.DateOnly), now.AddDate(0, 0, 1).Format(time.DateOnly)
	if used := secret.Labels[lastUsedLabel]; used == today || used == tomorrow {
		return
	}
	secrets := s.storedCore("secrets")
	change := func(stored runtime.Object) (runtime.Object, error) {
		updated, ok := stored.DeepCopyObject().(*corev1.Secret)
		if !ok || updated.UID != secret.UID {
			return stored, nil
		}
		updated.Labels = maps.Clone(updated.Labels)
		if updated.Labels == nil {
			updated.Labels = map[string]string{}
		}
		updated.Labels[lastUsedLabel] = today
		return updated, nil
	}
	if _, err := secrets.Update(ctx, secrets.Key(secret.Namespace, secret.Name), secret.Name, change, storage.UpdateOptions{}); err != nil {
		s.opts.Logger.Error(err, "Noting the use of a secret's token", "namespace", secret.Namespace, "secret", secret.Name)
	}
}
