package apiserver

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/storage"
	"minikcm.dev/minikcm/internal/auth"
)

// impersonate returns the user that the headers of a request name.
func (s *Server) impersonate(ctx context.Context, header http.Header, user *auth.User, info *apirequest.RequestInfo) (*auth.User, error) {
	wanted, err := auth.ReadImpersonation(header)
	if err != nil || wanted == nil {
		return user, err
	}
	other, constraint, err := auth.Impersonate(ctx, s.opts.Authorizer, attributesOf(user, info), wanted)
	if err == nil && s.opts.Audit != nil {
		audit.From(ctx).Impersonates(other, constraint)
	}
	return other, err
}

// authenticate finds the user in upstream's order: the in-memory transport has set it
// already, then the headers of a front proxy, a client certificate of the connection, and a
// bearer token. A credential that is refused does not make a request anonymous.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (*auth.User, error) {
	if user := auth.FromContext(r.Context()); user != nil {
		return user, nil
	}
	user, err := s.authn.Proxied(r)
	if certificates := auth.ClientCertificatesFrom(r.Context()); user == nil && certificates != nil {
		var refused error
		user, refused = certificates.User(r.TLS)
		err = utilerrors.NewAggregate([]error{err, refused})
	}
	if user == nil {
		var refused error
		user, refused = s.authenticateToken(w, r)
		err = utilerrors.NewAggregate([]error{err, refused})
	}
	if user == nil && err == nil && s.authn.Anonymous(r) {
		user = auth.Anonymous()
	}
	if user == nil {
		if err != nil {
			s.opts.Logger.Error(err, "Unable to authenticate the request")
		}
		return nil, unauthorized()
	}
	auth.DropCredentials(r.Header)
	s.authn.Strip(r.Header)
	return user, nil
}

// authenticateToken returns the user of the request's bearer token, or nil.
func (s *Server) authenticateToken(w http.ResponseWriter, r *http.Request) (*auth.User, error) {
	token, warning := auth.Bearer(r.Header)
	if warning != "" {
		response.Warn(w, warning)
	}
	if token == "" {
		return nil, nil
	}
	verified, err := s.verifyToken(r.Context(), token, nil)
	if err != nil {
		return nil, err
	}
	if verified.Warning != "" {
		response.Warn(w, verified.Warning)
	}
	auth.DropWebSocketToken(r.Header)
	return verified.User, nil
}

// unauthorized does not include the reason, so that a client learns nothing about a bad
// token.
func unauthorized() error {
	err := apierrors.NewUnauthorized("Unauthorized")
	err.ErrStatus.Details = nil
	return err
}

// tokenObjects looks up the objects that tokens are bound to.
type tokenObjects struct{ server *Server }

func (o tokenObjects) ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	return storage.Lookup[*corev1.ServiceAccount](ctx, o.server.storedCore("serviceaccounts"), namespace, name)
}

func (o tokenObjects) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return storage.Lookup[*corev1.Pod](ctx, o.server.storedCore("pods"), namespace, name)
}

func (o tokenObjects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return storage.Lookup[*corev1.Secret](ctx, o.server.storedCore("secrets"), namespace, name)
}

func (o tokenObjects) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return storage.Lookup[*corev1.Node](ctx, o.server.storedCore("nodes"), "", name)
}
