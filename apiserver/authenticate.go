package apiserver

import (
	"context"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/response"
)

// admit authenticates a request and applies impersonation. It authorizes requests for
// paths that are not resources; resource requests are authorized by serveResource,
// which has parsed the path.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (*auth.User, error) {
	user, err := s.authenticate(w, r)
	if err != nil {
		return nil, err
	}
	if auth.WantsImpersonation(r.Header) {
		if user, err = s.impersonate(r, user); err != nil {
			return nil, err
		}
	}
	if isResourcePath(routedPath(r)) {
		return user, nil
	}
	return user, s.authorizePath(r, user)
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

// impersonate returns the user that a request impersonates, if its own user may do so.
func (s *Server) impersonate(r *http.Request, user *auth.User) (*auth.User, error) {
	wanted, err := auth.ReadImpersonation(r.Header)
	if err != nil || wanted == nil {
		return user, err
	}
	return auth.Impersonate(r.Context(), s.opts.Authorizer, attributesOf(r, user), wanted)
}

// authorize authorizes a request for a path beneath a group and version. known reports
// whether the path has the form of a resource path.
func (s *Server) authorize(r *http.Request, user *auth.User, gv schema.GroupVersion, info RequestInfo, known bool) error {
	if !known {
		return s.authorizePath(r, user)
	}
	return s.decide(r.Context(), resourceAttributes(user, gv, info))
}

func (s *Server) authorizePath(r *http.Request, user *auth.User) error {
	return s.decide(r.Context(), pathAttributes(r, user))
}

func (s *Server) decide(ctx context.Context, a auth.Attributes) error {
	decision, reason, err := s.opts.Authorizer.Authorize(ctx, a)
	if decision == auth.Allow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return auth.Forbidden(a, reason)
}

func resourceAttributes(user *auth.User, gv schema.GroupVersion, info RequestInfo) auth.Attributes {
	a := auth.Attributes{
		User: user, Verb: info.Verb, Resource: true, Group: gv.Group, Version: gv.Version,
		Plural: info.GVR.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
	}
	if a.Plural == "namespaces" { // a Namespace is in itself
		a.Namespace = a.Name
	}
	return a
}

func pathAttributes(r *http.Request, user *auth.User) auth.Attributes {
	return auth.Attributes{User: user, Verb: strings.ToLower(r.Method), Path: r.URL.Path}
}

// attributesOf returns the attributes of a request. Resource requests compute them step
// by step instead, for speed.
func attributesOf(r *http.Request, user *auth.User) auth.Attributes {
	gv, rest, ok := splitResourcePath(routedPath(r))
	if !ok {
		return pathAttributes(r, user)
	}
	info, ok := parseResourcePath(gv, r.Method, rest, r.URL.Query())
	if !ok {
		return pathAttributes(r, user)
	}
	return resourceAttributes(user, gv, info)
}

// routedPath returns the path that the router matches, still escaped. An unescaped path
// is returned if both split in the same way.
func routedPath(r *http.Request) string {
	if r.URL.RawPath == "" {
		return r.URL.Path
	}
	return r.URL.EscapedPath()
}

// isResourcePath reports whether an escaped path is beneath a group and version. The
// router has the same two patterns.
func isResourcePath(path string) bool {
	_, _, ok := splitResourcePath(path)
	return ok
}

func splitResourcePath(path string) (gv schema.GroupVersion, rest string, ok bool) {
	if tail, found := strings.CutPrefix(path, "/apis/"); found {
		gv.Group, path, ok = strings.Cut(tail, "/")
		ok = ok && gv.Group != ""
	} else {
		path, ok = strings.CutPrefix(path, "/api/")
	}
	if !ok {
		return schema.GroupVersion{}, "", false
	}
	gv.Version, rest, ok = strings.Cut(path, "/")
	return gv, rest, ok && gv.Version != "" && rest != ""
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
