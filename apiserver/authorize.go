package apiserver

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/internal/auth"
)

// decide asks the authorizer about a request. It returns the reason of the decision and, unless the request is
// allowed, upstream's error. Every request passes it, before fault injection and routing.
func (s *Server) decide(ctx context.Context, a auth.Attributes) (reason string, refused error) {
	decision, reason, err := s.opts.Authorizer.Authorize(ctx, a)
	switch {
	case decision == auth.Allow:
		return reason, nil
	case err != nil:
		return reason, apierrors.NewInternalError(err)
	}
	refused = auth.Forbidden(a, reason)
	if s.nodes != nil && s.nodes.Unrelated(ctx, a) {
		refused = auth.Unrelated(refused)
	}
	return reason, refused
}

// noteDenied reports that a system user or a kubelet in the process lacks a permission.
func (s *Server) noteDenied(ctx context.Context, user *auth.User, err error) {
	own := strings.HasPrefix(user.Name, "system:kube-") || strings.HasPrefix(user.Name, "system:serviceaccount:kube-system:") || user.Name == KubeletsUser
	if !transport.IsLocal(ctx) || !own && !transport.IsActor(ctx) {
		return
	}
	// A kubelet may read the objects that a pod refers to only until the pod is deleted, and gets that event later.
	if transport.IsActor(ctx) && auth.IsUnrelated(err) {
		return
	}
	if s.opts.Denied != nil {
		s.opts.Denied(user.Name, err)
	}
}

// authorizeCreate authorizes the creation of the resource of a request that has been
// authorized with another verb.
func (rq kindCall) authorizeCreate(ctx context.Context) error {
	if rq.Verb == request.VerbCreate {
		return nil
	}
	_, err := rq.server.authorizeVerb(ctx, rq.Call, request.VerbCreate)
	return err
}

// authorizeVerb authorizes another verb on the object of a call.
func (s *Server) authorizeVerb(ctx context.Context, rq *verbs.Call, verb string) (reason string, err error) {
	info, ok := apirequest.RequestInfoFrom(rq.HTTP.Context())
	if !ok {
		return "", nil
	}
	other := *info
	other.Verb = verb
	return s.decide(ctx, attributesOf(rq.User, &other))
}

// attributesOf returns the attributes of a request for the Authorizer.
func attributesOf(user *auth.User, info *apirequest.RequestInfo) auth.Attributes {
	if !info.IsResourceRequest {
		return auth.Attributes{User: user, Verb: info.Verb, Path: info.Path}
	}
	return auth.Attributes{
		User: user, Verb: info.Verb, Resource: true, Group: info.APIGroup, Version: info.APIVersion,
		Plural: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
		FieldSelector: info.FieldSelector, LabelSelector: info.LabelSelector,
	}
}
