package apiserver

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/audit"
	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/response"
)

// impersonate returns the user that a request acts as, if its headers name another than the
// authenticated one.
func (s *Server) impersonate(ctx context.Context, header http.Header, user *auth.User, info *apirequest.RequestInfo) (*auth.User, error) {
	if !auth.WantsImpersonation(header) {
		return user, nil
	}
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
// already, then a client certificate of the connection, then a bearer token.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (*auth.User, error) {
	if user := auth.FromContext(r.Context()); user != nil {
		return user, nil
	}
	var refused error
	if certificates := auth.ClientCertificatesFrom(r.Context()); certificates != nil {
		var user *auth.User
		if user, refused = certificates.User(r.TLS); user != nil {
			return user, nil
		}
	}
	token, warning := auth.Bearer(r.Header)
	if warning != "" {
		response.Warn(w, warning)
	}
	switch {
	case token == "" && refused != nil:
		s.opts.Logger.V(1).Info("Unable to authenticate the request", "err", refused)
		return nil, unauthorized()
	case token == "":
		return auth.Anonymous(), nil
	}
	verified, err := s.tokens.Verify(r.Context(), token, nil)
	if verified != nil && verified.Secret != nil {
		s.noteUse(r.Context(), verified.Secret)
	}
	if err != nil {
		s.opts.Logger.V(1).Info("Unable to authenticate the request", "err", err)
		return nil, unauthorized()
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
	return lookup[*corev1.ServiceAccount](ctx, o.server.storedCore("serviceaccounts"), namespace, name)
}

func (o tokenObjects) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return lookup[*corev1.Pod](ctx, o.server.storedCore("pods"), namespace, name)
}

func (o tokenObjects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return lookup[*corev1.Secret](ctx, o.server.storedCore("secrets"), namespace, name)
}

func (o tokenObjects) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return lookup[*corev1.Node](ctx, o.server.storedCore("nodes"), "", name)
}
