package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gorilla/mux"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/apiserver/auth"
	"minikcm.dev/minikcm/apiserver/resources"
	"minikcm.dev/minikcm/apiserver/response"
	"minikcm.dev/minikcm/apiserver/transport"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/clock/cause"
	"minikcm.dev/minikcm/clock/inflight"
)

// requestTimeout limits a request that is not a watch, as upstream's default of
// --request-timeout.
const requestTimeout = time.Minute

// newHandler builds the handler chain: every request passes the filters, is routed, and
// is parsed once.
func (s *Server) newHandler() http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	router.NotFoundHandler = http.HandlerFunc(notFound)
	router.HandleFunc("/api/{version}/{rest:.+}", s.serveResource)
	router.HandleFunc("/apis/{group}/{version}/{rest:.+}", s.serveResource)
	s.routeMetricNames(router)
	s.discovery.route(router)
	s.routeHealth(router)
	router.PathPrefix("/openapi/").HandlerFunc(s.serveOpenAPI)
	router.Handle("/metrics", s.metrics.handler())
	router.Handle("/metrics/slis", s.metrics.slis.handler())
	routeProfiling(router)
	s.routeTokenDiscovery(router)
	router.HandleFunc(ownPath+"/writes", s.serveWrites)
	router.HandleFunc(ownPath+"/snapshot", s.serveSnapshot)
	if s.opts.Own != nil {
		router.Handle(ownPath, s.opts.Own)
		router.PathPrefix(ownPath + "/").Handler(s.opts.Own)
	}
	s.routeIndex(router)
	return s.filter(s.faulted(router))
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// filter wraps the handling of every request: counting requests in flight, recovering
// from panics, authentication and authorization.
func (s *Server) filter(next http.Handler) http.Handler {
	ids := newRequestIDs()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.inFlight.enter() {
			w.Header().Set("Retry-After", "1")
			response.Error(w, r, apierrors.NewServiceUnavailable("apiserver is shutting down"))
			return
		}
		defer s.inFlight.leave()
		setHeaders(w, r, ids)
		defer s.recoverPanic(w, r)
		user, err := s.admit(w, r)
		if err != nil {
			response.Error(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(auth.WithUser(r.Context(), user)))
	})
}

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
	vars := mux.Vars(r)
	gv := schema.GroupVersion{Group: vars["group"], Version: vars["version"]}
	rq := &request{server: s, w: w, r: r, query: r.URL.Query(), user: auth.FromContext(r.Context())}
	info, ok := parseResourcePath(gv, r.Method, vars["rest"], rq.query)
	rq.RequestInfo = info
	if err := s.authorize(r, rq.user, gv, info, ok); err != nil {
		response.Error(w, r, err)
		return
	}
	if ok {
		found := s.find(info.GVR, info.Verb == verbWatch)
		defer found.leave()
		rq.row, rq.objects = found.row, found.objects
	}
	if rq.row == nil && ok {
		rq.row = s.anyRow(gv)
	}
	if rq.row == nil {
		s.noSuchResource(w, r, gv.Group)
		return
	}
	rq.sub = rq.row.Subresource(info.Subresource)
	coded := &codeWriter{ResponseWriter: w}
	rq.w = coded
	rq.local = transport.IsLocal(r.Context())
	rq.causes = cause.Parse(r.Header.Get(cause.Header))
	defer s.metrics.begin(rq)()
	elapsed := clock.Stopwatch()
	defer func() { s.metrics.observe(rq, coded.code, elapsed()) }()
	s.classify(rq)
	leave, ok := s.limits.enter(rq)
	if !ok {
		tooManyRequests(coded)
		return
	}
	defer leave()
	if err := rq.serve(); err != nil {
		response.Error(coded, r, err)
	}
}

// noSuchResource responds to a request for a resource that is not in the table.
func (s *Server) noSuchResource(w http.ResponseWriter, r *http.Request, group string) {
	if !slices.ContainsFunc(s.table.Groups(), func(g resources.Group) bool { return g.Name == group }) {
		notFound(w, r)
		return
	}
	response.Error(w, r, response.NotFound())
}

// serve negotiates the response format, finds the verb's function, and calls it.
func (rq *request) serve() error {
	if rq.row.GetAny != nil {
		return rq.serveAny()
	}
	if rq.Subresource != "" && rq.sub == nil {
		return response.NotFound()
	}
	if err := rq.checkScope(); err != nil {
		return err
	}
	verb, err := rq.findVerb()
	if err != nil {
		return err
	}
	if err := rq.negotiate(); err != nil {
		return err
	}
	if rq.row.Warning != "" && !rq.isComponent() { // components have no alternative, and would log the warning
		response.Warn(rq.w, rq.row.Warning)
	}
	if rq.longRunning() {
		return verb(rq.r.Context(), rq)
	}
	limit, err := rq.timeout()
	if err != nil {
		return err
	}
	rq.work = inflight.Begin(rq.server.opts.Ledger, inflight.Request)
	defer rq.work.End()
	ctx, cancel := context.WithTimeout(rq.r.Context(), limit)
	defer cancel()
	if waits := rq.server.opts.StoreWaits; waits != nil && waits() {
		ctx = rq.server.withPause(ctx, rq.work)
	}
	return verb(ctx, rq)
}
