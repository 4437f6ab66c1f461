package apiserver

import (
	"cmp"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gorilla/mux"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"minikcm.dev/minikcm/apiserver/internal/apiservices"
	"minikcm.dev/minikcm/apiserver/internal/audit"
	"minikcm.dev/minikcm/apiserver/internal/discovery"
	"minikcm.dev/minikcm/apiserver/internal/metrics"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/apiserver/internal/transport"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/cause"
	"minikcm.dev/minikcm/internal/reasons"
)

// newHandler builds the handler chain: every request passes the filters, is routed, and
// is parsed once.
func (s *Server) newHandler() http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { response.NoRoute(w) })
	router.MatcherFunc(func(r *http.Request, _ *mux.RouteMatch) bool { return s.aggregator.Serves(r) }).Handler(s.aggregator)
	router.HandleFunc("/api/{version}/{rest:.+}", s.serveResource)
	router.HandleFunc("/apis/{group}/{version}/{rest:.+}", s.serveResource)
	s.routeMetricNames(router)
	discovery.New(discovery.Options{
		Table: func() *resources.Table { return s.current().Table }, Remote: s.aggregator.Remote, Priority: apiservices.GroupPriority,
	}).Route(router)
	s.routeHealth(router)
	s.routeZPages(router)
	router.PathPrefix("/openapi/").HandlerFunc(s.serveOpenAPI)
	router.Handle("/metrics", s.metrics.Handler())
	router.Handle("/metrics/slis", s.metrics.HealthHandler())
	routeProfiling(router)
	s.routeFlowDumps(router)
	s.routeTokenDiscovery(router)
	router.HandleFunc(ownPath+"/writes", s.serveWrites)
	router.HandleFunc(ownPath+"/refusals", s.serveRefusals)
	router.HandleFunc(ownPath+"/revisions", s.serveRevisions)
	router.HandleFunc(ownPath+"/snapshot", s.serveSnapshot)
	if s.opts.Own != nil {
		router.Handle(ownPath, s.opts.Own)
		router.PathPrefix(ownPath + "/").Handler(s.opts.Own)
	}
	s.routeIndex(router)
	s.unlimited = s.authorized(s.faulted(router))
	return s.filter(http.HandlerFunc(s.limit))
}

// filter wraps the handling of every request: counting requests in flight, recovering
// from panics, parsing and authentication.
func (s *Server) filter(next http.Handler) http.Handler {
	ids := newRequestIDs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.inFlight.Enter() {
			w.Header().Set("Retry-After", "1")
			response.Error(w, r, apierrors.NewServiceUnavailable("apiserver is shutting down"))
			return
		}
		defer s.inFlight.Leave()
		setHeaders(w, r, ids)
		defer s.recoverPanic(w, r)
		ctx, info := request.Parse(r.Context(), r)
		user, err := s.authenticate(w, r)
		err = cmp.Or(refuseCrossSite(r), err)
		if s.opts.Audit != nil {
			record, recording, audited, recordErr := s.audited(w, r.WithContext(ctx), user, info)
			defer record.End()
			w, r, ctx, err = recording, audited, audited.Context(), cmp.Or(err, recordErr)
		}
		if err == nil {
			if user, err = s.impersonate(ctx, r.Header, user, info); err != nil {
				setNoSniff(w)
			}
		}
		if err != nil {
			response.Error(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(auth.WithUser(ctx, user)))
	})
}

// authorized serves the requests with next that their users may make.
func (s *Server) authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := apirequest.RequestInfoFrom(r.Context())
		user := auth.FromContext(r.Context())
		if err := s.authorizeAudited(r.Context(), user, info); err != nil {
			s.noteDenied(r.Context(), user, err)
			setNoSniff(w)
			if !auth.IsUnrelated(err) {
				s.noteRefused(r, reasons.Refuser{Kind: reasons.ByAuthorization}, err)
			}
			response.Error(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// setNoSniff marks a refusal, whose message has names from the request in it, as no other content than it
// says.
func setNoSniff(w http.ResponseWriter) { w.Header().Set("X-Content-Type-Options", "nosniff") }

func setHeaders(w http.ResponseWriter, r *http.Request, ids *requestIDs) {
	id := r.Header.Get("Audit-Id")
	if id == "" {
		id = ids.next()
	}
	w.Header().Set("Audit-Id", id)
	w.Header().Set("Cache-Control", "no-cache, private")
}

func (s *Server) recoverPanic(w http.ResponseWriter, r *http.Request) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason == http.ErrAbortHandler {
		panic(reason)
	}
	s.opts.Logger.Error(fmt.Errorf("panic: %v", reason), "Request handler panicked", "method", r.Method, "path", r.URL.Path, "stack", string(debug.Stack()))
	response.Error(w, r, apierrors.NewInternalError(fmt.Errorf("panic serving %s %s", r.Method, r.URL.Path)))
}

// serveResource serves everything beneath a group and version.
func (s *Server) serveResource(w http.ResponseWriter, r *http.Request) {
	info, ok := request.InfoFrom(r.Context())
	if !ok {
		s.noSuchResource(w, r, mux.Vars(r)["group"])
		return
	}
	r, err := fenced(r)
	if err != nil {
		response.Error(w, r, err)
		return
	}
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
	if !rq.Local {
		rq.Held = s.responses.Share()
		defer rq.Held.Release()
	}
	if info.Verb == request.VerbWatch && info.Name != "" {
		rq.Query.Set("fieldSelector", "metadata.name="+info.Name)
		rq.Name = ""
	}
	found := s.definitions.Find(info.GVR, info.Verb == request.VerbWatch)
	defer found.Leave()
	rq.Row, rq.Objects = found.Row, found.Objects
	if rq.Row != nil && rq.Row.Hidden && !isPart(&rq.Request) {
		rq.Row = nil
	}
	if rq.Row == nil {
		rq.Row = s.anyRow(info.GVR.GroupVersion())
	}
	if rq.Row == nil {
		s.noSuchResource(w, r, info.GVR.Group)
		return
	}
	rq.Sub = rq.Row.Subresource(info.Subresource)
	coded := &response.CodeWriter{ResponseWriter: w}
	rq.Writer = coded
	measured := &metrics.Request{Info: rq.Info, Connects: rq.Connects()}
	if rq.Row.Custom {
		measured.Served = func() bool { return s.current().Table.Lookup(info.GVR) != nil }
	}
	defer s.metrics.Begin(measured)()
	elapsed := clock.Stopwatch()
	defer func() {
		measured.Info, measured.LongRunning = rq.Info, rq.LongRunning() // a create has learnt the name
		s.metrics.Observe(measured, coded.Code, elapsed())
	}()
	defer s.observeHeartbeats(rq)()
	defer s.observeLive(rq)()
	if rq.Row.GetAny != nil {
		err = s.kindCall(rq).serveAny()
	} else {
		err = rq.Serve()
	}
	if err != nil {
		if transport.IsActor(r.Context()) && apierrors.IsForbidden(err) { // by admission
			s.noteDenied(r.Context(), rq.User, err)
		}
		s.noteFailed(r, rq, err)
		response.Error(coded, r, err)
	}
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
