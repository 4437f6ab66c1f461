package apiserver

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/flow"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/internal/auth"
)

// audited records a request from here to its end. The user is nil if authentication failed.
func (s *Server) audited(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if s.opts.Audit == nil {
		next.ServeHTTP(w, r)
		return
	}
	info, _ := apirequest.RequestInfoFrom(r.Context())
	record, recording, audited, err := s.opts.Audit.Begin(w, audit.Request{
		HTTP: r, ID: w.Header().Get("Audit-Id"), Attributes: attributesOf(auth.FromContext(r.Context()), info), LongRunning: flow.IsLongRunning(info),
	})
	defer record.End()
	if err != nil {
		response.Error(recording, audited, apierrors.NewInternalError(err))
		return
	}
	next.ServeHTTP(recording, audited)
}

// Annotations of the authorizer's decision, as upstream.
const (
	decisionAnnotation = "authorization.k8s.io/decision"
	reasonAnnotation   = "authorization.k8s.io/reason"
)

// authorizeAudited authorizes a request, and adds the decision and its reason to the request's audit event.
func (s *Server) authorizeAudited(ctx context.Context, user *auth.User, info *apirequest.RequestInfo) error {
	reason, refused := s.decide(ctx, attributesOf(user, info))
	if s.opts.Audit == nil {
		return refused
	}
	record := audit.From(ctx)
	switch {
	case refused == nil:
		record.Annotate(ctx, decisionAnnotation, "allow", reasonAnnotation, reason)
	case apierrors.IsForbidden(refused):
		record.Annotate(ctx, decisionAnnotation, "forbid", reasonAnnotation, reason)
	default:
		record.Annotate(ctx, reasonAnnotation, "internal error")
	}
	return refused
}
