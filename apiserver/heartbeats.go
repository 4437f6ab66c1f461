package apiserver

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/internal/heartbeats"
	"minikcm.dev/minikcm/internal/inflight"
)

// observeHeartbeats brings the heartbeats up to date that a request is about. They are all written while
// a watch lasts, until end is called. What parts of the cluster read does not count: they ignore
// heartbeats, or are notified of their end.
func (s *Server) observeHeartbeats(rq *verbs.Call) (end func()) {
	e, ctx := s.opts.Heartbeats, rq.HTTP.Context()
	if e == nil {
		return func() {}
	}
	kind, concerns := heartbeatOf(&rq.Info)
	disturbed := disturbs(rq)
	if len(disturbed) == 0 && (!concerns || transport.IsPart(ctx)) {
		return func() {}
	}
	work := inflight.Begin(s.opts.Ledger, inflight.Request)
	defer work.End()
	if len(disturbed) > 0 {
		return s.disturb(ctx, rq, disturbed)
	}
	end = func() {}
	wrote := e.Look(ctx, kind, rq.Name)
	if rq.Verb == request.VerbWatch {
		end = e.Attend(ctx, kind)
	}
	if wrote && rq.Objects != nil {
		// A read of the cache sees them, too. An error of the store is found again by the request.
		_, _ = rq.Objects.Empty(ctx)
	}
	return end
}

// heartbeatOf returns the kind of heartbeats that a request concerns.
func heartbeatOf(info *request.Info) (kind heartbeats.Kind, concerns bool) {
	switch info.GVR.GroupResource() {
	case coordinationv1.Resource("leases"):
		return heartbeats.Leases, info.Namespace == "" || info.Namespace == corev1.NamespaceNodeLease
	case corev1.Resource("nodes"):
		return heartbeats.Nodes, true
	}
	return 0, false
}

// disturbs returns the kinds of heartbeats whose outcome a request may change. The kubelets' own writes
// do not, nor do writes of Nodes, whose kubelets follow them.
func disturbs(rq *verbs.Call) []heartbeats.Kind {
	if rq.Verb == request.VerbGet || rq.Verb == request.VerbList || rq.Verb == request.VerbWatch || transport.IsActor(rq.HTTP.Context()) {
		return nil
	}
	kind, concerns := heartbeatOf(&rq.Info)
	switch {
	case concerns && kind == heartbeats.Leases:
		return []heartbeats.Kind{kind}
	case rq.GVR.Group == admissionv1.GroupName,
		rq.GVR.GroupResource() == corev1.Resource("namespaces") && rq.Name == corev1.NamespaceNodeLease:
		return heartbeats.Kinds()
	}
	return nil
}

// disturb brings heartbeats up to date before a write that changes the outcome of the next ones, which
// are written then.
func (s *Server) disturb(ctx context.Context, rq *verbs.Call, disturbed []heartbeats.Kind) (end func()) {
	node := ""
	if _, concerns := heartbeatOf(&rq.Info); concerns {
		node = rq.Name
	}
	for _, kind := range disturbed {
		s.opts.Heartbeats.Look(ctx, kind, node)
	}
	return func() {
		for _, kind := range disturbed {
			s.opts.Heartbeats.Disturb(kind, node)
		}
	}
}
