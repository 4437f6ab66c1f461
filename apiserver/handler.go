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
	"minikcm.dev/minikcm/apiserver/internal/discovery"
	"minikcm.dev/minikcm/apiserver/internal/request"
	"minikcm.dev/minikcm/apiserver/internal/resources"
	"minikcm.dev/minikcm/apiserver/internal/response"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/reasons"
)

// filter handles requests: it responds, or passes them on to next.
type filter func(w http.ResponseWriter, r *http.Request, next http.Handler)

// through returns a handler whose requests pass the filters in their order, and then next.
func through(next http.Handler, filters ...filter) http.Handler {
	for _, f := range slices.Backward(filters) {
		inner := next
		next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f(w, r, inner) })
	}
	return next
}

// newHandler builds the handler chain. Each filter passes a request on or responds itself, so a refused request meets
// no later filter; only audited sees requests whose user is refused.
func (s *Server) newHandler() http.Handler {
	s.unlimited = through(s.pastRouter(s.newRouter()),
		s.authorized, // what the user may do
		s.faulted,    // faults that are injected
	)
	return through(s.unlimited,
		s.counted,       // in flight, until the server shuts down
		withHeaders(),   // of all responses
		s.recovered,     // from panics
		parsed,          // method and path, once
		s.authenticated, // who makes it
		s.audited,       // from here to its end
		s.impersonated,  // as whom
		s.limited,       // by memory, and by its priority
	)
}

// pastRouter serves what parsed has recognized as a request for a resource, as the router would do. That saves the two
// copies of the request that the router makes for the variables of its path. Unusual paths are left to the router.
func (s *Server) pastRouter(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		usual := r.URL.RawPath == "" && strings.HasPrefix(r.URL.Path, "/api") && !strings.Contains(r.URL.Path, "//")
		if info, ok := request.InfoFrom(r.Context()); usual && ok && !s.aggregator.Serves(r) {
			s.serveInfo(w, r, info)
			return
		}
		router.ServeHTTP(w, r)
	})
}

// newRouter routes the requests that have passed the chain.
func (s *Server) newRouter() http.Handler {
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
	return router
}

// counted counts the requests in flight, and refuses those that come after the shutdown has begun.
func (s *Server) counted(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !s.inFlight.Enter() {
		w.Header().Set("Retry-After", "1")
		response.Error(w, r, apierrors.NewServiceUnavailable("apiserver is shutting down"))
		return
	}
	defer s.inFlight.Leave()
	next.ServeHTTP(w, r)
}

// withHeaders sets the headers of all responses.
func withHeaders() filter {
	ids := newRequestIDs()
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		id := r.Header.Get("Audit-Id")
		if id == "" {
			id = ids.next()
		}
		header := w.Header()
		header["Audit-Id"], header["Cache-Control"] = []string{id}, notCached
		next.ServeHTTP(w, r)
	}
}

// notCached is the value of a header, shared by all responses.
var notCached = []string{"no-cache, private"}

// recovered responds with an internal error where next panics.
func (s *Server) recovered(w http.ResponseWriter, r *http.Request, next http.Handler) {
	defer s.recoverPanic(w, r)
	next.ServeHTTP(w, r)
}

// parsed gives next the properties of a request in its context.
func parsed(w http.ResponseWriter, r *http.Request, next http.Handler) {
	ctx, _ := request.Parse(r.Context(), r)
	next.ServeHTTP(w, r.WithContext(ctx))
}

// authenticated gives next the user in the context of a request. A refused request is audited.
func (s *Server) authenticated(w http.ResponseWriter, r *http.Request, next http.Handler) {
	user, err := s.authenticate(w, r)
	r = r.WithContext(auth.WithUser(r.Context(), user))
	if err = cmp.Or(refuseCrossSite(r), err); err == nil {
		next.ServeHTTP(w, r)
		return
	}
	s.audited(w, r, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { response.Error(w, r, err) }))
}

// impersonated gives next the user that a request acts as.
func (s *Server) impersonated(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if auth.WantsImpersonation(r.Header) {
		info, _ := apirequest.RequestInfoFrom(r.Context())
		user, err := s.impersonate(r.Context(), r.Header, auth.FromContext(r.Context()), info)
		if err != nil {
			setNoSniff(w)
			response.Error(w, r, err)
			return
		}
		r = r.WithContext(auth.WithUser(r.Context(), user))
	}
	next.ServeHTTP(w, r)
}

// authorized serves the requests with next that their users may make.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request, next http.Handler) {
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
}

// setNoSniff marks a refusal, whose message has names from the request in it, as no other content than it
// says.
func setNoSniff(w http.ResponseWriter) { w.Header().Set("X-Content-Type-Options", "nosniff") }

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
