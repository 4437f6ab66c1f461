package apiserver

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/metrics"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/apiserver/internal/verbs"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/cause"
)

// serveResource serves everything beneath a group and version.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request) {
	info, ok := request.InfoFrom(r.Context())
	if !ok {
		s.noSuchResource(w, r, mux.Vars(r)["group"])
		return
	}
	s.serveInfo(w, r, info)
}

// serveInfo serves a request for a resource, an object or a subresource.
func (s *Server) serveInfo(w http.ResponseWriter, r *http.Request, info request.Info) {
	r, err := fenced(r)
	if err != nil {
		response.Error(w, r, err)
		return
	}
	coded := &response.CodeWriter{ResponseWriter: w}
	rq := s.newCall(coded, r, info)
	if !rq.Local {
		rq.Reserved = s.responses.Share()
		defer rq.Reserved.Release()
	}
	found := s.definitions.Find(info.GVR, info.Verb == request.VerbWatch)
	defer found.Leave()
	if rq.Objects = found.Objects; !s.resolve(rq, found.Row) {
		s.noSuchResource(w, r, info.GVR.Group)
		return
	}
	defer s.measure(rq, coded)()
	if err := s.dispatch(rq); err != nil {
		if transport.IsActor(r.Context()) && apierrors.IsForbidden(err) { // by admission
			s.noteDenied(r.Context(), rq.User, err)
		}
		s.noteFailed(r, rq, err)
		response.Error(coded, r, err)
	}
}

// newCall returns the call that a request makes, of a resource that is not resolved.
func (s *Server) newCall(w http.ResponseWriter, r *http.Request, info request.Info) *verbs.Call {
	rq := s.verbs.NewCall(request.Request{
		Info: info, Env: s.env, Writer: w, HTTP: r, Query: r.URL.Query(), User: auth.FromContext(r.Context()),
		Local: transport.IsLocal(r.Context()),
	})
	if rq.Causes = cause.Parse(r.Header.Get(cause.Header)); rq.Local && rq.Causes == nil {
		rq.Causes = cause.From(r.Context())
	}
	if s.opts.Audit != nil {
		rq.Audit = audit.From(r.Context())
	}
	if info.Verb == request.VerbWatch && info.Name != "" {
		rq.Query.Set("fieldSelector", "metadata.name="+info.Name)
		rq.Name = ""
	}
	return rq
}

// resolve gives a call its row, which definitions know or the kinds of any version, and its subresource. It returns
// false if there is no such resource for its user.
func (s *Server) resolve(rq *verbs.Call, known *resources.Resource) bool {
	rq.Row = known
	if rq.Row == nil || rq.Row.Hidden && !isPart(&rq.Request) {
		rq.Row = s.anyRow(rq.Info.GVR.GroupVersion())
	}
	if rq.Row == nil {
		return false
	}
	rq.Sub = rq.Row.Subresource(rq.Info.Subresource)
	return true
}

// measure counts a call in the metrics. The caller calls end once it is answered.
func (s *Server) measure(rq *verbs.Call, coded *response.CodeWriter) (end func()) {
	measured := &metrics.Request{Info: rq.Info, Connects: rq.Connects()}
	if gvr := rq.Info.GVR; rq.Row.Custom {
		measured.Served = func() bool { return s.current().Table.Lookup(gvr) != nil }
	}
	served, elapsed := s.metrics.Begin(measured), clock.Stopwatch()
	return func() {
		measured.Info, measured.LongRunning = rq.Info, rq.LongRunning() // a create has learnt the name
		s.metrics.Observe(measured, coded.Code, elapsed())
		served()
	}
}

// dispatch calls what serves the verb.
func (s *Server) dispatch(rq *verbs.Call) error {
	defer s.observeHeartbeats(rq)()
	defer s.observeLive(rq)()
	if rq.Row.GetAny != nil {
		return s.kindCall(rq).serveAny()
	}
	return rq.Serve()
}

// isPart reports whether a request comes from a part of the cluster in this process. Parts use the kinds of
// the newest release, whichever is emulated.
func isPart(rq *request.Request) bool {
	return rq.Local && rq.User != nil && strings.HasPrefix(rq.User.Name, "system:")
}

// noSuchResource responds to a request for a resource that is not in the table.
func (s *Server) noSuchResource(w http.ResponseWriter, r *http.Request, group string) {
	if !slices.ContainsFunc(s.table.Groups(), func(g resources.Group) bool { return g.Name == group }) {
		response.NoRoute(w)
		return
	}
	response.Error(w, r, response.NotFound())
}
