package apiserver

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/reasons"
	"minikcm.dev/minikcm/internal/writerecord"
	"minikcm.dev/minikcm/store"
)

// noteRefused records that a request for a resource was refused with err before its verb was served.
func (s *Server) noteRefused(r *http.Request, by reasons.Refuser, err error) {
	info, ok := request.InfoFrom(r.Context())
	if !ok || isDryRun(r) {
		return
	}
	s.addRefusal(r, info, writerecord.Refusal{By: by}, err)
}

// noteFailed records that a call failed with err, if something refused it. Most errors are answers,
// such as that an object does not exist.
func (s *Server) noteFailed(r *http.Request, rq *verbs.Call, err error) {
	if isDryRun(r) {
		return
	}
	refusal := writerecord.Refusal{}
	if rq.Row != nil {
		refusal.Kind = rq.Row.Kind
	}
	if refused, ok := rq.Refused(err); ok {
		refusal.By = refused.By
		info := rq.Info
		if m, err := meta.Accessor(refused.Object); err == nil {
			if owner := metav1.GetControllerOfNoCopy(m); owner != nil {
				refusal.Controller = &writerecord.Owner{Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
			}
			if info.Verb == request.VerbCreate && m.GetGenerateName() != "" {
				info.Name = "" // another one in the next request
			}
		}
		s.addRefusal(r, info, refusal, err)
		return
	}
	var unavailable *store.UnavailableError
	switch {
	case errors.As(err, &unavailable):
		refusal.By.Kind = reasons.ByStore
	case timedOut(r.Context(), err):
		refusal.By.Kind = reasons.ByTimeout
	default:
		return
	}
	s.addRefusal(r, rq.Info, refusal, err)
}

// timedOut reports whether a request ended at its own limit or at its client's, and not because its
// client has gone.
func timedOut(ctx context.Context, err error) bool {
	if !apierrors.IsTimeout(err) || apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return false
	}
	return ctx.Err() == nil || errors.Is(context.Cause(ctx), clock.ErrTimeout) || errors.Is(ctx.Err(), context.DeadlineExceeded)
}

func isDryRun(r *http.Request) bool { return r.URL.Query().Has("dryRun") }

func (s *Server) addRefusal(r *http.Request, info request.Info, refusal writerecord.Refusal, err error) {
	refusal.UserAgent, refusal.Verb = r.UserAgent(), info.Verb
	refusal.Resource, refusal.Subresource = metav1.GroupVersionResource(info.GVR), info.Subresource
	refusal.Namespace, refusal.Name = info.Namespace, info.Name
	refusal.Code, refusal.Message, refusal.Last = http.StatusInternalServerError, err.Error(), s.opts.Clock.Now()
	if user := auth.FromContext(r.Context()); user != nil {
		refusal.Actor = user.Name
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		refusal.Code, refusal.Message = status.Status().Code, status.Status().Message
	}
	if refusal.Kind == "" {
		if row := s.current().Table.Lookup(info.GVR); row != nil {
			refusal.Kind = row.Kind
		}
	}
	s.log.Refusals().Add(refusal)
}

// rejecting records that priority and fairness rejects a request: it responds with 429 itself and does
// not call the handler, which gets the writer without this.
type rejecting struct {
	http.ResponseWriter
	server *Server
	r      *http.Request
}

// WriteHeader implements http.ResponseWriter.
func (w *rejecting) WriteHeader(code int) {
	if code == http.StatusTooManyRequests {
		w.server.noteRefused(w.r, reasons.Refuser{Kind: reasons.ByFlowControl}, errTooMany)
	}
	w.ResponseWriter.WriteHeader(code)
}

// errTooMany is the message of a rejection by priority and fairness.
var errTooMany = apierrors.NewTooManyRequestsError("Too many requests, please try again later.")

// accepted calls next with the writer of a request that is not rejected.
func accepted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rejecting, ok := w.(*rejecting); ok {
			w = rejecting.ResponseWriter
		}
		next.ServeHTTP(w, r)
	})
}
