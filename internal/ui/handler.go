package ui

import (
	"cmp"
	"errors"
	"io/fs"
	"mime"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/ui/bundle"
)

const (
	// pagePath is where the page is served, openPath the path of links, and clusterPath the
	// prefix of the API server's paths.
	pagePath    = "/ui/"
	openPath    = pagePath + "open"
	clusterPath = pagePath + "cluster"
	// sharedPath is the prefix of the API server's paths whose watches pages share.
	sharedPath = pagePath + "shared"
	// debuggerPath is loopapi's.
	debuggerPath = "/minikcm/v1/debugger"

	// pageHeader is set by the page's requests. Browsers let no page of another origin set it.
	pageHeader = "X-Minikcm-Page"
	// looksHeader is set by answers to a session that only looks.
	looksHeader = "X-Minikcm-Looks"
	// maxBody is the size of a request's body that is passed on, in bytes: the API server's.
	maxBody = 3 << 20
)

var (
	errHost    = errors.New("the Host header is not a name of this page: open it as http://127.0.0.1 or http://localhost with its port")
	errSession = apierrors.NewUnauthorized("no session: open the link that \"minikcm up --ui\" printed, or a new one from \"minikcm ui\"")
	errLooks   = errors.New("this page may only look: its link was made by \"minikcm ui --look\"")
	errOrigin  = errors.New("the request was not made by this page")
)

// handler checks the host of every request, and serves the page and the API server.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		defer s.requests.Done()
		s.setHeaders(w.Header())
		switch path := r.URL.Path; {
		case !s.ownHost(r.Host):
			http.Error(w, errHost.Error(), http.StatusMisdirectedRequest)
		case strings.HasPrefix(path, clusterPath+"/"):
			s.serveCluster(w, r)
		case strings.HasPrefix(path, sharedPath+"/"):
			s.serveShared(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET is served here", http.StatusMethodNotAllowed)
		case path == openPath && r.Method == http.MethodGet: // a HEAD must not use a link up
			s.serveOpen(w, r)
		case path == "/" || path == strings.TrimSuffix(pagePath, "/"):
			http.Redirect(w, r, pagePath, http.StatusFound)
		case strings.HasPrefix(path, pagePath):
			s.serveFile(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}

// policy returns the Content-Security-Policy, with further sources of styles.
func policy(styles []string) string {
	return "default-src 'none'; script-src 'self'; style-src " + strings.Join(append([]string{"'self'"}, styles...), " ") +
		"; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// setHeaders forbids things that the page does not need: scripts, styles and connections of other
// origins, inline scripts, frames.
func (s *Server) setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", s.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// ownHost reports whether host is a loopback name with the page's port. A name that another
// site resolves to 127.0.0.1 (DNS rebinding) is none.
func (s *Server) ownHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	_, own, _ := net.SplitHostPort(s.address)
	return err == nil && port == own && (name == "127.0.0.1" || strings.EqualFold(name, "localhost"))
}

// opened makes the browser go to the page. A redirect would be a part of the navigation from
// another site, on which browsers do not send a cookie that is SameSite=Strict.
const opened = `<!doctype html><html lang="en"><meta charset="utf-8"><title>minikcm</title><meta http-equiv="refresh" content="0;url=/ui/"><a href="/ui/">minikcm</a></html>` + "\n"

// serveOpen uses up a link and begins a session.
func (s *Server) serveOpen(w http.ResponseWriter, r *http.Request) {
	key, ok := s.sessions.begin(r.URL.Query().Get("token"))
	switch {
	case ok:
		http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: key, Path: pagePath, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	default:
		if _, in := s.session(r); in {
			break
		}
		http.Error(w, "This link is not valid, or was used before. Get a new one: minikcm ui", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(opened)) // fails only if the client is gone
}

// cookie returns the name of the session's cookie. Browsers do not separate the cookies of
// ports, so each page has a name of its own.
func (s *Server) cookie() string {
	_, port, _ := net.SplitHostPort(s.address)
	return "minikcm-" + port
}

// session reports whether a request is in a session, and whether that only looks.
func (s *Server) session(r *http.Request) (looks, in bool) {
	for _, cookie := range r.CookiesNamed(s.cookie()) {
		if looks, in = s.sessions.has(cookie.Value); in {
			break
		}
	}
	return looks, in
}

// serveFile serves a file of the bundle. The files are no secret: they need no session.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	name := cmp.Or(strings.TrimPrefix(r.URL.Path, pagePath), "index.html")
	data, err := fs.ReadFile(bundle.Files, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	_, _ = w.Write(data) // fails only if the client is gone
}

// serveCluster passes a request of the page to the API server.
func (s *Server) serveCluster(w http.ResponseWriter, r *http.Request) {
	if up := s.admit(w, r); up != nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		up.proxy.ServeHTTP(w, r)
	}
}

// admit returns the API server for a request that the page made in a session. It answers others,
// and returns nil.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) *upstream {
	up := s.upstream.Load()
	looks, in := s.session(r)
	if looks {
		w.Header().Set(looksHeader, "1")
	}
	switch {
	case !in:
		minikcm.WriteError(w, errSession)
	case looks && !onlyReads(r):
		minikcm.WriteError(w, apierrors.NewForbidden(schema.GroupResource{}, "", errLooks))
	case !s.ownRequest(r):
		minikcm.WriteError(w, apierrors.NewForbidden(schema.GroupResource{}, "", errOrigin))
	case up == nil:
		w.Header().Set("Retry-After", "1")
		minikcm.WriteError(w, apierrors.NewServiceUnavailable("the cluster is starting: try again in a moment"))
	default:
		return up
	}
	return nil
}

// reaching are the subresources by which a GET reaches the programs of a pod, Service or node.
var reaching = []string{"attach", "exec", "portforward", "proxy"}

// onlyReads reports whether a request changes nothing. The debugger's stream holds the cluster's work, and a connection of the
// cluster's paths that is upgraded is one to a program.
func onlyReads(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	at, cluster := strings.CutPrefix(path.Clean(r.URL.Path), clusterPath)
	if !cluster {
		return true // a shared watch
	}
	if r.Header.Get("Upgrade") != "" || strings.HasPrefix(at, debuggerPath) && r.URL.RawQuery != "" {
		return false
	}
	parts := strings.Split(at, "/")
	for i := 2; i < len(parts); i++ {
		if slices.Contains([]string{"pods", "services", "nodes"}, parts[i-2]) && slices.Contains(reaching, parts[i]) {
			return false
		}
	}
	return true
}

// ownRequest reports whether the page itself made a request. A WebSocket cannot have a header
// of the page, but always has an origin. Other requests have the header, and an origin at
// least if they write.
func (s *Server) ownRequest(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origin := r.Header.Get("Origin")
	same := origin == "http://"+r.Host
	switch {
	case r.Header.Get("Upgrade") != "":
		return same
	case r.Header.Get(pageHeader) == "":
		return false
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return same || origin == ""
	}
	return same
}
